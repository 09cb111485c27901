//! How a run goes and what it leaves behind: one vocabulary for every level that runs scenarios.

use crate::{
    Count, FlowId, FlowRecord, HostId, Ledger, MAX_PRIORITIES, RealTime, SeriesRow, SeriesSink, SliceId,
    TaskRecord, Time,
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
pub enum Place {
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
    pub rows: Vec<(Place, SeriesRow)>,
}

impl Series {
    /// A sink that stamps `place` on what it is given, or forgets it if the place is not `watched`.
    pub fn at(&mut self, place: Place, watched: bool) -> PlacedSink<'_> {
        PlacedSink { series: self, place, watched }
    }
}

/// Takes the rows of one place.
pub struct PlacedSink<'a> {
    series: &'a mut Series,
    place: Place,
    watched: bool,
}

impl SeriesSink for PlacedSink<'_> {
    fn push(&mut self, row: SeriesRow) {
        if self.watched {
            self.series.rows.push((self.place, row));
        }
    }
}

/// Records of all flows that have started, by number. They grow by chunks, so that they never take twice what
/// they need.
#[derive(Clone, Debug, Default)]
pub struct FlowRecords {
    chunks: Vec<Vec<FlowRecord>>,
}

impl FlowRecords {
    const CHUNK: usize = 1 << 12;

    /// How many there are.
    pub fn len(&self) -> usize {
        let full = self.chunks.len().saturating_sub(1) * Self::CHUNK;
        full + self.chunks.last().map_or(0, Vec::len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Adds the record of the next flow.
    pub fn push(&mut self, record: FlowRecord) {
        match self.chunks.last_mut().filter(|chunk| chunk.len() < Self::CHUNK) {
            Some(chunk) => chunk.push(record),
            None => {
                let mut chunk = Vec::with_capacity(Self::CHUNK);
                chunk.push(record);
                self.chunks.push(chunk);
            }
        }
    }

    /// A flow's record.
    #[inline]
    pub fn of(&self, flow: FlowId) -> &FlowRecord {
        &self.chunks[flow as usize / Self::CHUNK][flow as usize % Self::CHUNK]
    }

    /// A flow's record, to be changed.
    #[inline]
    pub fn of_mut(&mut self, flow: FlowId) -> &mut FlowRecord {
        &mut self.chunks[flow as usize / Self::CHUNK][flow as usize % Self::CHUNK]
    }

    /// All in order of number.
    pub fn iter(&self) -> impl Iterator<Item = &FlowRecord> + Clone {
        self.chunks.iter().flatten()
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
        for flow in 0..self.flows.len() as FlowId {
            let record = self.flows.of_mut(flow);
            record.stopped &= record.end == Time::MAX;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Reveals};

    #[test]
    fn records_are_found_by_number_beyond_a_chunk() {
        let mut records = FlowRecords::default();
        assert!(records.is_empty());
        let count = FlowRecords::CHUNK as u32 * 2 + 3;
        for id in 0..count {
            assert_eq!(records.len(), id as usize);
            records.push(record(id));
        }
        assert!((0..count).all(|id| records.of(id).id == id));
        assert!(records.iter().map(|record| record.id).eq(0..count));
        records.of_mut(5_000).timeouts = 7;
        assert_eq!(records.of(5_000).timeouts, 7);
        assert_eq!(records.len(), count as usize);
    }

    fn record(id: u32) -> FlowRecord {
        FlowRecord {
            size: Bytes::new(1),
            start: Time::ZERO,
            end: Time::MAX,
            deadline: Time::MAX,
            id,
            task: 0,
            retransmitted: 0,
            src: 0,
            dst: 1,
            timeouts: 0,
            slice: 0,
            stopped: false,
            class: 0,
            reveals: Reveals::Size,
        }
    }
}
