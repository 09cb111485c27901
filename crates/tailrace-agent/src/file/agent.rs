//! The file of the host agent: an interface, and of a scenario what concerns a host: the scheme, and the traffic that its
//! thresholds may follow from.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tailrace_config::{ScenarioError, read_parsed, suggest, table};
use tailrace_core::{Rate, Time};
use tailrace_fabric::{FabricKind, check_link};
use tailrace_scenario::Scenario;
use toml::{Table, Value};

use super::fleet::Fleet;
use super::law::LawFor;
use super::rules::FlowRule;

const SECTIONS: [&str; 7] = ["agent", "control", "workload", "scheme", "slice", "rule", "law"];

/// What a host agent does.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentConfig {
    /// The interface whose packets are tagged.
    pub interface: String,
    /// The unloaded round trip between the farthest hosts, if it is given.
    pub round_trip: Option<Time>,
    /// How many flows are remembered.
    pub flows: u32,
    /// The user as whom it goes on when its programs are in the kernel.
    pub user: String,
    /// The folder of a bpf file system for what outlives the agent; nothing does where it is not given.
    pub pins: Option<PathBuf>,
    /// What is known of which flows.
    pub rules: Vec<FlowRule>,
    /// Which connections have the scheme's congestion law, if any.
    pub law: Option<LawFor>,
    /// The fleet that it belongs to, if it does.
    pub fleet: Option<Fleet>,
    /// Two hosts at a switch, with links as this machine's; the traffic, if it is given; and the scheme.
    pub scenario: Scenario,
}

/// The section `[agent]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Agent {
    interface: String,
    #[serde(default = "common_rate")]
    rate: Rate,
    round_trip: Option<Time>,
    #[serde(default = "many")]
    flows: u32,
    #[serde(default = "nobody")]
    user: String,
    pins: Option<PathBuf>,
}

pub(crate) fn common_rate() -> Rate {
    Rate::from_gbps(10)
}

/// 9 MB in the kernel.
fn many() -> u32 {
    1 << 16
}

fn nobody() -> String {
    "nobody".to_owned()
}

/// Across continents; datacenters have a thousandth of it.
const LONGEST_ROUND_TRIP: Time = Time::from_ms(500);

/// More would be gigabytes.
const MAX_FLOWS: u32 = 1 << 24;

impl AgentConfig {
    /// Reads a file, and those that it names. Errors say file, line and field.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        read_parsed(path, |text, folder| {
            let mut config = Self::parse(text)?;
            config.fleet.iter_mut().for_each(|fleet| fleet.resolve(folder));
            if !config.scenario.workload.rules.is_empty() {
                config.scenario.read_files(folder)?;
            }
            Ok(config)
        })
    }

    /// Reads a file's text. Errors say the line.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let table = text.parse().map_err(|error| ScenarioError::syntax(&error, text))?;
        Self::from_table(table).map_err(|error| error.locate(text))
    }

    fn from_table(mut given: Table) -> Result<Self, ScenarioError> {
        if let Some(name) = given.keys().find(|name| !SECTIONS.contains(&name.as_str())) {
            return Err(ScenarioError::new(name, suggest::unknown("section", name, SECTIONS)));
        }
        let own = table::take(&mut given, "agent")?;
        let Agent { interface, rate, round_trip, flows, user, pins } =
            table::read(own).and_then(checked).map_err(|error| error.within("agent"))?;
        let fleet = Fleet::take(&mut given)?;
        let slices = given.get("slice").and_then(Value::as_array).map_or(0, Vec::len);
        let rules = super::rules::take(&mut given, slices)?;
        let law = super::law::take(&mut given)?;
        let star = [("kind", Value::from("star")), ("hosts", Value::from(2))];
        let mut scenario = of_hosts(given, &star, rate)?;
        if let Some(round_trip) = round_trip {
            set_round_trip(&mut scenario, round_trip)?;
        }
        Ok(AgentConfig { interface, round_trip, flows, user, pins, rules, law, fleet, scenario })
    }

    /// That of a host of a scenario's own fabric, at this interface. All programs of the host may say what they know of their flows,
    /// and all connections may have the scheme's congestion law.
    pub fn of_host(interface: &str, scenario: &Scenario, has_law: bool) -> Self {
        let (cgroup, port, slice, size, deadline) = (Some(PathBuf::from("/")), None, None, None, None);
        let rules = vec![FlowRule { cgroup, port, slice, size, deadline }];
        let (interface, scenario) = (interface.to_owned(), scenario.clone());
        let round_trip = Some(scenario.facts(&scenario.fabric.build()).base_rtt);
        let (law, pins, fleet) = (has_law.then(LawFor::default), None, None);
        let (flows, user) = (many(), "root".to_owned());
        AgentConfig { interface, round_trip, flows, user, pins, rules, law, fleet, scenario }
    }

    /// Whether an agent that runs as `before` says may go on as this says: the scheme and its traffic may differ.
    pub fn check_change(&self, before: &Self) -> Result<(), ScenarioError> {
        let stays = |field: &str, now: String, then: String| match now == then {
            true => Ok(()),
            false => {
                let message = format!("is {now}, but stays {then} as long as the agent runs");
                Err(ScenarioError::new(field, message))
            }
        };
        let text = |text: &str| format!("\"{text}\"");
        stays("agent.interface", text(&self.interface), text(&before.interface))?;
        stays("agent.flows", self.flows.to_string(), before.flows.to_string())?;
        stays("agent.user", text(&self.user), text(&before.user))?;
        let pins = |pins: &Option<PathBuf>| match pins {
            Some(pins) => format!("\"{}\"", pins.display()),
            None => "not given".to_owned(),
        };
        stays("agent.pins", pins(&self.pins), pins(&before.pins))?;
        if self.law != before.law {
            let message = "names other connections than the agent began with: start it again";
            return Err(ScenarioError::new("law", message));
        }
        if self.fleet == before.fleet {
            return Ok(());
        }
        let message = "is another one, but stays as it was as long as the agent runs";
        Err(ScenarioError::new("control", message))
    }
}

/// Gives the two hosts' links the delay with which a full packet and its acknowledgement take so long.
fn set_round_trip(scenario: &mut Scenario, round_trip: Time) -> Result<(), ScenarioError> {
    let FabricKind::Star(star) = &mut scenario.fabric.kind else { return Ok(()) };
    star.host_delay = Time::ZERO;
    let (rate, least) = (star.host_rate, scenario.facts(&scenario.fabric.build()).base_rtt);
    if !(least..=LONGEST_ROUND_TRIP).contains(&round_trip) {
        let message = format!(
            "is {round_trip}, but must lie between {least}, which a packet and its acknowledgement take on two links of {rate}, \
             and {LONGEST_ROUND_TRIP}"
        );
        return Err(ScenarioError::new("agent.round_trip", message));
    }
    if let FabricKind::Star(star) = &mut scenario.fabric.kind {
        // Both pass two links.
        star.host_delay = Time::from_ps((round_trip - least).as_ps() / 4);
    }
    Ok(())
}

fn checked(agent: Agent) -> Result<Agent, ScenarioError> {
    check_link(agent.rate, Time::ZERO)?;
    if !(1..=MAX_FLOWS).contains(&agent.flows) {
        let message = format!("is {}, but must be 1 to {MAX_FLOWS}", agent.flows);
        return Err(ScenarioError::new("flows", message));
    }
    Ok(agent)
}

/// What a file without a fabric says of hosts: the scenario of some that have links of this rate.
pub(crate) fn of_hosts(
    mut given: Table,
    fabric: &[(&str, Value)],
    rate: Rate,
) -> Result<Scenario, ScenarioError> {
    let mut fabric: Table =
        fabric.iter().map(|(field, value)| ((*field).to_owned(), value.clone())).collect();
    fabric.insert("host_rate".to_owned(), Value::from(rate.to_string()));
    let slices = given.get("slice").and_then(Value::as_array).map_or(0, Vec::len);
    let has_traffic = given.contains_key("workload");
    let workload = given.entry("workload").or_insert_with(|| Value::Table(no_traffic(slices)));
    if let Value::Table(workload) = workload
        && !workload.contains_key("duration")
    {
        // How many there are means nothing here.
        workload.entry("flows").or_insert(Value::from(1));
    }
    given.insert("fabric".to_owned(), Value::Table(fabric));
    let mut scenario = Scenario::from_table(given)?;
    if !has_traffic {
        scenario.workload = Default::default();
    }
    Ok(scenario)
}

/// A workload must have something, and each slice some of it; this is taken out again.
fn no_traffic(slices: usize) -> Table {
    let table = |fields: Vec<(&str, Value)>| -> Table {
        fields.into_iter().map(|(field, value)| (field.to_owned(), value)).collect()
    };
    let rule = |slice| Value::Table(table(vec![("sizes", "web-search".into()), ("slice", slice)]));
    let rules = (0..=slices as i64).map(|slice| rule(Value::from(slice))).collect::<Vec<_>>();
    table(vec![("load", Value::from(0.5)), ("rule", rules.into())])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tailrace_core::Bytes;

    use super::*;

    const AGENT: &str = "[agent]\ninterface = \"eth1\"\nrate = \"1Gbps\"\n[scheme]\nname = \"mlfq\"\n";

    #[test]
    fn a_file_is_an_interface_and_a_scheme_and_may_have_traffic() {
        let config = AgentConfig::parse(AGENT).unwrap();
        assert_eq!((config.interface.as_str(), config.flows), ("eth1", 65_536));
        assert_eq!(config.user, "nobody");
        assert_eq!(config.scenario.fabric.host_rate(), Rate::from_gbps(1));
        assert!(config.scenario.traffic().is_none());
        let round_trip = AGENT.replace("rate", "round_trip = \"2ms\"\nrate");
        let scenario = AgentConfig::parse(&round_trip).unwrap().scenario;
        let found = scenario.facts(&scenario.fabric.build()).base_rtt;
        assert!((found.as_secs_f64() - 2e-3).abs() < 1e-9, "{found}");
        let traffic = format!("{AGENT}[workload]\nsizes = \"web-search\"\nload = 0.6\n");
        let load = AgentConfig::parse(&traffic).unwrap().scenario.traffic().unwrap().load;
        assert!((load - 0.6).abs() < 1e-9, "{load}");
    }

    /// The reference has each field of each section, and no other.
    #[test]
    fn the_reference_has_all_fields() {
        let reference = include_str!("../../../../docs/reference/agent.md");
        let section = |heading: &str| {
            let rest = reference.split(&format!("## `{heading}`")).nth(1).unwrap();
            rest.split("\n## ").next().unwrap().lines().filter(|line| line.starts_with("| `"))
        };
        for (heading, source, of) in [
            ("[agent]", include_str!("agent.rs"), "struct Agent {"),
            ("[[rule]]", include_str!("rules.rs"), "pub struct FlowRule {"),
            ("[law]", include_str!("law.rs"), "struct Given {"),
            ("[control]", include_str!("fleet.rs"), "pub struct Fleet {"),
        ] {
            let fields = source.split(of).nth(1).unwrap().split("\n}").next().unwrap().lines();
            let fields = fields.filter_map(|line| line.trim().trim_start_matches("pub ").split_once(": "));
            let fields = fields.map(|(name, _)| name).filter(|name| !name.contains([' ', '#', '/']));
            let mut fields: Vec<&str> = fields.collect();
            let names = |line: &'static str| line.split('|').nth(1).unwrap().split('`').skip(1).step_by(2);
            let mut said: Vec<&str> = section(heading).flat_map(names).collect();
            fields.sort_unstable();
            said.sort_unstable();
            assert_eq!(said, fields, "{heading}");
        }
    }

    #[test]
    fn mistakes_name_line_and_field_and_what_would_be_right() {
        for (from, to, said) in [
            (
                "interface",
                "interfaces",
                "agent.interfaces: unknown field \"interfaces\"; did you mean \"interface\"?",
            ),
            ("interface = \"eth1\"", "", "agent: missing field `interface`"),
            ("[agent]", "[agents]", "unknown section \"agents\"; did you mean \"agent\"?"),
            ("1Gbps", "1Kbps", "line 3: agent.rate: is 1Kbps, but must lie between"),
            ("rate", "flows = 0\nrate", "agent.flows: is 0, but must be 1 to 16777216"),
            ("[scheme]\nname = \"mlfq\"", "", "scheme: missing field `name`"),
            ("rate", "round_trip = \"9us\"\nrate", "agent.round_trip: is 9us, but must lie between 2"),
            ("rate", "rule = 3\nrate", "agent.rule: unknown field"),
        ] {
            assert!(AGENT.contains(from), "{from}");
            let message = AgentConfig::parse(&AGENT.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(message.contains(said), "{said}: {message}");
        }
    }

    #[test]
    fn rules_say_what_is_known_of_which_flows() {
        let text = format!("{AGENT}[[slice]]\nweight = 2\n[[rule]]\ncgroup = \"/a/b\"\n[[rule]]\n");
        let parse = |rule: &str| AgentConfig::parse(&format!("{text}{rule}\n"));
        let config = parse("port = 80\nslice = 1\nsize = \"2KB\"\ndeadline = \"5ms\"").unwrap();
        assert_eq!(config.scenario.slices[0].weight, 2.0);
        let (size, deadline) = (Some(Bytes::new(2_000)), Some(Time::from_ms(5)));
        let port = FlowRule { cgroup: None, port: Some(80), slice: Some(1), size, deadline };
        assert_eq!(config.rules[1], port);
        assert_eq!(config.rules[0].cgroup.as_deref(), Some(Path::new("/a/b")));
        for (rule, said) in [
            ("slice = 1", "rule[1]: names no sockets: give cgroup, port or both"),
            ("port = 80", "rule[1]: says nothing of these flows: give slice or size"),
            ("port = 0\nslice = 1", "line 11: rule[1].port: is 0, but must be 1 to 65535"),
            ("port = 80\nslice = 2", "line 12: rule[1].slice: is 2, but there is 1 slice: 1, or 0"),
            ("port = 80\nsize = \"0B\"", "rule[1].size: is 0, but must be at least a byte"),
            ("port = 80\ndeadline = \"5ms\"", "rule[1].deadline: needs a size beside it"),
            ("port = 80\nsize = \"1KB\"\ndeadline = \"1ns\"", "rule[1].deadline: must be from 1us to 86400s"),
            ("cgroup = \"\"", "rule[1].cgroup: is empty"),
            ("prot = 80", "rule[1].prot: unknown field \"prot\"; did you mean \"port\"?"),
            ("port = 80\nslice = 1\n[rules]", "unknown section \"rules\"; did you mean \"rule\"?"),
        ] {
            let message = parse(rule).unwrap_err().to_string();
            assert!(message.contains(said), "{said}: {message}");
        }
        let none = AgentConfig::parse(&format!("{AGENT}[[rule]]\nport = 80\nslice = 1\n")).unwrap_err();
        assert!(none.to_string().contains("but the file has none: add [[slice]]"), "{none}");
    }

    proptest! {
        #[test]
        fn any_text_is_an_agent_or_a_mistake(at in 0..AGENT.len(), cut in 0usize..20, text in ".{0,12}") {
            let end = (at + cut).min(AGENT.len());
            if let Ok(config) = AgentConfig::parse(&format!("{}{text}{}", &AGENT[..at], &AGENT[end..])) {
                prop_assert!(config.flows >= 1);
            }
        }
    }

    #[test]
    fn the_guides_file_is_one() {
        let guide = include_str!("../../../../docs/guide/measure.md");
        let file = guide.split("```toml\n").nth(2).and_then(|rest| rest.split("```").next()).unwrap();
        let config = AgentConfig::parse(file).unwrap();
        assert_eq!((config.interface.as_str(), config.scenario.scheme.name.as_str()), ("eth0", "pias"));
    }

    #[test]
    fn the_interface_stays_and_the_scheme_may_change() {
        let before = AgentConfig::parse(AGENT).unwrap();
        let change = |from: &str, to: &str| {
            let config = AgentConfig::parse(&AGENT.replacen(from, to, 1)).unwrap();
            config.check_change(&before).map_err(|error| error.to_string())
        };
        assert_eq!(change("mlfq", "pias"), Ok(()));
        let message = change("eth1", "eth2").unwrap_err();
        assert!(message.contains("agent.interface: is \"eth2\", but stays \"eth1\""), "{message}");
        let message = change("[scheme]", "pins = \"/sys/fs/bpf\"\n[scheme]").unwrap_err();
        assert!(message.contains("agent.pins: is \"/sys/fs/bpf\", but stays not given"), "{message}");
        let message = change("[scheme]", "user = \"daemon\"\n[scheme]").unwrap_err();
        assert!(message.contains("agent.user: is \"daemon\", but stays \"nobody\""), "{message}");
    }
}
