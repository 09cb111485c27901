//! Thresholds that follow from the flows that a host has completed: appendix A's optimum, recomputed periodically.

use tailrace_core::{Bytes, FlowInfo, SizeDistribution, Time};

use super::model::{Kind, Mix};
use super::thresholds::{Objective, optimum};
use crate::awafs::Sketch;

/// A period's flows count half in the next one: what was is forgotten in a few periods, and a period of few flows does not
/// upset what many have told.
const KEPT: f64 = 0.5;
/// The model knows no load above 1, which an estimate may be.
const MAX_LOAD: f64 = 0.95;

/// Sizes of the flows that a host has completed, by type.
#[derive(Clone, Debug)]
pub struct Measured {
    period: Time,
    objective: Objective,
    /// Payload that the host's link can carry.
    bytes_per_sec: f64,
    next: Time,
    deadline: Sketch,
    known: Sketch,
    unknown: Sketch,
}

impl Measured {
    /// Nothing has completed.
    pub(super) fn new(period: Time, objective: Objective, bytes_per_sec: f64) -> Self {
        let [deadline, known, unknown] = std::array::from_fn(|_| Sketch::new());
        Measured { period, objective, bytes_per_sec, next: period, deadline, known, unknown }
    }

    pub(super) fn record(&mut self, flow: &FlowInfo, size: Bytes) {
        let kind = match (flow.deadline, flow.size) {
            (Some(_), Some(_)) => &mut self.deadline,
            (None, Some(_)) => &mut self.known,
            (_, None) => &mut self.unknown,
        };
        kind.add(size);
    }

    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// A period has passed: splitting and sieving thresholds for so many levels; `None` if no flow without deadline
    /// has completed.
    pub(super) fn thresholds(&mut self, now: Time, levels: u8) -> Option<(Vec<Bytes>, Vec<Bytes>)> {
        self.next = now + self.period;
        let sketches = [&mut self.deadline, &mut self.known, &mut self.unknown];
        let found = sketches.map(|sketch| {
            sketch.pass(self.period.as_secs_f64());
            let found = sketch.measured(self.bytes_per_sec);
            sketch.fade(KEPT);
            found
        });
        let load = |of: &Option<(SizeDistribution, f64)>| of.as_ref().map_or(0.0, |(_, load)| *load);
        let total: f64 = found.iter().map(load).sum();
        let fit = (MAX_LOAD / total).min(1.0);
        let kind = |of| -> Option<Kind<'_>> {
            let (sizes, load): &(SizeDistribution, f64) = Option::as_ref(of)?;
            Some(Kind { sizes, load: load * fit })
        };
        let [deadline, known, unknown] = &found;
        let mix = Mix { deadline: load(deadline) * fit, known: kind(known), unknown: kind(unknown) };
        optimum(&mix, levels, self.objective).ok()
    }
}

#[cfg(test)]
mod tests {
    use tailrace_core::random::Stream;

    use super::super::model::Model;
    use super::*;
    use crate::pias::tests::web_search;

    const PERIOD: Time = Time::from_ms(1000);
    const FLOW: FlowInfo =
        FlowInfo { id: 0, src: 0, dst: 1, size: None, start: Time::ZERO, deadline: None, slice: 0, task: 0 };

    /// Web search for a link of 1 GB/s at this load completes in a period, and is told to the host as `flow` says.
    fn complete(measured: &mut Measured, load: f64, flow: impl Fn(Bytes) -> FlowInfo) {
        let mut stream = Stream::new(measured.next().as_ps(), "measured", 0);
        let mut left = load * 1e9 * PERIOD.as_secs_f64();
        while left > 0.0 {
            let size = web_search().quantile(stream.unit()).ceil();
            measured.record(&flow(Bytes::new(size as u64)), Bytes::new(size as u64));
            left -= size;
        }
    }

    fn known(size: Bytes) -> FlowInfo {
        FlowInfo { size: Some(size), ..FLOW }
    }

    fn due(size: Bytes) -> FlowInfo {
        FlowInfo { size: Some(size), deadline: Some(Time::from_ms(9)), ..FLOW }
    }

    fn floats(list: &[Bytes]) -> Vec<f64> {
        list.iter().map(|bytes| bytes.as_f64()).collect()
    }

    /// How much longer flows take by the model under what was measured of a mix than under its optimum.
    fn excess(measured: &mut Measured, [deadline, revealed, hidden]: [f64; 3], periods: u64) -> f64 {
        let mut found = None;
        for _ in 0..periods {
            complete(measured, deadline, due);
            complete(measured, revealed, known);
            complete(measured, hidden, |_| FLOW);
            found = measured.thresholds(measured.next(), 4);
        }
        let (splitting, sieving) = found.unwrap();
        let sizes = web_search();
        let kind = |load| Some(Kind { sizes: &sizes, load });
        let mix = Mix { deadline, known: kind(revealed), unknown: kind(hidden) };
        let model = Model::new(&mix).unwrap();
        model.mean(&floats(&splitting), &floats(&sieving)) / model.optimal(4).mean
    }

    #[test]
    fn what_was_measured_is_nearly_as_good_as_what_is_known() {
        for loads in [[0.2, 0.2, 0.2], [0.1, 0.1, 0.5]] {
            let mut measured = Measured::new(PERIOD, Objective::Joint, 1e9);
            let excess = excess(&mut measured, loads, 20);
            assert!((0.99..1.1).contains(&excess), "{loads:?}: {excess}");
        }
    }

    #[test]
    fn traffic_of_before_is_forgotten() {
        let mut measured = Measured::new(PERIOD, Objective::Joint, 1e9);
        let first = excess(&mut measured, [0.05, 0.05, 0.6], 10);
        let after = excess(&mut measured, [0.05, 0.6, 0.05], 10);
        assert!(first < 1.1 && after < 1.1, "{first} {after}");
    }

    #[test]
    fn without_flows_to_sort_thresholds_stand() {
        let mut measured = Measured::new(PERIOD, Objective::Joint, 1e9);
        assert_eq!((measured.thresholds(PERIOD, 7), measured.next()), (None, PERIOD * 2));
        complete(&mut measured, 0.3, due);
        assert_eq!(measured.thresholds(PERIOD * 2, 7), None, "only deadlines");
    }

    /// More than the link carries was measured: flows that started before the period have ended in it.
    #[test]
    fn an_estimate_above_one_is_taken_for_a_full_link() {
        let mut measured = Measured::new(PERIOD, Objective::Each, 1e9);
        complete(&mut measured, 1.5, known);
        complete(&mut measured, 1.5, |_| FLOW);
        let (splitting, sieving) = measured.thresholds(PERIOD, 7).unwrap();
        assert_eq!((splitting.len(), sieving.len()), (6, 6));
        assert!(splitting.is_sorted() && sieving.is_sorted());
    }
}
