//! Long-format series: what policies report and what the sampler reads, with the place it came from.

use tailrace_core::{FlowId, HostId, SeriesRow, SeriesSink, SliceId};
use tailrace_fabric::PortId;

/// Where a series row came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// The series of a run.
#[derive(Default)]
pub struct Series {
    /// Rows with their places, in order of time.
    pub rows: Vec<(Place, SeriesRow)>,
}

impl Series {
    /// A sink that stamps `place` on what it is given, or forgets it if the place is not `watched`.
    pub(crate) fn at(&mut self, place: Place, watched: bool) -> PlacedSink<'_> {
        PlacedSink { series: self, place, watched }
    }
}

pub(crate) struct PlacedSink<'a> {
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
