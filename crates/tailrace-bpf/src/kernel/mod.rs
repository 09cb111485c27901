//! Programs in the kernel: loaded, asked, and given their tables.

mod announcements;
mod capture;
mod cgroups;
mod congestion;
mod flows;
mod handover;
mod keeper;
mod known;
mod load;
mod pins;
mod port;
mod sys;
mod tagger;
mod windows;

pub use announcements::Announcements;
pub use capture::{Capture, Wanted};
pub use cgroups::{Cgroup, cgroup_names, own_cgroup};
pub use congestion::{Chosen, CongestionControl, Network};
pub use flows::{FlowRow, FlowTable};
pub use keeper::{Kept, WindowFlow, WindowKeeper};
pub use known::{Known, Rule, check_rules};
pub use load::check_tagging;
pub use pins::Pins;
pub use port::{PortClasses, PortProgram};
pub use tagger::{Counts, EgressTagger};
pub use windows::{WindowRow, WindowTable};

use crate::error::BpfError;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use nix::time::{ClockId, clock_gettime};

/// How many programs that tag are at an interface of this thread's network namespace: there is one, or none.
pub fn taggers_at(interface: u32) -> Result<usize, BpfError> {
    let attached =
        sys::tcx_programs(interface).map_err(BpfError::refused("asking what is at the interface"))?;
    let programs = libbpf_rs::query::ProgInfoIter::default();
    Ok(programs.filter(|program| attached.contains(&program.id) && program.name == "tag").count())
}

/// How many instructions the kernel's verifier looked at for the programs of this name that are loaded now: of the largest.
pub fn verified_instructions(name: &str) -> Option<u32> {
    let programs = libbpf_rs::query::ProgInfoIter::default();
    programs.filter(|program| program.name == name).map(|program| program.verified_insns).max()
}

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

/// The rate in bits a second that an interface of this thread's network namespace says it has; virtual ones say anything.
pub fn interface_rate(name: &str) -> Option<u64> {
    let folder = format!("/sys/class/net/{name}");
    let read = |file: &str| std::fs::read_to_string(format!("{folder}/{file}")).ok();
    // /sys may be that of another namespace, which has an interface of this name, too.
    let addresses = getifaddrs().ok()?.filter(|of| of.interface_name == name);
    let own = addresses.filter_map(|of| of.address?.as_link_addr()?.addr()).next()?;
    let text = own.map(|byte| format!("{byte:02x}")).join(":");
    if read("address")?.trim() != text {
        return None;
    }
    // Some say -1.
    let mbps: u64 = read("speed")?.trim().parse().ok()?;
    (mbps > 0).then_some(mbps * 1_000_000)
}
