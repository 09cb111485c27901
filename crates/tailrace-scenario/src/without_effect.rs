//! Fields of a scenario that have no effect at its level.

use tailrace_config::table;
use tailrace_core::transport::TransportParams;
use tailrace_fabric::PortRules;

use crate::level::{Level, Stack};
use crate::scenario::Scenario;

/// Fields of `[transport]` that say how single packets fare.
const OF_PACKETS: [&str; 8] = [
    "initial_window",
    "max_window",
    "min_window",
    "min_rto",
    "rto",
    "loss_detection",
    "delayed_ack_timeout",
    "ecn_capable_acks",
];

/// Fields of `[transport]` that the kernel's TCP has its own ways in.
const OF_OUR_TRANSPORT: [&str; 7] = [
    "max_window",
    "min_window",
    "rto",
    "loss_detection",
    "delayed_ack_timeout",
    "ack_bytes",
    "ecn_capable_acks",
];

impl Scenario {
    /// Fields that differ from their defaults, but have no effect at the scenario's level.
    pub fn without_effect(&self) -> Vec<String> {
        match (self.level, self.live.stack) {
            (Level::Flow, _) => {
                let of_packets = self.changed_of_transport(&OF_PACKETS);
                self.changed_of_ports().into_iter().chain(of_packets).collect()
            }
            (Level::Live, Stack::Kernel) => self.changed_of_transport(&OF_OUR_TRANSPORT),
            _ => Vec::new(),
        }
    }

    fn changed_of_ports(&self) -> Vec<String> {
        let (rules, usual) = (self.fabric.port_rules, PortRules::default());
        let of_ports = [
            ("queue_unit", rules.queue_unit != usual.queue_unit),
            ("marking_at", rules.marking_at != usual.marking_at),
            ("cards_mark", rules.cards_mark != usual.cards_mark),
        ];
        of_ports.iter().filter(|(_, differs)| *differs).map(|(name, _)| format!("fabric.{name}")).collect()
    }

    fn changed_of_transport(&self, fields: &[&str]) -> Vec<String> {
        let (given, usual) = (table::write(&self.transport), table::write(&TransportParams::default()));
        let changed = fields.iter().filter(|&&name| given.get(name) != usual.get(name));
        changed.map(|name| format!("transport.{name}")).collect()
    }
}
