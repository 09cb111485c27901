//! The fields of `[fabric]` that all kinds have: memory, what ports do whatever the scheme, and load balancing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::ScenarioError;
use tailrace_core::{Bytes, MarkingAt, QueueLength, QueueUnit, Time};
use toml::Table;

use super::{Buffer, Failure, Failures, LoadBalancing, PortRules};

/// A port's memory where none is given: 240 packets of 1500 bytes (PIAS).
const DEFAULT_BUFFER: Bytes = Bytes::new(360_000);
/// A pause that ends a flowlet where none is given (LetFlow, for 10 Gbps).
const DEFAULT_FLOWLET_GAP: Time = Time::from_us(500);

/// A cell's bytes on the wire where none are given: what a host hands its network card at once (Presto).
const DEFAULT_FLOWCELL: Bytes = Bytes::new(65_536);

/// The names of these fields.
pub(super) const FIELDS: [&str; 11] = [
    "buffer",
    "shared_buffer",
    "queue_unit",
    "marking_at",
    "cards_mark",
    "load_balancing",
    "ecmp_seed",
    "flowlet_gap",
    "flowcell_size",
    "failure",
    "convergence",
];

/// The fields of `[fabric]` that all kinds have, as they are written.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Common {
    /// Memory of each port, shared by its queues: "360KB" or "240pkt", which is the same, unless `shared_buffer` is
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    buffer: Option<QueueLength>,
    /// Memory that the ports of a switch share.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_buffer: Option<SharedBuffer>,
    /// What buffers and marking thresholds count: bytes, or packets of any size, each as 1500 bytes.
    #[serde(default)]
    queue_unit: QueueUnit,
    /// When packets are marked.
    #[serde(default)]
    marking_at: MarkingAt,
    /// Whether the hosts' network cards mark as switches do.
    #[serde(default = "yes")]
    cards_mark: bool,
    /// How switches choose among equal-cost ports.
    #[serde(default)]
    load_balancing: Balancing,
    /// Seed of the hash that gives flows their paths under "ecmp"; 0 unless given. TOML's integers have a sign; it
    /// counts as a bit like all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    ecmp_seed: Option<i64>,
    /// The pause that ends a burst under "flowlet"; "500us" unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    flowlet_gap: Option<Time>,
    /// Bytes on the wire of a cell under "flowcell", which ends before the packet that would exceed them; 65536
    /// unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    flowcell_size: Option<Bytes>,
    /// Links and switches that fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failure: Vec<Failure>,
    /// From a failure, or its end, to new routes at all switches: "0s" is at once. With failures it must be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    convergence: Option<Time>,
}

/// What these fields say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) load_balancing: LoadBalancing,
    pub(super) ecmp_seed: u64,
    pub(super) buffer: Buffer,
    pub(super) port_rules: PortRules,
    pub(super) failures: Failures,
}

/// Memory that the ports of a switch share.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SharedBuffer {
    /// Memory of the whole switch.
    total: QueueLength,
    /// A port may hold at most this many times what is free (dynamic thresholds); in steps of 0.01.
    alpha: f64,
}

/// How switches choose among equal-cost ports.
#[derive(Clone, Copy, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Balancing {
    /// By a hash of the flow: all packets of a flow take one path.
    #[default]
    Ecmp,
    /// Each packet takes the next port in turn.
    Spray,
    /// Each packet takes a random port.
    SprayRandom,
    /// Each burst of a flow takes a random port.
    Flowlet,
    /// Each cell of a flow takes the next path in turn, and receivers put cells back in order.
    Flowcell,
}

fn yes() -> bool {
    true
}

impl Common {
    /// Takes these fields out of `[fabric]`.
    pub(super) fn take(fabric: &mut Table) -> Table {
        FIELDS.into_iter().filter_map(|field| fabric.remove_entry(field)).collect()
    }

    /// The fields that say this.
    pub(super) fn of(resolved: &Resolved) -> Self {
        let Resolved { load_balancing: balancing, ecmp_seed, buffer, port_rules: rules, failures } =
            resolved.clone();
        let (buffer, shared_buffer) = match buffer {
            Buffer::PerPort(bytes) => (Some(QueueLength::Bytes(bytes)), None),
            Buffer::Shared { total, alpha_percent } => {
                let (total, alpha) = (QueueLength::Bytes(total), f64::from(alpha_percent) / 100.0);
                (None, Some(SharedBuffer { total, alpha }))
            }
        };
        let PortRules { queue_unit, marking_at, cards_mark } = rules;
        let (mut flowlet_gap, mut flowcell_size) = (None, None);
        let load_balancing = match balancing {
            LoadBalancing::Ecmp => Balancing::Ecmp,
            LoadBalancing::SprayRoundRobin => Balancing::Spray,
            LoadBalancing::SprayRandom => Balancing::SprayRandom,
            LoadBalancing::Flowlet { gap } => {
                flowlet_gap = Some(gap);
                Balancing::Flowlet
            }
            LoadBalancing::Flowcell { size } => {
                flowcell_size = Some(size);
                Balancing::Flowcell
            }
        };
        Common {
            buffer,
            shared_buffer,
            queue_unit,
            marking_at,
            cards_mark,
            load_balancing,
            ecmp_seed: (balancing == LoadBalancing::Ecmp).then_some(ecmp_seed as i64),
            flowlet_gap,
            flowcell_size,
            convergence: (!failures.is_empty()).then_some(failures.convergence),
            failure: failures.list,
        }
    }

    /// What the fields say.
    pub(super) fn resolve(self) -> Result<Resolved, ScenarioError> {
        let load_balancing = self.balancing()?;
        let convergence = match self.convergence {
            None if !self.failure.is_empty() => {
                let message = "is missing: say how long routes take to follow a failure, \"0s\" if no time";
                return Err(ScenarioError::new("convergence", message));
            }
            // A sweep may have points without failures.
            Some(convergence) if !self.failure.is_empty() => convergence,
            _ => Time::ZERO,
        };
        let buffer = match (self.buffer, self.shared_buffer) {
            (Some(_), Some(_)) => {
                return Err(ScenarioError::new("shared_buffer", "give either buffer or shared_buffer"));
            }
            (own, None) => Buffer::PerPort(own.map_or(DEFAULT_BUFFER, QueueLength::bytes)),
            (None, Some(shared)) => {
                let alpha_percent = percent(shared.alpha)?;
                Buffer::Shared { total: shared.total.bytes(), alpha_percent }
            }
        };
        let Common { queue_unit, marking_at, cards_mark, .. } = self;
        let ecmp_seed = self.ecmp_seed.unwrap_or(0) as u64;
        let port_rules = PortRules { queue_unit, marking_at, cards_mark };
        let failures = Failures { list: self.failure, convergence };
        Ok(Resolved { load_balancing, ecmp_seed, buffer, port_rules, failures })
    }

    fn balancing(&self) -> Result<LoadBalancing, ScenarioError> {
        if self.ecmp_seed.is_some() && self.load_balancing != Balancing::Ecmp {
            return Err(ScenarioError::new("ecmp_seed", "needs load_balancing = \"ecmp\""));
        }
        if self.flowlet_gap.is_some() && self.load_balancing != Balancing::Flowlet {
            return Err(ScenarioError::new("flowlet_gap", "needs load_balancing = \"flowlet\""));
        }
        if self.flowcell_size.is_some() && self.load_balancing != Balancing::Flowcell {
            return Err(ScenarioError::new("flowcell_size", "needs load_balancing = \"flowcell\""));
        }
        if self.flowcell_size == Some(Bytes::ZERO) {
            return Err(ScenarioError::new("flowcell_size", "must be more than 0"));
        }
        Ok(match self.load_balancing {
            Balancing::Ecmp => LoadBalancing::Ecmp,
            Balancing::Spray => LoadBalancing::SprayRoundRobin,
            Balancing::SprayRandom => LoadBalancing::SprayRandom,
            Balancing::Flowlet => {
                LoadBalancing::Flowlet { gap: self.flowlet_gap.unwrap_or(DEFAULT_FLOWLET_GAP) }
            }
            Balancing::Flowcell => {
                LoadBalancing::Flowcell { size: self.flowcell_size.unwrap_or(DEFAULT_FLOWCELL) }
            }
        })
    }
}

fn percent(alpha: f64) -> Result<u32, ScenarioError> {
    let percent = (alpha * 100.0).round();
    if (1.0..=10_000.0).contains(&percent) && (percent / 100.0 - alpha).abs() < 1e-9 {
        Ok(percent as u32)
    } else {
        let message = format!("is {alpha}, but must be a multiple of 0.01 between 0.01 and 100");
        Err(ScenarioError::new("shared_buffer.alpha", message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_config::table;

    fn read(text: &str) -> Result<Resolved, String> {
        let common: Common = table::read(text.parse().unwrap()).map_err(|error| error.to_string())?;
        common.resolve().map_err(|error| error.to_string())
    }

    fn failing() -> Failures {
        let at = Time::from_ms(3);
        let link = Failure { link: Some("a->b".to_owned()), switch: None, at, until: Some(Time::from_ms(5)) };
        let switch = Failure { link: None, switch: Some("c".to_owned()), at, until: None };
        Failures { list: vec![link, switch], convergence: Time::from_us(70) }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let shared = Buffer::Shared { total: Bytes::new(4_000_000), alpha_percent: 12 };
        let balancings = [
            LoadBalancing::Ecmp,
            LoadBalancing::SprayRoundRobin,
            LoadBalancing::SprayRandom,
            LoadBalancing::Flowlet { gap: Time::from_us(50) },
            LoadBalancing::Flowcell { size: Bytes::new(30_000) },
        ];
        let other =
            PortRules { queue_unit: QueueUnit::Packets, marking_at: MarkingAt::Dequeue, cards_mark: false };
        for buffer in [Buffer::PerPort(Bytes::new(210_000)), shared] {
            for balancing in balancings {
                for rules in [PortRules::default(), other] {
                    let seed = if balancing == LoadBalancing::Ecmp { u64::MAX - 6 } else { 0 };
                    for failures in [Failures::default(), failing()] {
                        let all = Resolved {
                            load_balancing: balancing,
                            ecmp_seed: seed,
                            buffer,
                            port_rules: rules,
                            failures,
                        };
                        let text = toml::to_string(&Common::of(&all)).unwrap();
                        assert_eq!(read(&text), Ok(all));
                    }
                }
            }
        }
    }

    #[test]
    fn a_cell_holds_43_full_packets_unless_told_otherwise() {
        let balancing = read("load_balancing = \"flowcell\"").unwrap().load_balancing;
        assert_eq!(balancing, LoadBalancing::Flowcell { size: Bytes::new(65_536) });
        assert_eq!(balancing.packets_per_cell(1500), Some(43));
        let small = LoadBalancing::Flowcell { size: Bytes::new(1499) };
        assert_eq!(small.packets_per_cell(1500), Some(1), "a larger packet is a cell of its own");
        assert_eq!(LoadBalancing::Ecmp.packets_per_cell(1500), None);
    }

    #[test]
    fn buffers_are_written_in_bytes_or_packets_whatever_ports_count() {
        for unit in ["bytes", "packets"] {
            let buffer = |text: &str| read(&format!("queue_unit = \"{unit}\"\n{text}")).unwrap().buffer;
            assert_eq!(buffer("buffer = \"360pkt\""), Buffer::PerPort(Bytes::new(540_000)));
            assert_eq!(buffer("buffer = \"540KB\""), Buffer::PerPort(Bytes::new(540_000)));
            assert_eq!(
                buffer("shared_buffer = { total = \"10pkt\", alpha = 1 }"),
                Buffer::Shared { total: Bytes::new(15_000), alpha_percent: 100 }
            );
        }
    }

    #[test]
    fn wrong_rules_are_named_with_what_would_be_right() {
        let error = |text: &str| read(text).unwrap_err();
        assert!(error("queue_unit = \"packet\"").contains("did you mean \"packets\"?"));
        assert!(error("marking_at = \"dequeu\"").contains("did you mean \"dequeue\"?"));
        assert!(error("buffer = \"360\"").contains("cannot read \"360\" as a queue length"));
        assert!(error("cards_mark = \"no\"").starts_with("cards_mark: "));
    }

    #[test]
    fn contradictions_are_errors() {
        let error = |text: &str| read(text).unwrap_err();
        assert!(error("flowlet_gap = \"1us\"").contains("needs load_balancing"));
        let sprayed = "load_balancing = \"spray\"\necmp_seed = 3";
        assert!(error(sprayed).contains("ecmp_seed: needs load_balancing = \"ecmp\""));
        assert!(error("flowcell_size = \"64KiB\"").contains("needs load_balancing"));
        let both = "load_balancing = \"flowcell\"\nflowlet_gap = \"1us\"";
        assert!(error(both).contains("needs load_balancing = \"flowlet\""));
        let empty = "load_balancing = \"flowcell\"\nflowcell_size = \"0B\"";
        assert!(error(empty).contains("flowcell_size: must be more than 0"));
        assert!(error("buffer = \"1KB\"\nshared_buffer = { total = \"1MB\", alpha = 1 }").contains("either"));
        for alpha in ["0", "-1", "0.125", "nan", "inf", "1000"] {
            let text = format!("shared_buffer = {{ total = \"1MB\", alpha = {alpha} }}");
            assert!(error(&text).contains("multiple of 0.01"), "{alpha}");
        }
        assert_eq!(read("convergence = \"1ms\"\nfailure = []"), read(""));
        assert!(error("[[failure]]\nlink = \"a->b\"\nat = \"1ms\"").starts_with("convergence: is missing"));
        assert!(error("[[failure]]\nlnk = \"a->b\"\nat = \"1ms\"").contains("lnk"));
        assert!(error("load_balancing = \"spary\"").contains("did you mean \"spray\"?"));
    }
}
