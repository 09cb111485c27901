//! What an agent is doing, for those who ask.

use std::net::{IpAddr, SocketAddr};

use serde_json::{Value, json};
use tailrace_bpf::{Connection, FlowRow, Traffic, WindowRow};
use tailrace_core::{Directive, Directives, MAX_PRIORITIES, Time, dscp_of};

use super::types::{Done, DoneToPackets, FleetStatus};

/// All that is told of an agent.
pub struct Status {
    pub interface: String,
    pub scheme: String,
    /// As whom it runs.
    pub user: String,
    /// For how long.
    pub seconds: f64,
    /// What flows are directed to do, by what is known of them, and whether something can be known.
    pub directives: Directives,
    pub has_rules: bool,
    /// Tables that it has handed to the kernel after the first one.
    pub tables: u64,
    /// How often its file was read again, and how often that failed.
    pub reloads: u64,
    pub failed_reloads: u64,
    pub done: Done,
    /// What flows take of the kernel's memory, however many there are.
    pub memory_bytes: u64,
    /// Flows to which a controller of the fabric's own has given weights, if it has one.
    pub weights: Option<usize>,
    /// How it stands in its fleet, if it is in one.
    pub fleet: Option<FleetStatus>,
    /// What it has heard of connections, and how often the kernel had no room to tell.
    pub traffic: Traffic,
    pub lost: u64,
}

/// Of these sizes it is told how many flows are smaller.
pub const QUANTILES: [(&str, f64); 3] = [("0.5", 0.5), ("0.99", 0.99), ("1", 1.0)];

impl Status {
    /// Takes down what connections were heard of by `now`, how often the kernel had no room to tell, and what was done.
    pub fn note(&mut self, heard: &[Connection], done: Done, lost: u64, now: Time) {
        heard.iter().for_each(|connection| self.traffic.add(connection));
        (self.done, self.lost, self.seconds) = (done, lost, now.as_secs_f64());
    }

    /// The directive of flows of which nothing is known.
    fn unknown(&self) -> &Directive {
        self.directives.get(0, None, false)
    }

    /// The queues that flows use of which nothing is known: from and below how many bytes of their flow packets are in each.
    pub fn queues(&self) -> impl Iterator<Item = (usize, u64, u64)> {
        let range = |priority| (priority, self.unknown().tags.range(priority));
        (0..MAX_PRIORITIES)
            .map(range)
            .filter(|(_, (from, to))| from < to)
            .map(|(q, (from, to))| (q, from, to))
    }

    pub fn json(&self) -> Value {
        let queue = |(priority, from, to): (usize, u64, u64)| {
            let to = (to < u64::MAX).then_some(to);
            json!({ "queue": priority + 1, "dscp": dscp_of(priority), "from_bytes": from, "to_below_bytes": to })
        };
        let size = |(name, u): (&str, f64)| (name.to_owned(), json!(self.traffic.sizes.quantile(u)));
        let mut json = json!({
            "interface": self.interface,
            "scheme": self.scheme,
            "process": std::process::id(),
            "user": self.user,
            "seconds": self.seconds,
            "memory_bytes": self.memory_bytes,
            "programs_told": self.done.announced()[0],
            "programs_refused": self.done.announced()[1],
            "tables_changed": self.tables,
            "files_read_again": self.reloads,
            "files_with_mistakes": self.failed_reloads,
            "connections": {
                "ended": self.traffic.whole,
                "bytes_sent": self.traffic.sent,
                "bytes_received": self.traffic.received,
                "lost": self.lost,
                "flow_size_bytes": QUANTILES.into_iter().map(size).collect::<serde_json::Map<_, _>>(),
            },
        });
        let own = match &self.done.packets {
            DoneToPackets::Tags(counts) => json!({
                "packets_tagged": counts.tagged,
                "packets_left_as_they_came": counts.untouched,
                "flows": counts.flows,
                "packets_without_room": counts.crowded,
                "queues": self.queues().map(queue).collect::<Vec<_>>(),
                "acknowledgements_queue": self.unknown().acks + 1,
            }),
            DoneToPackets::Windows(kept) => json!({
                "connections_with_windows": kept.flows,
                "acknowledgements_with_smaller_windows": kept.shown,
                "bytes_marked": kept.marks,
            }),
            DoneToPackets::Nothing => json!({}),
        };
        if let Some(law) = &self.done.law {
            json["congestion_control"] = json!(law.name);
            json["connections_with_it"] = json!(law.connections);
        }
        if let Some(weights) = self.weights {
            json["flows_with_weights"] = json!(weights);
        }
        if let Some(fleet) = &self.fleet {
            json["fleet"] = fleet.json();
        }
        if let (Value::Object(all), Value::Object(mut own)) = (&mut json, own) {
            all.append(&mut own);
        }
        json
    }

    /// What a flow is to do, by the place of that among all.
    fn directive(&self, place: usize) -> &Directive {
        let place = if self.has_rules { place } else { 0 };
        self.directives.all().get(place).unwrap_or(self.unknown())
    }

    /// A flow with a window, and its weight.
    pub fn window(&self, row: &WindowRow) -> Value {
        json!({
            "source": end(row.source),
            "destination": end(row.destination),
            "bytes_acknowledged_modulo_2_32": row.acknowledged,
            "window_bytes": row.window,
            "weight": row.given.unwrap_or_else(|| self.directive(row.directive).weight.get()),
            "weight_is_given": row.given.is_some(),
        })
    }

    /// A flow, with the queue in which its next packet will be.
    pub fn flow(&self, row: &FlowRow) -> Value {
        let queue = usize::from(self.directive(row.directive).tags.priority(row.sent));
        json!({
            "source": end(row.source),
            "destination": end(row.destination),
            "bytes_sent": row.sent,
            "queue": queue + 1,
            "dscp": dscp_of(queue),
        })
    }
}

fn end((address, port): (IpAddr, u16)) -> String {
    SocketAddr::new(address, port).to_string()
}
