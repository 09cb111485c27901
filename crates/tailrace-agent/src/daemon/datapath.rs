//! What an agent has in the kernel for its scheme: tags, or windows, and a congestion law.

use tailrace_bpf::{
    BpfError, Cgroup, CongestionControl, Connection, EgressTagger, Known, Pins, Rule, WindowFlow,
    WindowKeeper,
};
use tailrace_config::ScenarioError;
use tailrace_core::{HostLaw, Weight};

use super::known;
use super::types::{Done, DoneToPackets, Flows, LawUse};
use crate::etcd::MAX_FLOWS;
use crate::{AgentConfig, Error, HostPart};

pub struct Datapath {
    packets: Packets,
    law: Option<CongestionControl>,
    /// As it began.
    has: Option<HostLaw>,
}

/// What happens to packets.
enum Packets {
    Tags(EgressTagger),
    Windows(WindowKeeper),
    /// The scheme is all in its congestion law.
    Nothing,
}

impl Datapath {
    /// For so many flows, with those that are pinned; it is nowhere yet.
    pub fn new(
        pins: Option<&Pins>,
        config: &AgentConfig,
        part: &HostPart,
        rules: &[Rule],
    ) -> Result<Self, Error> {
        let (directives, flows) = (part.directives()?, config.flows);
        // Without a fleet or a controller nobody gives flows weights of their own.
        let given = if config.fleet.is_some() || part.has_controller { MAX_FLOWS as u32 } else { 0 };
        let packets = match &part.shim {
            None if !part.tags() && pins.is_some() => {
                let message = "keeps tags only, and this scheme has none: leave it out";
                return Err(ScenarioError::new("agent.pins", message).into());
            }
            None if !part.tags() => Packets::Nothing,
            None => Packets::Tags(EgressTagger::going_on(pins, flows, &directives, rules)?),
            Some(_) if pins.is_some() => {
                // Whom a window was shown would be shown it for ever: nobody tells a keeper without an agent of new weights.
                let message = "keeps tags only, and this scheme keeps windows: leave it out, and windows go with the agent";
                return Err(ScenarioError::new("agent.pins", message).into());
            }
            Some(shim) => Packets::Windows(WindowKeeper::new(flows, given, &directives, rules, shim)?),
        };
        let chosen = known::chosen(config)?;
        let announced = match &packets {
            Packets::Tags(tagger) => Some(tagger.announcements()?),
            // Windows and a law are never one scheme's.
            Packets::Windows(_) | Packets::Nothing => None,
        };
        let law = |law| CongestionControl::new(law, &directives, rules, &chosen, announced.as_ref());
        let law = part.law.as_ref().map(law).transpose()?;
        Ok(Datapath { packets, law, has: part.law })
    }

    /// Tags come last, which may be pinned: what fails before leaves nothing.
    pub fn attach(&mut self, pins: Option<&Pins>, interface: u32) -> Result<(), Error> {
        self.law.as_mut().map_or(Ok(()), |law| law.attach().map_err(Error::from))?;
        match &mut self.packets {
            Packets::Tags(tagger) => tagger.attach_keeping(pins, interface),
            Packets::Windows(keeper) => keeper.attach(interface),
            Packets::Nothing => Ok(()),
        }
        .map_err(Error::from)
    }

    /// From now on connections that begin have the law in these cgroups, if it is of some.
    pub fn choose(&self, cgroups: &[Cgroup]) -> Result<(), Error> {
        self.law.as_ref().map_or(Ok(()), |law| law.choose(cgroups).map_err(Error::from))
    }

    /// Whether it can go on with another scheme.
    pub fn check_change(&self, part: &HostPart) -> Result<(), ScenarioError> {
        let does = |windows, tags| match (windows, tags) {
            (true, _) => "keeps windows",
            (false, true) => "tags packets",
            (false, false) => "leaves packets as they are",
        };
        let now = does(part.shim.is_some(), part.tags());
        let then = match self.packets {
            Packets::Windows(_) => does(true, false),
            Packets::Tags(_) => does(false, true),
            Packets::Nothing => does(false, false),
        };
        if now == then {
            let kind = |law: &Option<HostLaw>| law.map(|law| law.kind.name());
            if kind(&self.has) == kind(&part.law) {
                return Ok(());
            }
            let message =
                "has another congestion law, but this agent's stays as long as it runs: start it again";
            return Err(ScenarioError::new("scheme.name", message));
        }
        let message = format!("{now}, but this agent {then} as long as it runs: start it again");
        Err(ScenarioError::new("scheme.name", message))
    }

    /// From now on it does as the scheme says now.
    pub fn set(&mut self, part: &HostPart, rules: &[Rule]) -> Result<(), Error> {
        let directives = part.directives()?;
        match (&mut self.packets, &part.shim) {
            (Packets::Tags(tagger), _) => tagger.set(&directives, rules),
            (Packets::Windows(keeper), Some(shim)) => keeper.set(&directives, rules, shim),
            (Packets::Windows(_), None) | (Packets::Nothing, _) => Ok(()),
        }?;
        match (&mut self.law, &part.law) {
            (Some(control), Some(law)) => control.set(law, &directives, rules).map_err(Error::from),
            _ => Ok(()),
        }
    }

    /// What is known of the flow that a connection sends, if it is remembered.
    pub fn known_of(&self, connection: &Connection) -> Result<Option<Known>, BpfError> {
        match &self.packets {
            Packets::Tags(tagger) => tagger.known_of(connection),
            // No scheme without tags learns from flows.
            Packets::Windows(_) | Packets::Nothing => Ok(None),
        }
    }

    pub fn keeps_windows(&self) -> bool {
        matches!(self.packets, Packets::Windows(_))
    }

    /// The flow that a connection sends, if a window is kept for it.
    pub fn window_of(&self, connection: &Connection) -> Result<Option<WindowFlow>, Error> {
        match &self.packets {
            Packets::Tags(_) | Packets::Nothing => Ok(None),
            Packets::Windows(keeper) => keeper.flow(connection).map_err(Error::from),
        }
    }

    /// Gives the flow that a connection sends a weight of its own, or takes it away.
    pub fn give(&self, connection: &Connection, weight: Option<Weight>) -> Result<(), Error> {
        match &self.packets {
            Packets::Tags(_) | Packets::Nothing => Ok(()),
            Packets::Windows(keeper) => keeper.give(connection, weight).map_err(Error::from),
        }
    }

    /// The flows that it remembers, if it does.
    pub fn flows(&self) -> Result<Option<Flows>, BpfError> {
        match &self.packets {
            Packets::Tags(tagger) => tagger.flows().map(|table| Some(Flows::Tagged(table))),
            Packets::Windows(keeper) => keeper.flows().map(|table| Some(Flows::WithWindows(table))),
            Packets::Nothing => Ok(None),
        }
    }

    /// What flows take of the kernel's memory; those of a law alone are in their sockets.
    pub fn memory_bytes(&self) -> Result<u64, BpfError> {
        match &self.packets {
            Packets::Tags(tagger) => tagger.flows()?.memory_bytes(),
            Packets::Windows(keeper) => keeper.memory_bytes(),
            Packets::Nothing => Ok(0),
        }
    }

    /// What it has done so far.
    pub fn done(&self) -> Result<Done, BpfError> {
        let law = |control: &CongestionControl| {
            let [told, refused] = control.told()?;
            Ok(LawUse { name: control.name().to_owned(), connections: control.connections()?, told, refused })
        };
        let packets = match &self.packets {
            Packets::Tags(tagger) => tagger.counts().map(DoneToPackets::Tags),
            Packets::Windows(keeper) => keeper.kept().map(DoneToPackets::Windows),
            Packets::Nothing => Ok(DoneToPackets::Nothing),
        };
        Ok(Done { packets: packets?, law: self.law.as_ref().map(law).transpose()? })
    }
}
