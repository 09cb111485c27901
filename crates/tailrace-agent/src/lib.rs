//! The host agent. A scheme's part at one host ([`HostPart`]), and at the hosts of a fleet ([`FleetPart`]), is the policy that is
//! simulated; files of an agent and of a controller choose it. The daemon, with the feature `daemon`, keeps what it decides in
//! the kernel.

#[cfg(feature = "daemon")]
pub mod controller;
#[cfg(feature = "daemon")]
pub mod daemon;
pub mod dry_run;
mod error;
#[cfg(feature = "daemon")]
pub mod etcd;
mod file;
mod host;

pub use error::Error;
pub use file::{AgentConfig, ControlConfig, Fleet, FlowRule, LawFor, Rack, Subnet, check_name};
pub use host::{
    AGENTS_LOOK_EVERY, Agents, FleetPart, HostPart, HostTags, StartAgents, Telling, for_agent, for_all_hosts,
    for_fleet, for_hosts, plain_header, without_header,
};
