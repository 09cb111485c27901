//! How a run goes and what it leaves behind: one vocabulary for every level that runs scenarios.

use crate::{
    Count, FlowId, FlowRecord, FlowRecords, HostId, Ledger, MAX_PRIORITIES, RealTime, SeriesRow, SeriesSink,
    SliceId, TaskRecord, Time,
};

/// A port's number within its fabric. Port `h < hosts` is the network card of host `h`.
pub type PortId = u32;

/// How far a run is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Virtual time.
    pub now: Time,
    /// Flows that have started.
    pub started: usize,
    /// Flows that have finished.
    pub finished: usize,
    /// Packets sent over a link; 0 where there are none.
    pub packet_hops: u64,
}

/// A port, seen at one time.
#[derive(Clone, Copy, Debug, Default)]
pub struct PortView {
    /// What it has done since the start.
    pub counts: PortCounts,
    /// Bytes that wait in each of its queues.
    pub queues: [u64; MAX_PRIORITIES],
}

/// A run that goes on, for who follows it. To look changes nothing of what comes of it.
pub trait Running {
    /// How far it is.
    fn progress(&self) -> Progress;
    /// Each port, in order of number; none where there are no packets.
    fn ports(&mut self) -> Vec<PortView>;
    /// Where every packet is, if there are packets.
    fn ledger(&self) -> Option<Ledger>;
}

/// Of which nothing else is known.
impl Running for Progress {
    fn progress(&self) -> Progress {
        *self
    }
    fn ports(&mut self) -> Vec<PortView> {
        Vec::new()
    }
    fn ledger(&self) -> Option<Ledger> {
        None
    }
}

impl Progress {
    /// Flows that have started and not finished.
    pub fn active(&self) -> usize {
        self.started - self.finished
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All flows have finished.
    Finished,
    /// The horizon was reached with flows in progress.
    Horizon,
    /// Flows are in progress that have got nothing for longer than any flow has to wait, or that nothing is left to happen to.
    Stalled,
    /// The caller asked for it.
    Interrupted,
}

/// What one port has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Sent over its link. Where there are no packets, only bytes are counted.
    pub sent: Count,
    /// Of these, bytes in the highest priority.
    pub urgent_bytes: u64,
    /// Dropped at the port.
    pub dropped: Count,
    /// Packets marked "congestion experienced" by it.
    pub marked: u64,
}

/// Where a series row came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeriesSource {
    /// A port of the fabric.
    Port(PortId),
    /// A host.
    Host(HostId),
    /// A flow.
    Flow(FlowId),
    /// A slice.
    Slice(SliceId),
    /// All slices together.
    Slices,
}

/// Long-format series: what policies report and what is sampled.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Rows with their places, in order of time and place once a run is over.
    pub rows: Vec<(SeriesSource, SeriesRow)>,
}

impl Series {
    /// A sink that stamps `place` on what it is given, or forgets it if the place is not `watched`.
    pub fn at(&mut self, place: SeriesSource, watched: bool) -> PlacedSink<'_> {
        PlacedSink { series: self, place, watched }
    }
}

/// Takes the rows of one place.
pub struct PlacedSink<'a> {
    series: &'a mut Series,
    place: SeriesSource,
    watched: bool,
}

impl SeriesSink for PlacedSink<'_> {
    fn push(&mut self, row: SeriesRow) {
        if self.watched {
            self.series.rows.push((self.place, row));
        }
    }
}

/// What a run leaves behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Virtual time at the end.
    pub end: Time,
    /// Digest of the event stream.
    pub digest: u64,
    /// Events.
    pub events: u64,
    /// One record per flow that started.
    pub flows: FlowRecords,
    /// One record per task that arrived, in order of arrival.
    pub tasks: Vec<TaskRecord>,
    /// What each port did, in order of number.
    pub ports: Vec<PortCounts>,
    /// Sampled and reported series.
    pub series: Series,
    /// Updates of the scheme's controller that have reached a flow in progress; `None` without a controller.
    pub updates: Option<u64>,
    /// Where every packet went; `None` where there are none.
    pub ledger: Option<Ledger>,
    /// How late it was, and more, if it was in real time.
    pub real_time: Option<RealTime>,
}

impl Outcome {
    /// The same in an order that does not depend on which of two parts of a run was first within an instant, and without
    /// flows that were given up after their last bytes had arrived.
    #[must_use]
    pub fn settled(mut self) -> Self {
        self.series.rows.sort_by_key(|(place, row)| (row.at, *place));
        let settled =
            |flow: FlowRecord| FlowRecord { stopped: flow.stopped && flow.end == Time::MAX, ..flow };
        self.flows = self.flows.iter().map(settled).collect();
        self
    }

    /// Packets sent over a link.
    pub fn packet_hops(&self) -> u64 {
        self.ports.iter().map(|port| port.sent.packets).sum()
    }

    /// Share of all bytes sent over links that had the highest priority; `None` where there are no packets.
    pub fn urgent_share(&self) -> Option<f64> {
        self.ledger?;
        let urgent: u64 = self.ports.iter().map(|port| port.urgent_bytes).sum();
        let all: u64 = self.ports.iter().map(|port| port.sent.bytes).sum();
        Some(urgent as f64 / (all as f64).max(1.0))
    }
}
