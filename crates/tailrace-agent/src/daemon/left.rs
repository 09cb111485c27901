//! What agents leave in the kernel, as their files ask for: where it is, and how it is taken away.

use std::path::Path;

use tailrace_bpf::{BpfError, Pins, taggers_at};
use tailrace_config::ScenarioError;
use tailrace_console::{complain, say};

use super::claim;
use super::interface::Interface;
use crate::error::in_file;
use crate::{AgentConfig, Error, HostPart};

pub(super) fn pins(config: &AgentConfig, interface: u32) -> Result<Option<Pins>, BpfError> {
    config.pins.as_ref().map(|root| Pins::new(root, &config.interface, interface)).transpose()
}

/// So that a host does not fill up with what was left in network namespaces that are gone.
pub(super) fn remove_gone(pins: &Pins) -> Result<(), Error> {
    for folder in pins.remove_gone()? {
        complain!("note: took away {}: its interface is gone", folder.display());
    }
    Ok(())
}

pub(super) fn left_behind(config: &AgentConfig, part: Option<&HostPart>) -> Error {
    let takes_over = part.is_none_or(HostPart::tags);
    let what = match takes_over {
        true => "give that folder, and this agent takes over",
        false => {
            "this scheme has no tags, so take them away first: `tailrace agent detach` with the file that gave that folder"
        }
    };
    let message =
        format!("is not where the program is pinned that an agent has left at {}: {what}", config.interface);
    ScenarioError::new("agent.pins", message).into()
}

/// `tailrace agent detach`: what a pinned agent has left is taken away.
pub fn detach(file: &Path) -> Result<i32, Error> {
    let config = AgentConfig::read(file)?;
    let of_file = |error: BpfError| in_file(error.into(), file);
    let interface = Interface::find("agent.interface", &config.interface);
    let pins = pins(&config, interface.as_ref().map_or(0, |interface| interface.number)).map_err(of_file)?;
    pins.as_ref().map_or(Ok(()), remove_gone)?;
    let left = pins.filter(Pins::are_there);
    let (interface, left) = match (interface, left) {
        (Ok(interface), left) => (interface, left),
        (Err(error), None) => return Err(in_file(error, file)),
        // Pins outlive their interface, and the program that hears programs with them.
        (Err(_), Some(left)) => {
            left.remove().map_err(of_file)?;
            say!("took away what an agent had left at {}, which is gone", config.interface);
            return Ok(0);
        }
    };
    // Not from an agent that runs.
    let _claim = claim::take(&config.interface)?;
    match left {
        Some(pins) => {
            pins.remove().map_err(of_file)?;
            say!("took away what an agent had left at {}", config.interface);
        }
        None if taggers_at(interface.number)? > 0 => {
            return Err(in_file(left_behind(&config, None), file));
        }
        None => say!("nothing was left at {}", config.interface),
    }
    Ok(0)
}
