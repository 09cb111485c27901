//! A scheme's part at the hosts of real packets: what it decides there, and what of it an agent can do.

mod agents;
mod fleet;
mod header;
mod part;
#[cfg(test)]
mod part_tests;
mod tags;

pub use agents::{AGENTS_LOOK_EVERY, Agents, StartAgents};
pub use fleet::{FleetPart, for_all_hosts, for_fleet};
pub use header::{plain_header, without_header};
pub use part::{HostPart, for_agent, for_hosts};
pub use tags::{HostTags, Telling};
