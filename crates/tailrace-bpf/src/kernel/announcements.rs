//! Announcements of user programs about their flows, which a kernel program at the root of cgroups records.

use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::{Link, MapHandle, Object, OpenObject};

use super::pins::Pins;
use super::{cgroups, load};
use crate::error::BpfError;

/// The map of what programs have announced of their sockets.
pub struct Announcements(MapHandle);

impl Announcements {
    pub(super) fn of(object: &Object) -> Result<Self, BpfError> {
        let map = load::map(object, "told")?;
        MapHandle::try_from(&map).map(Announcements).map_err(load::refused("sharing what programs have said"))
    }

    /// Gives the map to kernel programs that are not loaded yet.
    pub(super) fn share(&self, object: &mut OpenObject) -> Result<(), BpfError> {
        let mut own = load::open_map(object, "told")?;
        own.reuse_fd(self.0.as_fd()).map_err(load::refused("sharing what programs have said"))
    }
}

/// Records announcements from now on, if this machine has cgroups. The listener is attached at an agent's start, because the
/// agent gives up the rights for it afterwards; rules decide which programs may announce something.
pub(super) fn listen(object: &mut Object, pins: Option<&Pins>) -> Result<Option<Link>, BpfError> {
    // A rule cannot name a cgroup then.
    let Some(root) = cgroups::root() else { return Ok(None) };
    let folder =
        std::fs::File::open(&root).map_err(BpfError::refused(format!("opening {}", root.display())))?;
    let program = load::program(object, "tell")?;
    if let Some(mut link) = pins.map(Pins::open_listener).transpose()?.flatten() {
        link.update_prog(&program)
            .map_err(load::refused("taking the place of the program that is pinned"))?;
        return Ok(Some(link));
    }
    let what = || load::refused("hearing what programs say of flows");
    program.attach_cgroup(folder.as_raw_fd()).map(Some).map_err(what())
}
