//! Scenarios on real packets of a Linux machine: runs at the live level, fabrics for programs, the software switch.
//!
//! [`Live`] is the level that [`tailrace_run`] lacks; [`tailrace_run::provide_live`] takes it in. This is the only crate in
//! which schemes meet the drivers of `tailrace-linux`.

mod emulate;
mod kernel;
mod level;
mod limits;
mod live;
mod messages;
mod record;
mod replay;
mod switch;
mod switch_file;

pub use emulate::{Programs, driver, emulate, for_programs};
pub use limits::asks_for_much;
pub use live::run_live;
pub use messages::{for_proxies, messages};
pub use record::Live;
pub use replay::replay;
pub use switch::{for_switch, switch};
pub use switch_file::{MacAddress, SwitchConfig, SwitchPort};
