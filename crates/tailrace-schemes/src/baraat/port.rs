//! Baraat's switch: counts what flows hold by task, and tells each what its class leaves it.

use tailrace_core::{Bytes, FlowId, HEADER_BYTES, Header, MTU_BYTES, Packet, Time};
use tailrace_queues::{DrainedLink, Router};
use tailrace_transport::Message;

use super::classifier::Classifier;
use super::feedback::Feedback;
use super::header::{BaraatHeader, HOPS, Hop, Receipt};
use super::held::Held;
use super::scale::{Grains, Scale, bps_of, grains_in};
use super::unused::Unused;

const REQUEST_BITS: f64 = (HEADER_BYTES + BaraatHeader::WIRE_BYTES) as f64 * 8.0;
/// Requests of flows that wait may take this part of a link: a sixteenth.
const MAX_REQUESTS: f64 = 16.0;
/// A class that is left less than a packet in so many round trips waits, if that is less than this part of the link.
const ROUNDS_FOR_A_PACKET: f64 = 8.0;
const MIN_PART: Grains = 16;
/// Where a link carries hardly a packet in a round trip, so many may wait before it is granted no more than it carries.
const SHORTEST_HALF: u64 = 8 * MTU_BYTES as u64;

/// The router of one port.
#[derive(Clone, Debug)]
pub struct BaraatRouter {
    capacity: DrainedLink,
    classifier: Classifier,
    /// Unloaded.
    rtt: Time,
    unused: Unused,
    takes_part: bool,
}

impl BaraatRouter {
    /// A router whose classifier has counted nothing.
    pub fn new(capacity: DrainedLink, unused: Unused, classifier: Classifier, rtt: Time) -> Self {
        BaraatRouter { capacity, classifier, rtt, unused, takes_part: true }
    }

    /// The same router in a switch that knows Baraat, or in one that does not.
    pub fn taking_part(self, takes_part: bool) -> Self {
        BaraatRouter { takes_part, ..self }
    }

    /// The counters.
    pub fn classifier(&mut self) -> &mut Classifier {
        &mut self.classifier
    }

    /// Algorithm 1.
    fn request(&mut self, now: Time, flow: FlowId, header: &mut BaraatHeader, backlog: Bytes) {
        let link = grains_in(self.capacity.at(backlog));
        let most = header.scale.grains(header.requested.most);
        self.unused.look(now, link.saturating_sub(self.classifier.total(now).allocated));
        let ends_soon = header.index.ends_soon() || most < link;
        let capacity = link + if ends_soon { self.refill(link, backlog) } else { 0 };
        let Some(held) = header.held() else {
            // No room in the header: the flow is not counted here, but gets no more than is left.
            let left = capacity.saturating_sub(self.classifier.total(now).allocated);
            let last = &mut header.hops[HOPS - 1];
            last.actual = last.actual.min(header.scale.at_most(left));
            return;
        };
        let is_whole = header.is_held_back_here();
        let hop = &mut header.hops[header.index.ports()];
        let place = self.classifier.release(now, (header.task, flow), hop.receipt.epoch, held);
        let found = self.classifier.standing(place, capacity);
        let told = self.worth(capacity, Feedback::of(most, capacity, &found), found.above, most);
        hop.nominal = byte_of_share(header.scale, told.nominal);
        if told.actual == 0 {
            self.unused.waits();
        }
        hop.actual = match told.nominal {
            0 => Hop::waiting(self.rounds_to_wait(now, found.ahead, capacity)),
            _ => header.scale.at_most(told.actual),
        };
        hop.receipt = Receipt { most: is_whole, ..hop.receipt };
        hop.receipt.epoch = self.classifier.count(place, Held::at(header.scale, header.requested, hop));
        header.index.pass();
    }

    /// What may be granted beyond what the link carries to a flow that ends soon: less, the more waits already, and nothing from
    /// half of what the link carries in a round trip on.
    fn refill(&self, link: Grains, backlog: Bytes) -> Grains {
        let half = bps_of(link) as f64 / 16.0 * self.rtt.as_secs_f64();
        let half = half.max(SHORTEST_HALF as f64);
        (self.unused.rate() as f64 * (1.0 - backlog.as_f64() / half).max(0.0)) as Grains
    }

    /// When a flow is to ask again that has to wait for others which demand `ahead`. They take that part of the link for a
    /// round trip at least, and there is nothing to be had before; nor need anybody wait longer than lets all ask whom
    /// the port knows, when a sixteenth of the link is for requests.
    fn rounds_to_wait(&mut self, now: Time, ahead: Grains, capacity: Grains) -> f64 {
        let capacity = bps_of(capacity.max(1)) as f64;
        let turn = bps_of(ahead) as f64 / capacity;
        let flows = f64::from(self.classifier.total(now).flows);
        let requests = flows * REQUEST_BITS * MAX_REQUESTS / (capacity * self.rtt.as_secs_f64());
        // Nobody is ahead where the queue leaves nothing to grant: it must not grow by requests.
        if ahead == 0 { requests } else { turn.min(requests) }
    }

    /// What of this is worth to be told. Flows that are told parts of a trickle ask seldom, as those allow, and meanwhile keep
    /// from others what they could use. They had better wait, so that they hear soon of more.
    fn worth(&self, capacity: Grains, told: Feedback, above: Grains, most: Grains) -> Feedback {
        let left = capacity.saturating_sub(above);
        let bits = bps_of(left) as f64 * self.rtt.as_secs_f64() * ROUNDS_FOR_A_PACKET;
        let is_trickle = bits < f64::from(MTU_BYTES) * 8.0 && left * MIN_PART < capacity;
        if told.nominal < most && is_trickle { Feedback { nominal: 0, actual: 0 } } else { told }
    }

    fn end(&mut self, now: Time, flow: FlowId, header: &mut BaraatHeader) {
        if let Some(held) = header.held() {
            let counted = header.hops[header.index.ports()].receipt.epoch;
            self.classifier.end(now, (header.task, flow), counted, held);
            header.index.pass();
        }
    }
}

/// NR as it is told: rounded down, but a share that is less than a unit is a unit, for a flow that is told nothing
/// would never ask in the scale of its share.
fn byte_of_share(scale: Scale, nominal: Grains) -> u8 {
    scale.at_most(nominal).max(u8::from(nominal > 0))
}

impl Router<BaraatHeader> for BaraatRouter {
    #[inline]
    fn on_arrival(&mut self, now: Time, packet: &mut Packet<BaraatHeader>, backlog: Bytes) {
        match packet.header.message {
            Message::Request if self.takes_part => {
                self.request(now, packet.flow, &mut packet.header, backlog);
            }
            Message::End if self.takes_part => self.end(now, packet.flow, &mut packet.header),
            _ => {}
        }
    }
}
