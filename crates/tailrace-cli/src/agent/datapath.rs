//! What an agent has in the kernel for its scheme: tags, or windows.

use std::fmt;

use tailrace_agent::{
    AgentError, Connection, Counts, EgressTagger, FlowTable, Kept, Known, MOST_FLOWS, Pins, Rule, WindowFlow,
    WindowKeeper,
};
use tailrace_config::ScenarioError;
use tailrace_core::Weight;
use tailrace_experiment::Error;
use tailrace_run::HostPart;
use tailrace_scenario::AgentConfig;

use super::failed;

pub enum Datapath {
    Tags(EgressTagger),
    Windows(WindowKeeper),
}

impl Datapath {
    /// For so many flows, with those that are pinned; it is nowhere yet.
    pub fn new(
        pins: Option<&Pins>,
        config: &AgentConfig,
        part: &HostPart,
        rules: &[Rule],
    ) -> Result<Self, Error> {
        let flows = config.flows;
        // Without a fleet nobody gives flows weights of their own.
        let given = if config.fleet.is_some() { MOST_FLOWS as u32 } else { 0 };
        let directives = part.directives()?;
        let made = match &part.shim {
            None => EgressTagger::going_on(pins, flows, &directives, rules).map(Datapath::Tags),
            Some(_) if pins.is_some() => {
                // Whom a window was shown would be shown it for ever: nobody tells a keeper without an agent of new weights.
                let message = "keeps tags only, and this scheme keeps windows: leave it out, and windows go with the agent";
                return Err(ScenarioError::new("agent.pins", message).into());
            }
            Some(shim) => WindowKeeper::new(flows, given, &directives, rules, shim).map(Datapath::Windows),
        };
        made.map_err(failed)
    }

    pub fn attach(&mut self, pins: Option<&Pins>, interface: u32) -> Result<(), Error> {
        match self {
            Datapath::Tags(tagger) => tagger.attach_keeping(pins, interface),
            Datapath::Windows(keeper) => keeper.attach(interface),
        }
        .map_err(failed)
    }

    /// Whether it can go on with another scheme.
    pub fn check_change(&self, part: &HostPart) -> Result<(), ScenarioError> {
        let (now, then) = match (self, &part.shim) {
            (Datapath::Tags(_), Some(_)) => ("keeps windows", "tags packets"),
            (Datapath::Windows(_), None) => ("tags packets", "keeps windows"),
            _ => return Ok(()),
        };
        let message = format!("{now}, but this agent {then} as long as it runs: start it again");
        Err(ScenarioError::new("scheme.name", message))
    }

    /// From now on it does as the scheme says now.
    pub fn set(&mut self, part: &HostPart, rules: &[Rule]) -> Result<(), Error> {
        let directives = part.directives()?;
        match (self, &part.shim) {
            (Datapath::Tags(tagger), _) => tagger.set(&directives, rules),
            (Datapath::Windows(keeper), Some(shim)) => keeper.set(&directives, rules, shim),
            (Datapath::Windows(_), None) => Ok(()),
        }
        .map_err(failed)
    }

    /// What is known of the flow that a connection sends, if it is remembered.
    pub fn known_of(&self, connection: &Connection) -> Result<Option<Known>, AgentError> {
        match self {
            Datapath::Tags(tagger) => tagger.known_of(connection),
            // No scheme with windows learns from flows.
            Datapath::Windows(_) => Ok(None),
        }
    }

    pub fn keeps_windows(&self) -> bool {
        matches!(self, Datapath::Windows(_))
    }

    /// The flow that a connection sends, if a window is kept for it.
    pub fn window_of(&self, connection: &Connection) -> Result<Option<WindowFlow>, Error> {
        match self {
            Datapath::Tags(_) => Ok(None),
            Datapath::Windows(keeper) => keeper.flow(connection).map_err(failed),
        }
    }

    /// Gives the flow that a connection sends a weight of its own, or takes it away.
    pub fn give(&self, connection: &Connection, weight: Option<Weight>) -> Result<(), Error> {
        match self {
            Datapath::Tags(_) => Ok(()),
            Datapath::Windows(keeper) => keeper.give(connection, weight).map_err(failed),
        }
    }

    /// The flows that it remembers, if it does.
    pub fn flows(&self) -> Result<Option<FlowTable>, AgentError> {
        match self {
            Datapath::Tags(tagger) => tagger.flows().map(Some),
            Datapath::Windows(_) => Ok(None),
        }
    }

    /// What flows take of the kernel's memory.
    pub fn memory_bytes(&self) -> Result<u64, AgentError> {
        match self {
            Datapath::Tags(tagger) => tagger.flows()?.memory_bytes(),
            Datapath::Windows(keeper) => keeper.memory_bytes(),
        }
    }

    /// What it has done so far.
    pub fn done(&self) -> Result<Done, AgentError> {
        match self {
            Datapath::Tags(tagger) => tagger.counts().map(Done::Tags),
            Datapath::Windows(keeper) => keeper.kept().map(Done::Windows),
        }
    }
}

/// What the programs in the kernel have done.
#[derive(Clone, Copy)]
pub enum Done {
    Tags(Counts),
    Windows(Kept),
}

impl Done {
    /// What programs have said of flows, and what they must not say.
    pub fn told(&self) -> [u64; 2] {
        match self {
            Done::Tags(of) => [of.told, of.refused],
            Done::Windows(of) => [of.told, of.refused],
        }
    }
}

/// In a line.
impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Done::Tags(Counts { tagged, untouched, flows, .. }) => {
                write!(f, "{tagged} packets tagged, {untouched} left as they came, {flows} flows")
            }
            Done::Windows(Kept { flows, shown, marks, .. }) => write!(
                f,
                "{flows} connections with windows, {shown} acknowledgements with a smaller one, {marks} bytes marked"
            ),
        }?;
        match self.told() {
            [0, 0] => Ok(()),
            [told, refused] => {
                write!(f, "; programs told of {told} flows, and were refused {refused} times")
            }
        }
    }
}
