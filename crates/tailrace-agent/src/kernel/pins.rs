//! What outlives an agent that asks for it: its program at the interface and the flows that it remembers, under names in a
//! bpf file system. Without the program's agent tags go on as they are; the next one takes over.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, MapCore, MapHandle, OpenObject};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use super::flows::{seed_of, set_seed};
use super::load;
use crate::error::AgentError;

/// Of the layout of what is pinned: changes with `tr_flow_key` and `tr_flow`.
const LAYOUT: &str = "layout1";

/// The names for an interface of this thread's network namespace.
#[derive(Debug)]
pub struct Pins {
    folder: PathBuf,
    interface: u32,
}

impl Pins {
    /// Below a folder of a bpf file system.
    pub fn new(root: &Path, name: &str, interface: u32) -> Result<Self, AgentError> {
        let found = statfs(root);
        if !found.is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC) {
            let root = root.display();
            let message =
                format!("{root} is no folder of a bpf file system: mount -t bpf bpf /sys/fs/bpf makes one");
            return Err(AgentError::Pins(message));
        }
        let network = fs::metadata("/proc/thread-self/ns/net")
            .map_err(AgentError::refused("asking for the network namespace"))?;
        // Interfaces of several network namespaces may have one name.
        Ok(Pins { folder: root.join(format!("tailrace-{}-{name}", network.ino())), interface })
    }

    /// Whether an agent has left something.
    pub fn are_there(&self) -> bool {
        self.folder.exists()
    }

    /// Takes all away, and with it the program from the interface, unless an agent runs that has it.
    pub fn remove(&self) -> Result<(), AgentError> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(AgentError::Refused {
                what: format!("removing {}", self.folder.display()),
                source: error,
            }),
            _ => Ok(()),
        }
    }

    fn flows(&self) -> PathBuf {
        self.folder.join(LAYOUT).join("flows")
    }

    fn link(&self) -> PathBuf {
        self.folder.join(LAYOUT).join("link")
    }

    /// Has programs that are not loaded yet use the flows that are there, which were to be so many; returns their seed.
    pub(super) fn reuse_flows(&self, object: &mut OpenObject, flows: u32) -> Result<Option<u64>, AgentError> {
        let other = |what: String| {
            let folder = self.folder.display();
            Err(AgentError::Pins(format!(
                "{folder} is of {what}: tailrace agent detach FILE takes it away, and the next agent begins anew"
            )))
        };
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        if entries.into_iter().any(|entry| entry.file_name() != LAYOUT) {
            return other("another version of the agent".to_owned());
        }
        if !self.flows().exists() {
            return Ok(None);
        }
        let map = MapHandle::from_pinned_path(self.flows());
        let map = map.map_err(load::refused(format!("opening {}", self.flows().display())))?;
        let mut own = load::open_map(object, "flows")?;
        let shape = (map.map_type(), map.key_size(), map.value_size());
        if shape != (own.map_type(), own.key_size(), own.value_size()) {
            return other("another version of the agent".to_owned());
        }
        if map.max_entries() != own.max_entries() {
            return other("an agent with another number of flows (agent.flows)".to_owned());
        }
        own.reuse_fd(map.as_fd()).map_err(load::refused("going on with the flows that are pinned"))?;
        let seed = seed_of(&map)?;
        set_seed(object, flows, seed)?;
        Ok(Some(seed))
    }

    /// The program at the interface that an agent has left; what is left of one whose interface is gone is taken away.
    pub(super) fn open_link(&self) -> Result<Option<Link>, AgentError> {
        if !self.link().exists() {
            return Ok(None);
        }
        let what = || load::refused(format!("opening {}", self.link().display()));
        let link = Link::open(self.link()).map_err(what())?;
        match link.info().map_err(what())?.info {
            LinkTypeInfo::Tcx(of) if of.ifindex == self.interface => Ok(Some(link)),
            _ => {
                fs::remove_file(self.link())
                    .map_err(AgentError::refused("removing a pin whose interface is gone"))?;
                Ok(None)
            }
        }
    }

    /// Pins what is not pinned yet.
    pub(super) fn keep(&self, link: &mut Link, flows: &MapHandle) -> Result<(), AgentError> {
        let what = || format!("pinning below {}", self.folder.display());
        fs::create_dir_all(self.folder.join(LAYOUT)).map_err(AgentError::refused(what()))?;
        if !self.flows().exists() {
            MapHandle::try_from(flows)
                .and_then(|mut flows| flows.pin(self.flows()))
                .map_err(load::refused(what()))?;
        }
        if !self.link().exists() {
            link.pin(self.link()).map_err(load::refused(what()))?;
        }
        Ok(())
    }
}
