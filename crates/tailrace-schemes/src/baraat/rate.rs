//! What the feedback tends to: the same mappings, at flow level.

use tailrace_core::{Bytes, Prospect, Rank, RateRule};

use super::Order;

/// Flows in the order of their classes.
pub struct Ordered {
    pub(super) order: Order,
    pub(super) heavy: Bytes,
}

impl RateRule for Ordered {
    fn rank(&self, prospect: &Prospect<'_>) -> Rank {
        match self.order {
            Order::FifoLm | Order::Fifo => Rank::of_task(prospect.flow),
            Order::Fair => Rank::SAME,
            Order::Flow => Rank(0, prospect.flow.id.into()),
        }
    }

    fn heavy(&self) -> Option<Bytes> {
        (self.order == Order::FifoLm).then_some(self.heavy)
    }
}
