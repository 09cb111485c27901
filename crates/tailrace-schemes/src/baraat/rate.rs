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

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_core::{FlowInfo, Time};

    /// The ranks of flows of tasks 2, 1, 1 and none, in order of start.
    fn ranks(order: Order) -> [Rank; 4] {
        let rule = Ordered { order, heavy: Bytes::ZERO };
        let tasks = [2, 1, 1, 0];
        std::array::from_fn(|id| {
            let (start, task) = (Time::from_us(id as u64), tasks[id]);
            let flow =
                FlowInfo { id: id as u32, src: 0, dst: 1, size: None, start, deadline: None, slice: 0, task };
            rule.rank(&Prospect { flow: &flow, sent: Bytes::ZERO, task_size: None, left: None })
        })
    }

    #[test]
    fn orders_are_those_of_the_ports() {
        for order in [Order::Fifo, Order::FifoLm] {
            let [second, first, also_first, alone] = ranks(order);
            assert!(first == also_first && first < second && second < alone);
        }
        assert_eq!(ranks(Order::Fair), [Rank::SAME; 4]);
        assert!(ranks(Order::Flow).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn only_limited_multiplexing_knows_heavy_tasks() {
        let heavy = |order| Ordered { order, heavy: Bytes::new(7) }.heavy();
        assert_eq!(heavy(Order::FifoLm), Some(Bytes::new(7)));
        assert_eq!([Order::Fifo, Order::Fair, Order::Flow].map(heavy), [None; 3]);
    }
}
