//! The files of an agent, and of the controller of many.

mod agent;
mod control;
mod fleet;
mod law;
mod rules;
mod subnet;

pub use agent::AgentConfig;
pub use control::{ControlConfig, Rack};
pub use fleet::{Fleet, check_name};
pub use law::LawFor;
pub use rules::FlowRule;
pub use subnet::Subnet;
