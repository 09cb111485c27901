//! Baraat's switch: counts what flows hold by task, and tells each what its class leaves it.

use tailrace_core::{Bytes, FlowId, Packet, Time};
use tailrace_queues::{Router, VirtualCapacity};
use tailrace_transport::Message;

use super::classifier::{Classifier, Held};
use super::feedback::Feedback;
use super::header::{BaraatHeader, HOPS, Hop};
use super::scale::grains_in;

/// The router of one port.
#[derive(Clone, Debug)]
pub struct BaraatRouter {
    capacity: VirtualCapacity,
    classifier: Classifier,
}

impl BaraatRouter {
    /// A router whose classifier has counted nothing.
    pub fn new(capacity: VirtualCapacity, classifier: Classifier) -> Self {
        BaraatRouter { capacity, classifier }
    }

    /// The counters.
    pub fn classifier(&mut self) -> &mut Classifier {
        &mut self.classifier
    }

    /// Algorithm 1.
    fn request(&mut self, now: Time, flow: FlowId, header: &mut BaraatHeader, backlog: Bytes) {
        let capacity = grains_in(self.capacity.at(now, backlog));
        let Some(held) = header.held() else {
            // No room in the header: the flow is not counted here, but gets no more than is left.
            let left = capacity.saturating_sub(self.classifier.total(now).allocated);
            let last = &mut header.hops[HOPS - 1];
            last.actual = last.actual.min(header.scale.at_most(left));
            return;
        };
        let index = usize::from(header.index);
        let place = self.classifier.release(now, (header.task, flow), header.hops[index].counted, held);
        let found = self.classifier.standing(place, capacity);
        let told = Feedback::of(header.demanded(), capacity, &found);
        let (nominal, actual) = (header.scale.at_most(told.nominal), header.scale.at_most(told.actual));
        let holds = Held::flow(header.demanded(), header.scale.grains(actual));
        header.hops[index] = Hop { nominal, actual, counted: self.classifier.count(place, holds) };
        header.index += 1;
    }

    fn end(&mut self, now: Time, flow: FlowId, header: &mut BaraatHeader) {
        if let Some(held) = header.held() {
            let counted = header.hops[usize::from(header.index)].counted;
            self.classifier.end(now, (header.task, flow), counted, held);
            header.index += 1;
        }
    }
}

impl BaraatHeader {
    /// What the next port has counted of the flow, unless the header has no room for that port.
    fn held(&self) -> Option<Held> {
        let hop = self.hops.get(usize::from(self.index))?;
        let before = |byte| self.scale_before.grains(byte);
        Some(Held::flow(before(self.demand_before), before(hop.actual)))
    }
}

impl Router<BaraatHeader> for BaraatRouter {
    #[inline]
    fn on_arrival(&mut self, now: Time, packet: &mut Packet<BaraatHeader>, backlog: Bytes) {
        self.capacity.arrive(packet.bytes);
        match packet.header.message {
            Message::Request => self.request(now, packet.flow, &mut packet.header, backlog),
            Message::End => self.end(now, packet.flow, &mut packet.header),
            _ => {}
        }
    }
}
