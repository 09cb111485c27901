//! What a switch's file says, beside what this machine has.

use std::path::Path;
use std::process;

use tailrace_config::ScenarioError;
use tailrace_config::suggest::unknown;
use tailrace_core::{LiveError, PlannedQueue};
use tailrace_experiment::Error;
use tailrace_linux::{Account, InterfaceState, interface_names, interface_state};
use tailrace_live::{Programs, SwitchConfig, SwitchPort, for_switch};
use tailrace_run::switch_plan;

use super::super::emulate::{what_tags_mean, without_tags};
use crate::mistake::in_file;
use crate::watch::{Board, PortName};

/// A switch that can be run.
pub struct Chosen {
    pub config: SwitchConfig,
    pub programs: Programs,
    pub account: Account,
    /// What the file is called.
    name: String,
    /// The queues that DSCPs stand for, if there is more than one.
    queues: Vec<PlannedQueue>,
}

impl Chosen {
    pub fn read(file: &Path) -> Result<Self, Error> {
        let config = SwitchConfig::read(file)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self::on_this_machine(config, name).map_err(|error| in_file(error, file))
    }

    fn on_this_machine(config: SwitchConfig, name: String) -> Result<Self, Error> {
        let account = Account::of(&config.user).map_err(|why| ScenarioError::new("switch.user", why))?;
        let mtu = common_mtu(&config.ports)?;
        let config = config.with_mtu(mtu)?;
        let programs = for_switch(&config)?;
        let plan = switch_plan(&config.scenario, config.fabric().host_rate())?;
        let queues = plan.filter(|_| programs.tagged).map(|plan| plan.queues).unwrap_or_default();
        Ok(Chosen { config, programs, account, name, queues })
    }

    /// The interfaces, port by port.
    pub fn interfaces(&self) -> Vec<String> {
        self.config.ports.iter().map(|port| port.interface.clone()).collect()
    }

    /// What there is and how to use it, in lines.
    pub fn how_to_use(&self) -> Vec<String> {
        let (name, scheme, user) = (&self.name, self.config.scenario.scheme.label(), self.account.name());
        let port = |port: &SwitchPort| format!("{} at {}", port.interface, port.rate);
        let ports: Vec<String> = self.config.ports.iter().map(port).collect();
        let mut lines = vec![
            format!("{name}: a switch under {scheme} between {}", ports.join(", ")),
            format!("  runs as user {user}; kill -HUP {} has it read its file again", process::id()),
        ];
        if !self.queues.is_empty() {
            let without = without_tags(&self.queues);
            lines.push(format!(
                "note: {scheme}'s own hosts write a DSCP into packets, and others do not: {without}"
            ));
        }
        lines.extend(what_tags_mean(&self.queues));
        lines
    }

    /// An empty board for it.
    pub fn board(&self) -> Board {
        let (name, scheme) = (&self.name, self.config.scenario.scheme.label());
        let title = format!("{name} · {scheme} · {} ports", self.config.ports.len());
        let hints = vec![format!("kill -HUP {} has it read its file again", process::id())];
        Board::new(title, hints, names(&self.config))
    }
}

/// The ports as a board has them.
pub fn names(config: &SwitchConfig) -> Vec<PortName> {
    config.ports.iter().map(|port| PortName { name: port.interface.clone(), rate: port.rate }).collect()
}

/// The MTU of all interfaces. A switch cuts no packets, so there is one for all.
fn common_mtu(ports: &[SwitchPort]) -> Result<usize, Error> {
    let mut first = None;
    for (number, port) in ports.iter().enumerate() {
        let name = &port.interface;
        let state = interface_state(name).map_err(|error| {
            Error::Live(LiveError::SetUp(format!("asking for interface {name}: {error}")))
        })?;
        let wrong =
            |message: String| Err(ScenarioError::new(format!("port[{number}].interface"), message).into());
        let Some(InterfaceState { mtu, up, ethernet }) = state else {
            let names = interface_names();
            return wrong(unknown("interface", name, names.iter().map(String::as_str)));
        };
        if !ethernet {
            return wrong(format!("is \"{name}\", which carries no Ethernet frames"));
        }
        if !up {
            return wrong(format!("is \"{name}\", which is down; set it up first: ip link set {name} up"));
        }
        let (of, common) = *first.get_or_insert((name, mtu));
        if mtu != common {
            return wrong(format!(
                "is \"{name}\", whose MTU is {mtu}, but must be {common} as that of {of}: a switch cuts no packets (ip link \
                 set {name} mtu {common})"
            ));
        }
    }
    Ok(first.map_or(0, |(_, mtu)| mtu))
}
