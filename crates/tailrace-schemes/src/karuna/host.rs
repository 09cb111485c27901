//! Tagging: deadlines first, known sizes split, unknown sizes sieved (Karuna §3); ageing against starvation.

use tailrace_core::{
    Bytes, Directive, FlowInfo, FlowView, HostPolicy, Refresh, SeriesRow, SeriesSink, TagTable, Time,
};

use super::measured::Measured;
use crate::mlfq::sunk;

/// The queue below that of flows with deadlines.
const FIRST: u8 = 1;

/// A host's tags. They follow from what a flow reveals, and from thresholds.
#[derive(Clone, Debug)]
pub struct KarunaHost {
    /// β: a flow of size s is in the queue of the first threshold that s does not exceed.
    splitting: Vec<Bytes>,
    /// α as a table, below the queue of deadlines.
    sieve: TagTable,
    ageing_timeouts: u32,
    /// What thresholds are recomputed from, if they are.
    measured: Option<Measured>,
}

impl KarunaHost {
    /// Ascending thresholds, two fewer than queues.
    pub(super) fn new(splitting: Vec<Bytes>, sieving: &[Bytes], ageing_timeouts: u32) -> Self {
        KarunaHost { splitting, sieve: sieve(sieving), ageing_timeouts, measured: None }
    }

    /// A host whose thresholds follow from the flows that it has completed, if there is something to measure them with.
    pub(super) fn measuring(self, measured: Option<Measured>) -> Self {
        KarunaHost { measured, ..self }
    }

    /// Which packets are for a queue, in words.
    pub(super) fn holds(&self, queue: usize) -> String {
        let Some(level) = queue.checked_sub(usize::from(FIRST)) else {
            return "flows with deadlines, and their acknowledgements".into();
        };
        let from = level.checked_sub(1).map_or(Bytes::ZERO, |before| self.splitting[before]);
        let known = match self.splitting.get(level) {
            Some(to) if *to == from => "none".into(),
            Some(to) => format!("more than {from}, at most {to}"),
            None => format!("more than {from}"),
        };
        let acknowledgements = if level == 0 { "acknowledgements; " } else { "" };
        format!("{acknowledgements}known sizes: {known}; unknown sizes: {}", sunk(&self.sieve, queue))
    }
}

/// Sieving thresholds as a table.
fn sieve(thresholds: &[Bytes]) -> TagTable {
    let mut limits = vec![Bytes::ZERO];
    // bytes_before ≤ α stays.
    limits.extend(thresholds.iter().map(|&alpha| alpha + Bytes::new(1)));
    TagTable::with_limits(&limits)
}

impl HostPolicy for KarunaHost {
    fn directive(&self, flow: &FlowInfo) -> Directive {
        match (flow.deadline, flow.size) {
            (Some(_), Some(_)) => Directive::tagged(TagTable::FLAT),
            (None, Some(size)) => {
                let level = self.splitting.partition_point(|&beta| beta < size);
                Directive { acks: FIRST, ..Directive::tagged(TagTable::flat(FIRST + level as u8)) }
            }
            (_, None) => Directive { acks: FIRST, ..Directive::tagged(self.sieve) },
        }
    }

    /// Ageing (§7): after some consecutive timeouts a flow of known size rises by a queue, one of unknown size
    /// starts again at the first.
    fn on_timeout(
        &self,
        flow: &FlowInfo,
        view: &FlowView,
        consecutive: u32,
        current: &Directive,
    ) -> Option<Directive> {
        let priority = current.tags.priority(view.acked.get());
        let due = self.ageing_timeouts > 0 && consecutive.is_multiple_of(self.ageing_timeouts);
        if !due || priority <= FIRST {
            return None;
        }
        let tags = match flow.size {
            Some(_) => TagTable::flat(priority - 1),
            None => self.sieve.restarted(view.acked),
        };
        Some(Directive { tags, ..*current })
    }

    fn on_flow_end(&mut self, _: Time, flow: &FlowInfo, size: Bytes) {
        if let Some(measured) = &mut self.measured {
            measured.record(flow, size);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.measured.as_ref().map(Measured::next)
    }

    fn on_wake(&mut self, now: Time, series: &mut dyn SeriesSink) -> Refresh {
        let levels = self.splitting.len() as u8 + 1;
        let found = self.measured.as_mut().and_then(|measured| measured.thresholds(now, levels));
        let Some((splitting, sieving)) = found else { return Refresh::None };
        for (metric, thresholds) in [("splitting_bytes", &splitting), ("sieving_bytes", &sieving)] {
            for (index, threshold) in thresholds.iter().enumerate() {
                series.push(SeriesRow { at: now, metric, index: index as u16, value: threshold.as_f64() });
            }
        }
        (self.splitting, self.sieve) = (splitting, sieve(&sieving));
        Refresh::All
    }
}
