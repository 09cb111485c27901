//! The file of a switch between real interfaces: its ports, and of a scenario what a switch has.

use std::path::Path;

use serde::Deserialize;
use tailrace_config::{ScenarioError, read_parsed, suggest, table};
use tailrace_core::transport::TransportParams;
use tailrace_core::{HEADER_BYTES, Rate, Time};
use tailrace_fabric::{Fabric, FabricParams, check_link};
use tailrace_workload::Workload;
use toml::{Table, Value};

use tailrace_scenario::{FlowLevel, Level, LiveLevel, MAX_MSS, Measure, Scenario, check_buffer};

const SECTIONS: [&str; 3] = ["switch", "port", "scheme"];
/// Fields of `[switch]` that are those of `[fabric]`.
const OF_FABRICS: [&str; 4] = ["buffer", "shared_buffer", "queue_unit", "marking_at"];
/// Its other fields.
const OWN: [&str; 2] = ["learning", "user"];

/// A switch between real interfaces.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig {
    /// The ports; each stands for the host of its number.
    pub ports: Vec<SwitchPort>,
    /// Whether it learns which addresses are behind which port.
    pub learning: bool,
    /// The user as whom it runs.
    pub user: String,
    /// A star of as many hosts, at the rate of the fastest port, without flows; and the scheme.
    pub scenario: Scenario,
}

/// A port of a switch.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchPort {
    /// The interface.
    pub interface: String,
    /// How fast the port sends.
    pub rate: Rate,
    /// How long what was sent takes.
    #[serde(default)]
    pub delay: Time,
    /// Ethernet addresses that are behind it, whatever is learned.
    #[serde(default)]
    pub macs: Vec<MacAddress>,
}

/// The Ethernet address of somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct MacAddress(pub [u8; 6]);

impl TryFrom<String> for MacAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let byte = |part: &&str| (part.len() == 2).then(|| u8::from_str_radix(part, 16).ok()).flatten();
        let bytes: Option<Vec<u8>> = parts.iter().map(byte).collect();
        match bytes.and_then(|bytes| <[u8; 6]>::try_from(bytes).ok()) {
            Some(mac) if mac[0] & 1 == 0 => Ok(MacAddress(mac)),
            Some(_) => Err(format!("is \"{text}\", an address of a group, but must be that of an interface")),
            None => {
                Err(format!("is \"{text}\", but must be an Ethernet address such as \"02:00:00:00:00:01\""))
            }
        }
    }
}

/// The fields of `[switch]` that fabrics do not have.
#[derive(Deserialize)]
#[serde(default)]
struct Own {
    learning: bool,
    user: String,
}

impl Default for Own {
    fn default() -> Self {
        Own { learning: true, user: "nobody".to_owned() }
    }
}

impl SwitchConfig {
    /// Reads a file. Errors say file, line and field.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        read_parsed(path, |text, _| Self::parse(text))
    }

    /// Reads a file's text. Errors say the line.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let table = text.parse().map_err(|error| ScenarioError::syntax(&error, text))?;
        Self::from_table(table).map_err(|error| error.locate(text))
    }

    fn from_table(mut table: Table) -> Result<Self, ScenarioError> {
        if let Some(name) = table.keys().find(|name| !SECTIONS.contains(&name.as_str())) {
            return Err(ScenarioError::new(name, suggest::unknown("section", name, SECTIONS)));
        }
        let ports = ports(table.remove("port"))?;
        let own = table::take(&mut table, "switch")?;
        let (Own { learning, user }, fabric) = switch(own, &ports).map_err(|error| error.within("switch"))?;
        let scheme = table::take(&mut table, "scheme")
            .and_then(|fields| table::read(fields).map_err(|error| error.within("scheme")))?;
        let scenario = Scenario {
            fabric,
            transport: TransportParams::default(),
            workload: Workload::default(),
            slices: Vec::new(),
            scheme,
            measure: Measure::default(),
            level: Level::Live,
            flow: FlowLevel::default(),
            live: LiveLevel::default(),
            seed: 1,
            base: Default::default(),
        };
        Ok(SwitchConfig { ports, learning, user, scenario })
    }

    /// The same for interfaces that carry IP packets of up to `mtu` bytes.
    pub fn with_mtu(mut self, mtu: usize) -> Result<Self, ScenarioError> {
        let mss = u16::try_from(mtu).ok().and_then(|mtu| mtu.checked_sub(HEADER_BYTES));
        let Some(mss) = mss.filter(|mss| (1..=MAX_MSS).contains(mss)) else {
            let most = MAX_MSS + HEADER_BYTES;
            let message =
                format!("has an MTU of {mtu}, but must carry packets of {} to {most}", HEADER_BYTES + 1);
            return Err(ScenarioError::new("port[0].interface", message));
        };
        self.scenario.transport.mss = mss;
        check_buffer(&self.scenario.fabric, &self.scenario.transport)
            .map_err(|error| error.within("switch"))?;
        Ok(self)
    }

    /// The switch as a fabric: each port has its own rate and delay.
    pub fn fabric(&self) -> Fabric {
        let mut fabric = Fabric::clone(&self.scenario.fabric.build());
        for (port, &number) in self.ports.iter().zip(&fabric.port_to) {
            let spec = &mut fabric.ports[number as usize];
            (spec.rate, spec.delay) = (port.rate, port.delay);
        }
        fabric
    }

    /// Whether a switch that runs as `before` says may go on as this says: rates, memory, and the scheme's parameters may
    /// differ, nothing else.
    pub fn check_change(&self, before: &Self) -> Result<(), ScenarioError> {
        let stays = |field: String, now: String, then: String| match now == then {
            true => Ok(()),
            false => {
                let message = format!("is {now}, but stays {then} as long as the switch runs");
                Err(ScenarioError::new(field, message))
            }
        };
        let text = |text: &str| format!("\"{text}\"");
        stays("port".into(), counted(self), counted(before))?;
        for (number, (now, then)) in self.ports.iter().zip(&before.ports).enumerate() {
            let field = |name: &str| format!("port[{number}].{name}");
            stays(field("interface"), text(&now.interface), text(&then.interface))?;
            stays(field("delay"), text(&now.delay.to_string()), text(&then.delay.to_string()))?;
            stays(field("macs"), listed(&now.macs), listed(&then.macs))?;
        }
        stays("switch.learning".into(), self.learning.to_string(), before.learning.to_string())?;
        stays("switch.user".into(), text(&self.user), text(&before.user))?;
        let (now, then) = (&self.scenario.scheme, &before.scenario.scheme);
        stays("scheme.name".into(), text(&now.name), text(&then.name))
    }
}

fn counted(config: &SwitchConfig) -> String {
    format!("a list of {}", config.ports.len())
}

fn listed(macs: &[MacAddress]) -> String {
    let text = |mac: &MacAddress| format!("\"{}\"", mac.0.map(|byte| format!("{byte:02x}")).join(":"));
    format!("[{}]", macs.iter().map(text).collect::<Vec<_>>().join(", "))
}

fn ports(value: Option<Value>) -> Result<Vec<SwitchPort>, ScenarioError> {
    let items = match value {
        None => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(ScenarioError::new("port", "must be a list: write [[port]] for each")),
    };
    if items.len() < 2 {
        let message = format!(
            "there are {}, but a switch has two ports at least: write [[port]] for each",
            items.len()
        );
        return Err(ScenarioError::new("port", message));
    }
    if items.len() > usize::from(u16::MAX) {
        return Err(ScenarioError::new(
            "port",
            format!("there are {}, but must be at most {}", items.len(), u16::MAX),
        ));
    }
    let mut ports = Vec::new();
    for (number, item) in items.into_iter().enumerate() {
        let read = || {
            let Value::Table(fields) = item else { return Err(ScenarioError::new("", "must be a table")) };
            let port: SwitchPort = table::read(fields)?;
            check_link(port.rate, port.delay)?;
            check_beside(&port, &ports)?;
            Ok(port)
        };
        let port = read().map_err(|error: ScenarioError| error.within(&format!("port[{number}]")))?;
        ports.push(port);
    }
    Ok(ports)
}

/// An interface is one port, and an address behind one.
fn check_beside(port: &SwitchPort, others: &[SwitchPort]) -> Result<(), ScenarioError> {
    let (name, taken) = (&port.interface, others.iter().position(|other| other.interface == port.interface));
    if let Some(number) = taken {
        let message = format!("is \"{name}\", which is port {number} already; an interface is one port");
        return Err(ScenarioError::new("interface", message));
    }
    for (place, mac) in port.macs.iter().enumerate() {
        if let Some(other) = others.iter().find(|other| other.macs.contains(mac)) {
            let message = format!("is behind {} already; an address is behind one port", other.interface);
            return Err(ScenarioError::new(format!("macs[{place}]"), message));
        }
    }
    Ok(())
}

/// Reads `[switch]`. Field names in errors are relative to it.
fn switch(mut fields: Table, ports: &[SwitchPort]) -> Result<(Own, FabricParams), ScenarioError> {
    let known = || OF_FABRICS.into_iter().chain(OWN);
    if let Some(field) = fields.keys().find(|field| known().all(|known| known != *field)) {
        return Err(ScenarioError::new(field, suggest::unknown("field", field, known())));
    }
    let own = OWN.into_iter().filter_map(|field| fields.remove_entry(field)).collect();
    let own: Own = table::read(own)?;
    let fastest = ports.iter().map(|port| port.rate).max().unwrap_or(Rate::from_gbps(1));
    let star = [
        ("kind", Value::from("star")),
        ("hosts", Value::from(ports.len() as i64)),
        ("host_rate", Value::from(fastest.to_string())),
        ("delay", Value::from(Time::ZERO.to_string())),
    ];
    fields.extend(star.map(|(field, value)| (field.to_owned(), value)));
    Ok((own, FabricParams::from_table(&fields)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use tailrace_core::Bytes;
    use tailrace_fabric::Buffer;

    const SWITCH: &str = r#"
[switch]
buffer = "200KB"
[[port]]
interface = "eth1"
rate = "1Gbps"
[[port]]
interface = "eth2"
rate = "100Mbps"
delay = "10us"
macs = ["02:00:00:00:00:0a"]
[scheme]
name = "mlfq"
"#;

    fn error(from: &str, to: &str) -> String {
        assert!(SWITCH.contains(from), "{from}");
        SwitchConfig::parse(&SWITCH.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn ports_have_rates_of_their_own() {
        let config = SwitchConfig::parse(SWITCH).unwrap().with_mtu(9000).unwrap();
        let fabric = config.fabric();
        let rates: Vec<u64> = fabric.ports.iter().map(|port| port.rate.as_bps() / 1_000_000).collect();
        assert_eq!(rates, [1000, 1000, 1000, 100]);
        assert_eq!(fabric.ports[3].delay, Time::from_us(10));
        assert_eq!(fabric.buffer, Buffer::PerPort(Bytes::new(200_000)));
        assert_eq!((config.learning, config.user.as_str()), (true, "nobody"));
        assert_eq!(config.ports[1].macs, [MacAddress([2, 0, 0, 0, 0, 10])]);
        assert_eq!(config.scenario.transport.mss, 8960);
    }

    #[test]
    fn mistakes_name_line_and_field_and_what_would_be_right() {
        for (from, to, said) in [
            ("buffer", "bufer", "line 3: switch.bufer: unknown field \"bufer\"; did you mean \"buffer\"?"),
            ("buffer = \"200KB\"", "hosts = 3", "switch.hosts: unknown field \"hosts\"; known are buffer,"),
            ("[switch]", "[swich]", "unknown section \"swich\"; did you mean \"switch\"?"),
            ("1Gbps", "1", "line 6: port[0].rate: "),
            ("1Gbps", "1Kbps", "line 6: port[0].rate: is 1Kbps, but must lie between"),
            ("rate = \"1Gbps\"", "", "port[0]: missing field `rate`"),
            ("eth2", "eth1", "line 8: port[1].interface: is \"eth1\", which is port 0 already"),
            ("02:00", "01:00", "port[1].macs[0]: is \"01:00:00:00:00:0a\", an address of a group"),
            ("02:00", "2:00", "but must be an Ethernet address such as"),
            ("delay", "dealy", "unknown field \"dealy\"; did you mean \"delay\"?"),
            ("[scheme]\nname = \"mlfq\"", "", "scheme: missing field `name`"),
            (
                "buffer = \"200KB\"",
                "learning = 1",
                "switch.learning: is integer `1`, but must be true or false",
            ),
        ] {
            let message = error(from, to);
            assert!(message.contains(said), "{said}: {message}");
        }
        let one =
            SwitchConfig::parse("[[port]]\ninterface = \"a\"\nrate = \"1Gbps\"").unwrap_err().to_string();
        assert!(one.contains("there are 1, but a switch has two ports at least"), "{one}");
        let config = SwitchConfig::parse(&SWITCH.replace("200KB", "1KB")).unwrap();
        let small = config.with_mtu(1500).unwrap_err().to_string();
        assert!(small.contains("switch.buffer: is 1KB, but must hold at least one packet"), "{small}");
    }

    #[test]
    fn the_guides_file_is_one() {
        let guide = include_str!("../../../docs/guide/switch.md");
        let file = guide.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let config = SwitchConfig::parse(file).unwrap().with_mtu(1500).unwrap();
        assert_eq!((config.ports.len(), config.scenario.scheme.name.as_str()), (3, "dctcp"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_switch_or_a_mistake(at in 0..SWITCH.len(), cut in 0usize..20, text in ".{0,12}", mtu in any::<u32>()) {
            let end = (at + cut).min(SWITCH.len());
            let changed = format!("{}{text}{}", &SWITCH[..at], &SWITCH[end..]);
            if let Ok(config) = SwitchConfig::parse(&changed).and_then(|config| config.with_mtu(mtu as usize)) {
                prop_assert_eq!(config.fabric().hosts, config.ports.len());
            }
        }
    }

    #[test]
    fn rates_memory_and_parameters_may_change_and_nothing_else() {
        let before = SwitchConfig::parse(SWITCH).unwrap();
        let change = |from: &str, to: &str| {
            let config = SwitchConfig::parse(&SWITCH.replacen(from, to, 1)).unwrap();
            config.check_change(&before).map_err(|error| error.to_string())
        };
        assert_eq!(change("1Gbps", "2Gbps"), Ok(()));
        assert_eq!(change("200KB", "300KB"), Ok(()));
        assert_eq!(change("name = \"mlfq\"", "name = \"mlfq\"\nparams = { port = { queues = 8 } }"), Ok(()));
        for (from, to, said) in [
            ("mlfq", "dctcp", "scheme.name: is \"dctcp\", but stays \"mlfq\" as long as the switch runs"),
            ("eth1", "eth0", "port[0].interface: is \"eth0\", but stays \"eth1\""),
            ("10us", "20us", "port[1].delay: is \"20us\", but stays \"10us\""),
            ("00:0a", "00:0b", "port[1].macs: is [\"02:00:00:00:00:0b\"], but stays [\"02:00:00:00:00:0a\"]"),
            ("buffer", "user = \"daemon\"\nbuffer", "switch.user: is \"daemon\", but stays \"nobody\""),
        ] {
            let message = change(from, to).unwrap_err();
            assert!(message.contains(said), "{said}: {message}");
        }
    }
}
