//! What programs say of their flows, heard by a program at the root of cgroups.

use std::os::fd::AsRawFd;

use libbpf_rs::{Link, Object};

use super::known::Rule;
use super::{cgroups, load};
use crate::error::AgentError;

/// Hears programs while a rule names a cgroup: which of them may say something, rules say.
#[derive(Default)]
pub(super) struct Ear {
    link: Option<Link>,
}

impl Ear {
    /// Opens or shuts it.
    pub(super) fn set(&mut self, object: &mut Object, rules: &[Rule]) -> Result<(), AgentError> {
        match rules.iter().any(|rule| rule.cgroup.is_some()) {
            true if self.link.is_none() => self.link = Some(listen(object)?),
            true => {}
            false => self.link = None,
        }
        Ok(())
    }
}

fn listen(object: &mut Object) -> Result<Link, AgentError> {
    let root = cgroups::root().ok_or_else(|| AgentError::Kernel(cgroups::NOT_MOUNTED.to_owned()))?;
    let folder =
        std::fs::File::open(&root).map_err(AgentError::refused(format!("opening {}", root.display())))?;
    let program = load::program(object, "tell")?;
    program.attach_cgroup(folder.as_raw_fd()).map_err(load::refused("hearing what programs say of flows"))
}
