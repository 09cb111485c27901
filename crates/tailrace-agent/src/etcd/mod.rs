//! The control plane: what agents of many hosts and their controllers say to one another, over etcd.
//!
//! Agents tell, slot by slot, which flows have ended and which go on ([`Report`]); a controller tells what is to be done with
//! flows ([`Policy`]) and which weights they have ([`Weights`]). How either is found is not known here. What a host says is
//! bound to a lease, and ends with it.
#![expect(clippy::disallowed_methods, reason = "etcd and hosts are in real time")]

mod access;
mod election;
mod keys;
mod link;
mod member;
mod message;

pub use access::{Access, ControlError, Identity, User};
pub use election::{Candidate, Decision, HostEvent};
pub use link::{Reached, Standing};
pub use member::{Instructions, Member};
pub use message::{Ended, FlowName, MAX_ENDED, MAX_FLOWS, Policy, Progress, Report, Sizes, Weights};
