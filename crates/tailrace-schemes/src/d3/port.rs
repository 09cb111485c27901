//! D3's router: rates are reserved greedily in the order of requests, the rest is shared (D3 §4.2).

use tailrace_core::{Bytes, Packet, Time};
use tailrace_queues::{Router, SoftState, Tally};
use tailrace_transport::{Message, WireRate};

use super::VirtualCapacity;
use super::header::{D3Header, HOPS};

/// What a port has counted of its flows, or of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Flows: N.
    pub flows: u32,
    /// Allocated rates in bit/s: A.
    pub allocated: u64,
    /// Desired rates in bit/s: D.
    pub desired: u64,
}

impl Tally for Held {
    fn add(&mut self, other: Held) {
        self.flows += other.flows;
        self.allocated += other.allocated;
        self.desired += other.desired;
    }
    fn take(&mut self, other: Held) {
        self.flows = self.flows.saturating_sub(other.flows);
        self.allocated = self.allocated.saturating_sub(other.allocated);
        self.desired = self.desired.saturating_sub(other.desired);
    }
}

/// The router of one port.
#[derive(Clone, Debug)]
pub struct D3Router {
    capacity: VirtualCapacity,
    state: SoftState<Held>,
}

impl D3Router {
    /// A router that has counted nothing; `refresh` is its epoch.
    pub fn new(capacity: VirtualCapacity, refresh: Time) -> Self {
        D3Router { capacity, state: SoftState::new(refresh) }
    }

    /// What is counted at `now`.
    pub fn held(&mut self, now: Time) -> Held {
        self.state.advance(now);
        self.state.total()
    }

    /// Takes back what the flow was allocated last.
    fn release(&mut self, now: Time, header: &D3Header) {
        let hop = usize::from(header.hop);
        let held =
            Held { flows: 1, allocated: header.allocated[hop].bps(), desired: header.desired_before.bps() };
        self.state.advance(now);
        self.state.release(header.counted[hop], held);
    }

    /// D3 §4.2, algorithm 1, but never more than is left, so that allocations never add up to more than the
    /// link.
    fn allocate(&mut self, now: Time, header: &mut D3Header, backlog: Bytes) {
        let capacity = self.capacity.at(now, backlog);
        let hop = usize::from(header.hop);
        if hop == HOPS {
            // No room in the header: the flow is not counted here, but gets no more than is left.
            let left = capacity.saturating_sub(self.held(now).allocated);
            header.allocated[HOPS - 1] = header.allocated[HOPS - 1].min(WireRate::at_most(left));
            return;
        }
        self.release(now, header);
        let (others, desired) = (self.state.total(), header.desired.bps());
        let left = capacity.saturating_sub(others.allocated);
        let spare = capacity.saturating_sub(others.desired + desired);
        let fair_share = spare / u64::from(others.flows + 1);
        let rate = WireRate::at_most((desired + fair_share).min(left));
        header.allocated[hop] = rate;
        header.counted[hop] = self.state.count(Held { flows: 1, allocated: rate.bps(), desired });
        header.hop += 1;
    }
}

impl Router<D3Header> for D3Router {
    #[inline]
    fn on_arrival(&mut self, now: Time, packet: &mut Packet<D3Header>, backlog: Bytes) {
        self.capacity.arrive(packet.bytes);
        let header = &mut packet.header;
        match header.message {
            Message::Request => self.allocate(now, header, backlog),
            Message::End if usize::from(header.hop) < HOPS => {
                self.release(now, header);
                header.hop += 1;
            }
            _ => {}
        }
    }
}
