//! What is emulated: a scenario of a file, under a name.

use std::path::{Path, PathBuf};

use tailrace_agent::{StartAgents, for_hosts};
use tailrace_config::ScenarioError;
use tailrace_config::suggest::unknown;
use tailrace_core::{PlannedQueue, Rate};
use tailrace_experiment::{Error, Experiment, place_in_scheme};
use tailrace_linux::{LONGEST_NAME, MIN_MTU_FOR_IPV6};
use tailrace_live::{Programs, asks_for_much, for_programs, for_proxies};
use tailrace_run::switch_plan;
use tailrace_scenario::Scenario;

use super::super::{agent, error::absent};
use crate::args;
use crate::mistake::{in_file, wrong};
use crate::overrides::overrides;
use crate::watch::{Board, PortName};

/// What is emulated.
pub struct Chosen {
    pub scenario: Scenario,
    pub programs: Programs,
    /// How agents are started at hosts, if there are to be such.
    pub agents: Option<StartAgents>,
    pub name: String,
    scheme: String,
    /// The queues that hosts' tags stand for, if there is more than one.
    queues: Vec<PlannedQueue>,
    host_rate: Rate,
}

pub fn choose(options: &args::Emulate, file: &Path) -> Result<Chosen, Error> {
    let chosen = planned(file, options.scheme.as_deref(), &options.set)?;
    let of_file = |error| chosen.of_file(error);
    let mut scenario = chosen.scenario.clone();
    scenario.live.agent |= options.agents;
    let ask = if options.proxies { for_proxies } else { for_programs };
    let programs = ask(&scenario).map_err(of_file)?;
    let agents = scenario.live.agent.then(|| agents(&scenario)).transpose().map_err(|error| match error {
        Error::Input(error) => of_file(error),
        other => other,
    })?;
    let host_rate = scenario.fabric.build().host_rate();
    let plan = if programs.tagged { switch_plan(&scenario, host_rate).map_err(of_file)? } else { None };
    let queues = plan.map(|plan| plan.queues).unwrap_or_default();
    let name = options.name.clone().unwrap_or_else(|| name_of(&chosen.experiment));
    Ok(Chosen { scenario, programs, agents, name, scheme: chosen.scheme, queues, host_rate })
}

/// How agents are started, if this build and the scheme have such.
fn agents(scenario: &Scenario) -> Result<StartAgents, Error> {
    for_hosts(scenario)?;
    agent::START.ok_or_else(absent)
}

/// A scenario of a file.
pub struct Planned {
    pub scenario: Scenario,
    /// The scheme's label.
    pub scheme: String,
    /// What the experiment is called.
    pub experiment: String,
    file: PathBuf,
    /// Which of the file's schemes it is.
    place: usize,
}

impl Planned {
    /// An error in the scenario is one in the file.
    pub fn of_file(&self, error: ScenarioError) -> Error {
        in_file(Error::Input(place_in_scheme(error, self.place)), &self.file)
    }
}

/// The first point of an experiment's sweep, under the scheme of that label, or the first.
pub fn planned(file: &Path, label: Option<&str>, set: &[String]) -> Result<Planned, Error> {
    let experiment = Experiment::read(file, &overrides(set)?, 1.0)?;
    let labels = || experiment.runs.iter().map(|run| run.scheme.as_str());
    // The runs of a point are in the order of the file's schemes.
    let place = match label {
        None => 0,
        Some(label) => labels()
            .position(|other| other == label)
            .ok_or_else(|| wrong("--scheme", unknown("scheme of this experiment", label, labels())))?,
    };
    let (run, file) = (&experiment.runs[place], file.to_owned());
    let (scenario, scheme) = (run.scenario(), run.scheme.clone());
    Ok(Planned { scenario, scheme, experiment: experiment.name.clone(), file, place })
}

/// A name that namespaces can have, after that of a file.
fn name_of(file: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = file.chars().map(fits).collect();
    let name: String = name.trim_start_matches(['-', '_']).chars().take(LONGEST_NAME).collect();
    if name.is_empty() { "fabric".to_owned() } else { name }
}

impl Chosen {
    /// What there is and how to use it, in lines.
    pub fn how_to_use(&self) -> Vec<String> {
        let (name, hosts) = (&self.name, self.programs.hosts);
        let last = hosts.saturating_sub(1);
        let mut lines = vec![
            format!(
                "{name}: {hosts} hosts, h0 to h{last}, with {} each, under {}",
                self.host_rate, self.scheme
            ),
            format!("  {}", self.example()),
            format!("  ip netns exec {name}-h{last} COMMAND"),
        ];
        let mtu = self.programs.mtu;
        if mtu < MIN_MTU_FOR_IPV6 {
            lines.push(format!(
                "note: hosts have IPv4 only: their MTU is {mtu}, and Linux has no IPv6 below {MIN_MTU_FOR_IPV6}"
            ));
        }
        if self.agents.is_some() {
            lines.push(format!(
                "  tailrace enter {name}/h{last} -- tailrace agent status, for each host has an agent"
            ));
        } else if !self.queues.is_empty() {
            lines.push(format!(
                "note: {}'s own hosts write a DSCP into packets, and programs do not: {}",
                self.scheme,
                without_tags(&self.queues)
            ));
        }
        lines.extend(what_tags_mean(&self.queues));
        lines.extend(asks_for_much(&self.scenario).map(|much| format!("note: {much}")));
        lines
    }

    fn example(&self) -> String {
        let last = self.programs.hosts.saturating_sub(1);
        format!("tailrace enter {}/h{last} -- ping h0", self.name)
    }

    /// An empty board for it.
    pub fn board(&self) -> Board {
        let (name, scheme, hosts) = (&self.name, &self.scheme, self.programs.hosts);
        let title = format!("{name} · {scheme} · {hosts} hosts with {}", self.host_rate);
        let mut hints = Vec::new();
        if let Some(last) = self.queues.len().checked_sub(1) {
            let first = self.queues[0].dscp;
            hints.push(format!("packets without a DSCP are in q{last}; DSCP {first} is q0"));
        }
        hints.push(self.example());
        Board::new(title, hints, PortName::of(&self.scenario.fabric.build()))
    }
}

/// What becomes of packets without a DSCP, where there are several queues.
pub fn without_tags(queues: &[PlannedQueue]) -> String {
    format!(
        "all their packets are in the last of {} queues, unless they set a DSCP themselves (as with iperf3 --dscp D, ping -Q \
         {{4 D}}, IP_TOS = 4 D)",
        queues.len()
    )
}

/// Which DSCP is for which queue, in lines.
pub fn what_tags_mean(queues: &[PlannedQueue]) -> Vec<String> {
    let line = |(number, queue): (usize, &PlannedQueue)| {
        format!("  DSCP {}: queue {number}, {}", queue.dscp, queue.holds)
    };
    queues.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_give_names_that_namespaces_can_have() {
        for (file, name) in [
            ("leaf-spine8", "leaf-spine8"),
            ("My file (2)", "My-file--2-"),
            ("-x", "x"),
            ("é", "fabric"),
            ("a-very-long-name-of-an-experiment-file", "a-very-long-name-of-an-experimen"),
        ] {
            assert_eq!(name_of(file), name);
        }
    }
}
