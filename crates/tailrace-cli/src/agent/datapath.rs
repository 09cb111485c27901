//! What an agent has in the kernel for its scheme: tags, or windows.

use tailrace_agent::{AgentError, Connection, EgressTagger, Known, Rule, WindowKeeper};
use tailrace_config::ScenarioError;
use tailrace_experiment::Error;
use tailrace_run::HostPart;

use super::failed;

pub enum Datapath {
    Tags(EgressTagger),
    Windows(WindowKeeper),
}

impl Datapath {
    /// For so many flows; it is nowhere yet.
    pub fn new(flows: u32, part: &HostPart, rules: &[Rule]) -> Result<Self, Error> {
        let directives = part.directives()?;
        let made = match &part.shim {
            None => EgressTagger::new(flows, &directives, rules).map(Datapath::Tags),
            Some(shim) => WindowKeeper::new(flows, &directives, rules, shim).map(Datapath::Windows),
        };
        made.map_err(failed)
    }

    pub fn attach(&mut self, interface: u32) -> Result<(), Error> {
        match self {
            Datapath::Tags(tagger) => tagger.attach(interface),
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

    /// What it has done so far, in a line or two.
    pub fn said(&self) -> Result<String, AgentError> {
        let (mut said, told, refused) = match self {
            Datapath::Tags(tagger) => {
                let of = tagger.counts()?;
                let (tagged, untouched, flows) = (of.tagged, of.untouched, of.flows);
                let said = format!("{tagged} packets tagged, {untouched} left as they came, {flows} flows");
                (said, of.told, of.refused)
            }
            Datapath::Windows(keeper) => {
                let of = keeper.kept()?;
                let (flows, shown, marks) = (of.flows, of.shown, of.marks);
                let said = format!(
                    "{flows} connections with windows, {shown} acknowledgements with a smaller one, {marks} bytes marked"
                );
                (said, of.told, of.refused)
            }
        };
        if told + refused > 0 {
            said += &format!("; programs told of {told} flows, and were refused {refused} times");
        }
        Ok(said)
    }
}
