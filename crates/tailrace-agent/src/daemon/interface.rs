//! Interfaces that options and files name.

use tailrace_config::ScenarioError;
use tailrace_config::suggest::unknown;
use tailrace_core::{LiveError, Rate};
use tailrace_linux::{InterfaceState, interface_names, interface_state};

use crate::Error;

/// In every network namespace.
const LOOPBACK: u32 = 1;

/// An interface of this machine.
pub struct Interface {
    name: String,
    pub number: u32,
    ethernet: bool,
    /// What the interface says, if it does.
    pub rate: Option<Rate>,
}

impl Interface {
    /// The one of that name, which `field` has.
    pub fn find(field: &str, name: &str) -> Result<Self, Error> {
        let asking = |error: std::io::Error| {
            Error::Live(LiveError::SetUp(format!("asking for interface {name}: {error}")))
        };
        let state = interface_state(name).map_err(asking)?;
        let number = tailrace_bpf::interface_number(name);
        let (Some(InterfaceState { ethernet, .. }), Some(number)) = (state, number) else {
            let names = interface_names();
            let message = unknown("interface", name, names.iter().map(String::as_str));
            return Err(ScenarioError::new(field, message).into());
        };
        Ok(Interface {
            name: name.to_owned(),
            number,
            ethernet,
            rate: tailrace_bpf::interface_rate(name).map(Rate::from_bps),
        })
    }
    /// The same, if it carries what is tagged.
    pub fn framed(self) -> Result<Self, Error> {
        // Loopback has Ethernet's header, too.
        if self.ethernet || self.number == LOOPBACK {
            return Ok(self);
        }
        let message = format!("is \"{}\", which carries no Ethernet frames", self.name);
        Err(ScenarioError::new("agent.interface", message).into())
    }
}
