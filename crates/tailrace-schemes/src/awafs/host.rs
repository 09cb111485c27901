//! AWAFS at the end hosts: each host follows the sizes of the flows it has completed itself.

use tailrace_core::{Bytes, Directive, FlowInfo, HostId, HostPolicy, Refresh, SeriesSink, TagTable, Time};

use super::Estimator;

/// A host that tags by its own thresholds, or not at all where the ports do the work.
pub struct AwafsHost {
    estimator: Option<Estimator>,
    liars: Vec<HostId>,
}

impl AwafsHost {
    pub(super) fn new(estimator: Option<Estimator>, liars: Vec<HostId>) -> Self {
        AwafsHost { estimator, liars }
    }
}

impl HostPolicy for AwafsHost {
    fn directive(&self, flow: &FlowInfo) -> Directive {
        let honest = self.estimator.as_ref().filter(|_| !self.liars.contains(&flow.src));
        Directive::tagged(honest.map_or(TagTable::FLAT, |e| *e.table()))
    }

    fn on_flow_end(&mut self, now: Time, _: &FlowInfo, size: Bytes) {
        if let Some(estimator) = &mut self.estimator {
            estimator.record(now, size);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.estimator.as_ref().map(Estimator::next_adjustment)
    }

    fn on_wake(&mut self, now: Time, series: &mut dyn SeriesSink) -> Refresh {
        match &mut self.estimator {
            Some(estimator) => {
                estimator.adjust(now, series);
                Refresh::All
            }
            None => Refresh::None,
        }
    }
}
