//! What a port counts of flows.

use tailrace_queues::Tally;

use super::scale::Grains;

/// What a port has counted of a flow, or of the flows of a task or of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Flows.
    pub flows: u32,
    /// Of these, flows that are allocated all that they demand.
    pub content: u32,
    /// What they demand.
    pub demand: Grains,
    /// What those demand that are allocated it.
    pub content_demand: Grains,
    /// What they are allocated: AR.
    pub allocated: Grains,
}

impl Held {
    /// What one flow holds.
    #[inline]
    pub fn flow(demand: Grains, allocated: Grains) -> Self {
        let content = allocated == demand;
        let content_demand = if content { demand } else { 0 };
        Held { flows: 1, content: content.into(), demand, content_demand, allocated }
    }
}

impl Tally for Held {
    #[inline]
    fn add(&mut self, other: Held) {
        self.flows += other.flows;
        self.content += other.content;
        self.demand += other.demand;
        self.content_demand += other.content_demand;
        self.allocated += other.allocated;
    }
    #[inline]
    fn take(&mut self, other: Held) {
        self.flows = self.flows.saturating_sub(other.flows);
        self.content = self.content.saturating_sub(other.content);
        self.demand = self.demand.saturating_sub(other.demand);
        self.content_demand = self.content_demand.saturating_sub(other.content_demand);
        self.allocated = self.allocated.saturating_sub(other.allocated);
    }
}
