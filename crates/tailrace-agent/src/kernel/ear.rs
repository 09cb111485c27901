//! What programs say of their flows, heard by a program at the root of cgroups.

use std::os::fd::AsRawFd;

use libbpf_rs::{Link, Object};

use super::pins::Pins;
use super::{cgroups, load};
use crate::error::AgentError;

/// Hears programs from now on, if this machine has cgroups. It is there from an agent's start, whose rights to open it later are
/// gone; which programs may say something, and whether any, rules say.
pub(super) fn open(object: &mut Object, pins: Option<&Pins>) -> Result<Option<Link>, AgentError> {
    // A rule cannot name a cgroup then.
    let Some(root) = cgroups::root() else { return Ok(None) };
    let folder =
        std::fs::File::open(&root).map_err(AgentError::refused(format!("opening {}", root.display())))?;
    let program = load::program(object, "tell")?;
    if let Some(mut link) = pins.map(Pins::open_ear).transpose()?.flatten() {
        link.update_prog(&program)
            .map_err(load::refused("taking the place of the program that is pinned"))?;
        return Ok(Some(link));
    }
    let what = || load::refused("hearing what programs say of flows");
    program.attach_cgroup(folder.as_raw_fd()).map(Some).map_err(what())
}
