//! What programs say of their flows, heard by a program at the root of cgroups.

use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::{Link, MapHandle, Object, OpenObject};

use super::pins::Pins;
use super::{cgroups, load};
use crate::error::BpfError;

/// What programs have said of their sockets, as programs of the kernel hear it.
pub struct Told(MapHandle);

impl Told {
    pub(super) fn of(object: &Object) -> Result<Self, BpfError> {
        let map = load::map(object, "told")?;
        MapHandle::try_from(&map).map(Told).map_err(load::refused("sharing what programs have said"))
    }

    /// Has programs that are not loaded yet know it.
    pub(super) fn share(&self, object: &mut OpenObject) -> Result<(), BpfError> {
        let mut own = load::open_map(object, "told")?;
        own.reuse_fd(self.0.as_fd()).map_err(load::refused("sharing what programs have said"))
    }
}

/// Hears programs from now on, if this machine has cgroups. It is there from an agent's start, whose rights to open it later are
/// gone; which programs may say something, and whether any, rules say.
pub(super) fn open(object: &mut Object, pins: Option<&Pins>) -> Result<Option<Link>, BpfError> {
    // A rule cannot name a cgroup then.
    let Some(root) = cgroups::root() else { return Ok(None) };
    let folder =
        std::fs::File::open(&root).map_err(BpfError::refused(format!("opening {}", root.display())))?;
    let program = load::program(object, "tell")?;
    if let Some(mut link) = pins.map(Pins::open_ear).transpose()?.flatten() {
        link.update_prog(&program)
            .map_err(load::refused("taking the place of the program that is pinned"))?;
        return Ok(Some(link));
    }
    let what = || load::refused("hearing what programs say of flows");
    program.attach_cgroup(folder.as_raw_fd()).map(Some).map_err(what())
}
