//! The fields of `[fabric]` that all kinds have: memory and load balancing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::ScenarioError;
use tailrace_core::{Bytes, Time};
use toml::Table;

use super::{Buffer, LoadBalancing};

/// A port's memory where none is given: 240 packets of 1500 bytes (PIAS).
const DEFAULT_BUFFER: Bytes = Bytes::new(360_000);
/// A pause that ends a flowlet where none is given (LetFlow, for 10 Gbps).
const DEFAULT_FLOWLET_GAP: Time = Time::from_us(500);

/// A cell's bytes on the wire where none are given: what a host hands its network card at once (Presto).
const DEFAULT_FLOWCELL: Bytes = Bytes::new(65_536);

/// The fields of `[fabric]` that all kinds have, as they are written.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Common {
    /// Memory of each port, shared by its queues; "360KB" (240 packets) unless `shared_buffer` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    buffer: Option<Bytes>,
    /// Memory that the ports of a switch share.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_buffer: Option<SharedBuffer>,
    /// How switches choose among equal-cost ports.
    #[serde(default)]
    load_balancing: Balancing,
    /// The pause that ends a burst under "flowlet"; "500us" unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    flowlet_gap: Option<Time>,
    /// Bytes on the wire of a cell under "flowcell", which ends before the packet that would exceed them; 65536
    /// unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    flowcell_size: Option<Bytes>,
}

/// Memory that the ports of a switch share.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SharedBuffer {
    /// Bytes of the whole switch.
    total: Bytes,
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

impl Common {
    /// Takes these fields out of `[fabric]`.
    pub(super) fn take(fabric: &mut Table) -> Table {
        ["buffer", "shared_buffer", "load_balancing", "flowlet_gap", "flowcell_size"]
            .into_iter()
            .filter_map(|field| fabric.remove_entry(field))
            .collect()
    }

    /// The fields that say this.
    pub(super) fn of(load_balancing: LoadBalancing, buffer: Buffer) -> Self {
        let (buffer, shared_buffer) = match buffer {
            Buffer::PerPort(bytes) => (Some(bytes), None),
            Buffer::Shared { total, alpha_percent } => {
                (None, Some(SharedBuffer { total, alpha: f64::from(alpha_percent) / 100.0 }))
            }
        };
        let (mut flowlet_gap, mut flowcell_size) = (None, None);
        let load_balancing = match load_balancing {
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
        Common { buffer, shared_buffer, load_balancing, flowlet_gap, flowcell_size }
    }

    /// What the fields say.
    pub(super) fn resolve(self) -> Result<(LoadBalancing, Buffer), ScenarioError> {
        let load_balancing = self.balancing()?;
        let buffer = match (self.buffer, self.shared_buffer) {
            (Some(_), Some(_)) => {
                return Err(ScenarioError::new("shared_buffer", "give either buffer or shared_buffer"));
            }
            (own, None) => Buffer::PerPort(own.unwrap_or(DEFAULT_BUFFER)),
            (None, Some(shared)) => {
                let alpha_percent = percent(shared.alpha)?;
                Buffer::Shared { total: shared.total, alpha_percent }
            }
        };
        Ok((load_balancing, buffer))
    }

    fn balancing(&self) -> Result<LoadBalancing, ScenarioError> {
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

    fn read(text: &str) -> Result<(LoadBalancing, Buffer), String> {
        let common: Common = table::read(text.parse().unwrap()).map_err(|error| error.to_string())?;
        common.resolve().map_err(|error| error.to_string())
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
        for buffer in [Buffer::PerPort(Bytes::new(210_000)), shared] {
            for balancing in balancings {
                let text = toml::to_string(&Common::of(balancing, buffer)).unwrap();
                assert_eq!(read(&text), Ok((balancing, buffer)));
            }
        }
    }

    #[test]
    fn a_cell_holds_43_full_packets_unless_told_otherwise() {
        let (balancing, _) = read("load_balancing = \"flowcell\"").unwrap();
        assert_eq!(balancing, LoadBalancing::Flowcell { size: Bytes::new(65_536) });
        assert_eq!(balancing.packets_per_cell(1500), Some(43));
        let small = LoadBalancing::Flowcell { size: Bytes::new(1499) };
        assert_eq!(small.packets_per_cell(1500), Some(1), "a larger packet is a cell of its own");
        assert_eq!(LoadBalancing::Ecmp.packets_per_cell(1500), None);
    }

    #[test]
    fn contradictions_are_errors() {
        let error = |text: &str| read(text).unwrap_err();
        assert!(error("flowlet_gap = \"1us\"").contains("needs load_balancing"));
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
        assert!(error("load_balancing = \"spary\"").contains("did you mean \"spray\"?"));
    }
}
