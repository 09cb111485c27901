//! Everything that determines a run: a fabric, a workload, a scheme's name and parameters, and what is measured.
//! Nothing runs here, and no file is read but those that a scenario names.
//!
//! ```
//! let scenario = tailrace_scenario::Scenario::parse(
//!     r#"
//!     [fabric]
//!     preset = "spine144"        # or kind = "leaf-spine", leaves = 9, …
//!     buffer = "210KB"           # overrides the preset's
//!
//!     [workload]
//!     load = 0.6                 # of the busiest host link, headers included
//!     flows = 1000
//!
//!     [[workload.rule]]
//!     sizes = "web-search"
//!     pairs = "ascending"
//!
//!     [[workload.rule]]
//!     sizes = "data-mining"
//!     pairs = "descending"
//!
//!     [scheme]
//!     name = "pias"
//!     "#,
//! )?;
//! let fabric = scenario.fabric.build();
//! assert_eq!(scenario.workload.flows, Some(1000));
//! assert!((scenario.plan()?.peak_load() - 0.6).abs() < 1e-9);
//! let ideal = fabric.ideal_fct(0, 1, 0, tailrace_core::Bytes::new(1460), &scenario.transport, 40);
//! assert!(ideal > tailrace_core::Time::from_us(40));
//! # Ok::<(), tailrace_config::ScenarioError>(())
//! ```

mod level;
mod measure;
mod samples;
mod scenario;
#[cfg(test)]
mod scenario_property_tests;
#[cfg(test)]
mod scenario_tests;
mod without_effect;

pub use level::{FlowLevel, Level, LiveLevel, Stack};
pub use measure::{Measure, SamplePorts};
pub use scenario::{MAX_MSS, Scenario, SchemeChoice, check_buffer};
