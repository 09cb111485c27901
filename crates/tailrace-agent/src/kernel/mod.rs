//! Programs in the kernel: loaded, asked, and given their tables.

mod capture;
mod cgroups;
mod load;
mod sys;
mod tagger;

pub use capture::{Capture, Wanted};
pub use cgroups::{Cgroup, cgroup_names, own_cgroup};
pub use tagger::{Counts, EgressTagger};

use nix::net::if_::if_nametoindex;
use nix::time::{ClockId, clock_gettime};

/// The time on the clock of what programs in the kernel say, in nanoseconds.
pub fn monotonic() -> u64 {
    match clock_gettime(ClockId::CLOCK_MONOTONIC) {
        Ok(now) => now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64,
        Err(error) => panic!("every Linux has CLOCK_MONOTONIC: {error}"),
    }
}

/// The number of an interface of this thread's network namespace, if there is one of that name.
pub fn interface_number(name: &str) -> Option<u32> {
    if_nametoindex(name).ok()
}
