//! What is run: fabrics, workloads and the scenario that joins them. Data only: nothing runs here, and no
//! file is read but those that a scenario names.
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
//! let flow = scenario.flows()?.next().expect("there are a thousand");
//! let ideal = fabric.ideal_fct(flow.src, flow.dst, flow.size, &scenario.transport, 40);
//! assert!(ideal > tailrace_core::Time::from_us(40));
//! # Ok::<(), tailrace_scenario::ScenarioError>(())
//! ```

mod error;
pub mod fabric;
mod fingerprint;
mod level;
mod locate;
mod measure;
mod scenario;
#[cfg(test)]
mod scenario_properties;
#[cfg(test)]
mod scenario_tests;
mod suggest;
mod table;
pub mod workload;

pub use error::ScenarioError;
pub use fingerprint::fingerprint;
pub use level::{FlowLevel, Level};
pub use locate::line_of;
pub use measure::{Measure, SamplePorts};
pub use scenario::{Scenario, SchemeChoice};
pub use suggest::{closest, unknown};
pub use table::read as read_table;
pub use workload::{Feed, FlowSource, FlowSpec, Workload};
