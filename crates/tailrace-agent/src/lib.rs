//! The host agent: what TCP connections of this machine carry, and tags in the packets that they send.
//!
//! Programs in the kernel see every connection and every packet; this crate loads them, reads what they say, and gives them
//! tables. What tables hold is decided elsewhere, by the policy that is simulated. Without the feature `bpf` only what needs
//! no kernel is here: statistics and files of a capture.

mod connection;
#[cfg(feature = "control")]
mod control;
mod error;
mod histogram;
#[cfg(feature = "bpf")]
mod kernel;
mod report;
mod shared;
mod traffic;
#[cfg(feature = "bpf")]
mod trial;

pub use connection::{Connection, Kind};
#[cfg(feature = "control")]
pub use control::{
    Access, ControlError, Decision, Ended, FlowName, Given, Heard, Identity, MAX_ENDED, MAX_FLOWS, Member,
    Policy, Progress, Reached, Report, Seat, Sizes, Standing, User, Weights,
};
pub use error::AgentError;
pub use histogram::Histogram;
#[cfg(feature = "bpf")]
pub use kernel::{
    Capture, Cgroup, Chosen, CongestionControl, Counts, EgressTagger, FlowRow, FlowTable, Kept, Known,
    Network, Pins, PortClasses, PortProgram, Rule, Told, Wanted, WindowFlow, WindowKeeper, WindowRow,
    WindowTable, cgroup_names, check_rules, check_tagging, interface_number, interface_rate, monotonic,
    own_cgroup, taggers_at, verified_instructions,
};
pub use report::{Draft, Facts};
pub use traffic::{Groups, Traffic};
#[cfg(feature = "bpf")]
pub use trial::{McpTrial, Trial, TrialStep};

/// Whether this build has the programs for the kernel.
pub const HAS_BPF: bool = cfg!(feature = "bpf");
