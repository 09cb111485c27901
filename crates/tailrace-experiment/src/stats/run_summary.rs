//! A run in short.

use serde::{Deserialize, Serialize};
use tailrace_core::{Ending, FrameCounters, Lag, Ledger, Outcome, RealTime};

use crate::build::build_of;
use crate::stats::class_summary::ClassSummary;

/// What a run says in short. Unless it was in real time it holds nothing that depends on the machine, so equal
/// scenarios give equal bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The scheme's label.
    pub scheme: String,
    /// The version that made it.
    pub version: String,
    /// The build that made it: see [`BUILD`](crate::BUILD).
    pub build: String,
    /// Digest of the event stream.
    pub digest: String,
    /// Virtual time at the end, in seconds.
    pub virtual_seconds: f64,
    /// Why it ended: "finished", "horizon" or "stalled".
    pub ended: String,
    /// What the packets did; nothing at flow level.
    #[serde(flatten)]
    pub packet_level: Option<PacketLevel>,
    /// Updates of the scheme's controller that have reached a flow in progress, if it has a controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates: Option<u64>,
    /// How late a live run was, and what went by its fabric.
    #[serde(flatten)]
    pub live: Option<LiveSide>,
    /// Statistics by size class (and traffic class where there are several).
    pub classes: Vec<ClassSummary>,
}

/// How late a live run was, and what went by its fabric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveSide {
    /// How late packets left the fabric.
    pub lateness: Late,
    /// How late they had been let into it.
    pub entry_lateness: Late,
    /// How late flows started, with the kernel's TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_lateness: Option<Late>,
    /// What went by.
    pub strays: StrayCounts,
}

/// Frames that no port has seen, or no host understands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrayCounts {
    /// For no host of the fabric.
    pub unroutable: u64,
    /// Longer than links carry.
    pub too_long: u64,
    /// Questions for addresses.
    pub answered: u64,
    /// For a link that was down.
    pub link_down: u64,
    /// Came faster than they were taken in.
    pub lost: u64,
    /// Came to a host whose transport cannot make anything of them.
    pub strange: u64,
}

/// How late things of a live run were, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Late {
    /// How many there were.
    pub count: u64,
    /// Of half of them, at most.
    pub median: f64,
    /// Of 99 in a hundred, at most.
    pub p99: f64,
    /// Of the latest.
    pub worst: f64,
}

impl From<&Lag> for Late {
    fn from(lag: &Lag) -> Self {
        let late = lag.summary();
        let [median, p99, worst] = [late.median, late.p99, late.worst].map(|time| time.as_secs_f64());
        Late { count: late.count, median, p99, worst }
    }
}

impl From<&RealTime> for LiveSide {
    fn from(real: &RealTime) -> Self {
        let FrameCounters { unroutable, too_long, answered, link_down, lost, strange, .. } =
            real.frame_counters;
        LiveSide {
            lateness: (&real.left).into(),
            entry_lateness: (&real.entered).into(),
            start_lateness: (real.started.count() > 0).then(|| (&real.started).into()),
            strays: StrayCounts { unroutable, too_long, answered, link_down, lost, strange },
        }
    }
}

/// What a run's packets did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PacketLevel {
    /// Packets sent over a link.
    pub packet_hops: u64,
    /// Where every packet went, in packets.
    pub packets: PacketCounts,
    /// Share of all bytes sent over links that had the highest priority.
    pub urgent_share: f64,
}

/// The ledger in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketCounts {
    /// Sent by hosts.
    pub injected: u64,
    /// Arrived at hosts.
    pub delivered: u64,
    /// Dropped at full buffers.
    pub dropped_buffer: u64,
    /// Evicted for more urgent packets.
    pub dropped_evicted: u64,
    /// Lost with a link that failed, or for want of a way.
    #[serde(default)]
    pub dropped_failure: u64,
    /// In queues at the end.
    pub queued: u64,
    /// On links at the end.
    pub in_flight: u64,
}

impl Summary {
    /// The summary of a run under the scheme that results call `scheme`.
    pub(crate) fn of(scheme: &str, outcome: &Outcome, ending: Ending, classes: Vec<ClassSummary>) -> Self {
        Summary {
            scheme: scheme.to_owned(),
            version: crate::VERSION.to_owned(),
            build: build_of(outcome.real_time.is_some()),
            digest: format!("{:016x}", outcome.digest),
            virtual_seconds: outcome.end.as_secs_f64(),
            ended: why(ending).to_owned(),
            packet_level: PacketLevel::of(outcome),
            updates: outcome.updates,
            live: outcome.real_time.as_ref().map(LiveSide::from),
            classes,
        }
    }

    /// Whether it was given up, since its flows got nothing any more.
    pub fn is_stalled(&self) -> bool {
        self.ended == STALLED
    }

    /// A metric of the whole run by its name; `None` if it has none of this name at its level.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let packets = self.packet_level?;
        match name {
            "urgent_share" => Some(packets.urgent_share),
            "packet_hops" => Some(packets.packet_hops as f64),
            _ => None,
        }
    }
}

/// What results call the reason for which a run ended.
fn why(ending: Ending) -> &'static str {
    match ending {
        Ending::Finished => "finished",
        Ending::Horizon => "horizon",
        Ending::Stalled => STALLED,
        Ending::Interrupted => "interrupted",
    }
}

/// Of a run whose flows got nothing any more.
const STALLED: &str = "stalled";

/// Names of metrics of whole runs, which have no size class.
pub const RUN_METRICS: [&str; 2] = ["urgent_share", "packet_hops"];

impl PacketLevel {
    fn of(outcome: &Outcome) -> Option<Self> {
        let (ledger, urgent_share) = outcome.ledger.zip(outcome.urgent_share())?;
        Some(PacketLevel { packet_hops: outcome.packet_hops(), packets: ledger.into(), urgent_share })
    }
}

impl From<Ledger> for PacketCounts {
    fn from(ledger: Ledger) -> Self {
        PacketCounts {
            injected: ledger.injected.packets,
            delivered: ledger.delivered.packets,
            dropped_buffer: ledger.dropped_buffer.packets,
            dropped_evicted: ledger.dropped_evicted.packets,
            dropped_failure: ledger.dropped_failure.packets,
            queued: ledger.queued.packets,
            in_flight: ledger.in_flight.packets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_packets_says_nothing_of_them() {
        let packets = Some(PacketLevel { packet_hops: 7, urgent_share: 0.5, ..PacketLevel::default() });
        let with = Summary { packet_level: packets, ..Summary::default() };
        let without = Summary::default();
        let live = Summary { live: Some(LiveSide::default()), ..with.clone() };
        for name in RUN_METRICS {
            assert!(with.metric(name).is_some() && without.metric(name).is_none(), "{name}");
        }
        for summary in [with, without, live] {
            let text = serde_json::to_string(&summary).unwrap();
            assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary, "{text}");
            assert_eq!(text.contains("packet_hops"), summary.packet_level.is_some());
        }
    }
}
