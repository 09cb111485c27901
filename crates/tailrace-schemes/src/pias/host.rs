//! Tagging by one table; ageing against starvation; and hosts that lie.

use tailrace_core::{Directive, FlowInfo, FlowView, HostId, HostPolicy, TagTable};

/// A host of PIAS. All are alike, but for those that lie.
#[derive(Clone, Debug)]
pub struct PiasHost {
    pub(super) tags: TagTable,
    pub(super) ageing_timeouts: u32,
    pub(super) liars: Vec<HostId>,
}

impl HostPolicy for PiasHost {
    fn directive(&self, flow: &FlowInfo) -> Directive {
        Directive::tagged(if self.liars.contains(&flow.src) { TagTable::FLAT } else { self.tags })
    }

    /// Ageing: after some timeouts in a row what a flow has sent no longer counts, and it starts again in the first
    /// queue.
    fn on_timeout(
        &self,
        _: &FlowInfo,
        view: &FlowView,
        consecutive: u32,
        current: &Directive,
    ) -> Option<Directive> {
        let due = self.ageing_timeouts > 0 && consecutive.is_multiple_of(self.ageing_timeouts);
        // A liar's flow is there already, and so is one that has just been restarted.
        let sunk = current.tags.priority(view.acked.get()) > 0;
        (due && sunk).then(|| Directive { tags: self.tags.restarted(view.acked), ..*current })
    }
}
