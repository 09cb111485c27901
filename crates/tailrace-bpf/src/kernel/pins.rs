//! What outlives an agent that asks for it: its programs at the interface and at the root of cgroups, the flows that it
//! remembers, and what is known of them, under names in a bpf file system. Without the programs' agent tags go on as they are,
//! by the same rules, and programs are heard; the next agent takes over.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, MapCore, MapHandle, Object, OpenObject};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use super::flows::{seed_of, set_seed};
use super::load;
use crate::error::BpfError;

/// Of the layout of what is pinned: changes with `tr_flow_key`, `tr_flow`, `tr_known` and `tr_told`.
const LAYOUT: &str = "layout3";
/// The maps that are pinned. Policy and rules are not: who takes over has its own.
const KEPT: [&str; 3] = [FLOWS, "known_flows", "told"];
const FLOWS: &str = "flows";
/// Of the folders' names.
const PREFIX: &str = "tailrace-";
/// The programs that are pinned: the one at the interface, and the listener for announcements.
const LINK: &str = "link";
const LISTENER: &str = "ear";

/// The names for an interface of this thread's network namespace.
#[derive(Debug)]
pub struct Pins {
    folder: PathBuf,
    interface: u32,
}

impl Pins {
    /// Below a folder of a bpf file system.
    pub fn new(root: &Path, name: &str, interface: u32) -> Result<Self, BpfError> {
        let found = statfs(root);
        if !found.is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC) {
            let root = root.display();
            let message =
                format!("{root} is no folder of a bpf file system: mount -t bpf bpf /sys/fs/bpf makes one");
            return Err(BpfError::Pins(message));
        }
        let network = fs::metadata("/proc/thread-self/ns/net")
            .map_err(BpfError::refused("asking for the network namespace"))?;
        // Interfaces of several network namespaces may have one name.
        Ok(Pins { folder: root.join(format!("{PREFIX}{}-{name}", network.ino())), interface })
    }

    /// Whether an agent has left something.
    pub fn are_there(&self) -> bool {
        self.folder.exists()
    }

    /// Whether what an agent has left was at an interface that is gone.
    pub fn are_gone(&self) -> bool {
        is_gone(&self.folder)
    }

    /// Takes all away, and with it the program from the interface, unless an agent runs that has it.
    pub fn remove(&self) -> Result<(), BpfError> {
        remove(&self.folder)
    }

    /// Takes away what agents have left beside this at interfaces that are gone, as all are of a network namespace that is: nobody
    /// will take over from them. Returns which folders those were.
    pub fn remove_gone(&self) -> Result<Vec<PathBuf>, BpfError> {
        let beside = self.folder.parent().into_iter().flat_map(entries);
        let left =
            beside.filter(|folder| *folder != self.folder && is_of_an_agent(folder) && is_gone(folder));
        let left: Vec<_> = left.collect();
        left.iter().try_for_each(|folder| remove(folder))?;
        Ok(left)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(LAYOUT).join(name)
    }

    /// Has programs that are not loaded yet use the flows that are there, which were to be so many, and what is known of them;
    /// returns the flows' seed.
    pub(super) fn reuse_flows(&self, object: &mut OpenObject, flows: u32) -> Result<Option<u64>, BpfError> {
        let other = |what: String| {
            let folder = self.folder.display();
            Err(BpfError::Pins(format!(
                "{folder} is of {what}: tailrace agent detach FILE takes it away, and the next agent begins anew"
            )))
        };
        if entries(&self.folder).any(|entry| !entry.ends_with(LAYOUT)) {
            return other("another version of the agent".to_owned());
        }
        let mut found = None;
        for name in KEPT.into_iter().filter(|name| self.at(name).exists()) {
            let map = MapHandle::from_pinned_path(self.at(name));
            let map = map.map_err(load::refused(format!("opening {}", self.at(name).display())))?;
            let mut own = load::open_map(object, name)?;
            let shape = (map.map_type(), map.key_size(), map.value_size());
            if shape != (own.map_type(), own.key_size(), own.value_size()) {
                return other("another version of the agent".to_owned());
            }
            if map.max_entries() != own.max_entries() {
                return other("an agent with another number of flows (agent.flows)".to_owned());
            }
            own.reuse_fd(map.as_fd()).map_err(load::refused("going on with the flows that are pinned"))?;
            if name == FLOWS {
                found = Some(seed_of(&map)?);
            }
        }
        found.iter().try_for_each(|seed| set_seed(object, flows, *seed))?;
        Ok(found)
    }

    /// The program at the interface that an agent has left; what is left of one whose interface is gone is taken away.
    pub(super) fn open_link(&self) -> Result<Option<Link>, BpfError> {
        self.open(LINK, |of| matches!(of, LinkTypeInfo::Tcx(of) if of.ifindex == self.interface))
    }

    /// The listener for announcements, if an agent has left one.
    pub(super) fn open_listener(&self) -> Result<Option<Link>, BpfError> {
        self.open(LISTENER, |of| matches!(of, LinkTypeInfo::Cgroup(_)))
    }

    fn open(&self, name: &str, is_it: impl Fn(&LinkTypeInfo) -> bool) -> Result<Option<Link>, BpfError> {
        let path = self.at(name);
        if !path.exists() {
            return Ok(None);
        }
        let what = || load::refused(format!("opening {}", path.display()));
        let link = Link::open(&path).map_err(what())?;
        if is_it(&link.info().map_err(what())?.info) {
            return Ok(Some(link));
        }
        fs::remove_file(&path)
            .map_err(BpfError::refused("removing a pin whose place in the kernel is gone"))?;
        Ok(None)
    }

    /// Pins what is not pinned yet.
    pub(super) fn keep(
        &self,
        object: &Object,
        link: &mut Link,
        listener: Option<&mut Link>,
    ) -> Result<(), BpfError> {
        let what = || format!("pinning below {}", self.folder.display());
        fs::create_dir_all(self.folder.join(LAYOUT)).map_err(BpfError::refused(what()))?;
        for name in KEPT.into_iter().filter(|name| !self.at(name).exists()) {
            MapHandle::try_from(&load::map(object, name)?)
                .and_then(|mut map| map.pin(self.at(name)))
                .map_err(load::refused(what()))?;
        }
        for (name, link) in [(LINK, Some(link)), (LISTENER, listener)] {
            if let Some(link) = link.filter(|_| !self.at(name).exists()) {
                link.pin(self.at(name)).map_err(load::refused(what()))?;
            }
        }
        Ok(())
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn remove(folder: &Path) -> Result<(), BpfError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(BpfError::Refused { what: format!("removing {}", folder.display()), source: error })
        }
        _ => Ok(()),
    }
}

fn is_of_an_agent(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
}

/// Whether the interface is gone at which a program in this folder was, of whatever layout. One that is not pinned yet is of an agent
/// that starts.
fn is_gone(folder: &Path) -> bool {
    let link = |layout: PathBuf| {
        // The library complains by itself of one that is not there.
        let path = Some(layout.join(LINK)).filter(|path| path.exists())?;
        Link::open(path).ok()?.info().ok()
    };
    let is_nowhere =
        |info: libbpf_rs::query::LinkInfo| matches!(info.info, LinkTypeInfo::Tcx(of) if of.ifindex == 0);
    entries(folder).find_map(link).is_some_and(is_nowhere)
}
