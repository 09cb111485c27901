//! Programs for the kernel that see every TCP connection and every packet of this machine, and what loads them, reads what they
//! counted, and gives them tables. The tables follow from the policy that is simulated, in `tailrace-agent`. Without the feature
//! `programs` the crate holds what needs no kernel: statistics and files of a capture.

mod connection;
mod error;
mod histogram;
#[cfg(feature = "programs")]
mod kernel;
mod report;
mod shared;
mod traffic;
#[cfg(feature = "programs")]
mod trial;

pub use connection::{Connection, Kind};
pub use error::BpfError;
pub use histogram::Histogram;
#[cfg(feature = "programs")]
pub use kernel::{
    Announcements, Capture, Cgroup, Chosen, CongestionControl, Counts, EgressTagger, FlowRow, FlowTable,
    Kept, Known, Network, Pins, PortClasses, PortProgram, Rule, Wanted, WindowFlow, WindowKeeper, WindowRow,
    WindowTable, cgroup_names, check_rules, check_tagging, interface_number, interface_rate, monotonic,
    own_cgroup, taggers_at, verified_instructions,
};
pub use report::{Draft, Facts};
pub use traffic::{Groups, Traffic};
#[cfg(feature = "programs")]
pub use trial::{McpTrial, Trial, TrialStep};

/// Whether this build has the programs for the kernel.
pub const HAS_PROGRAMS: bool = cfg!(feature = "programs");
