//! Commands on real packets: emulated fabrics, the switch, the agent and its controller.

mod agent;
#[cfg(feature = "agent")]
mod ask;
mod control;
mod emulate;
mod enter;
mod error;
mod proxy;
mod replay;
mod switch;
mod watched;

pub use agent::{agent, check_hosts, measure};
pub use control::control;
pub use emulate::emulate;
pub use enter::enter;
#[cfg(not(feature = "agent"))]
pub use error::absent;
pub use proxy::proxy;
pub use replay::replay;
pub use switch::switch;
pub use tailrace_live::asks_for_much;

use tailrace_live::Live;

static LIVE: Live = Live::new(agent::START);

/// Gives this process the live level.
pub fn provide() {
    tailrace_run::provide_live(&LIVE);
}
