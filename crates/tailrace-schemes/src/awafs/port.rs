//! AWAFS in a port: the packet says how much its flow has sent, the port picks the queue.

use tailrace_core::{Bytes, FlowId, HEADER_BYTES, Header, Packet, SeriesSink, Time};
use tailrace_queues::Router;

use super::counter::Counter;
use super::{Estimator, Shim};

/// Completed flows remembered so that a last packet sent twice counts once.
const REMEMBERED: usize = 16;

/// A port's own thresholds.
pub struct AwafsRouter {
    estimator: Option<Estimator>,
    /// Where what packets say does not count.
    counter: Option<Counter>,
    deduplicate: bool,
    /// The flows that completed last, as a ring.
    recent: [FlowId; REMEMBERED],
    oldest: usize,
}

impl AwafsRouter {
    pub(super) fn new(estimator: Option<Estimator>, counter: Option<Counter>, deduplicate: bool) -> Self {
        AwafsRouter { estimator, counter, deduplicate, recent: [FlowId::MAX; REMEMBERED], oldest: 0 }
    }

    /// Sets the packet's priority here, whatever it was: by its shim, or by what was counted. The notice of a flow's
    /// end counts on arrival, even if the packet is then dropped; ports behind a drop never hear of it
    /// (§4.2.2.2).
    #[inline]
    fn classify(&mut self, now: Time, packet: &mut Packet<Shim>) {
        let Some(estimator) = self.estimator.as_ref().filter(|_| !packet.is_ack()) else { return };
        let before = match &mut self.counter {
            Some(counter) => counter.count(now, packet.flow, payload(packet)),
            None => packet.header.before,
        };
        packet.priority = estimator.table().priority(before);
        if packet.header.last && self.counter.is_none() {
            self.complete(now, packet);
        }
    }

    fn complete(&mut self, now: Time, packet: &Packet<Shim>) {
        if self.deduplicate && self.recent.contains(&packet.flow) {
            return;
        }
        self.recent[self.oldest] = packet.flow;
        self.oldest = (self.oldest + 1) % REMEMBERED;
        if let Some(estimator) = &mut self.estimator {
            estimator.record(now, Bytes::new(packet.header.before + payload(packet)));
        }
    }
}

fn payload(packet: &Packet<Shim>) -> u64 {
    u64::from(packet.bytes.saturating_sub(HEADER_BYTES + packet.header.wire_bytes()))
}

impl Router<Shim> for AwafsRouter {
    #[inline]
    fn on_arrival(&mut self, now: Time, packet: &mut Packet<Shim>, _: Bytes) {
        self.classify(now, packet);
    }
    fn next_wake(&self) -> Option<Time> {
        self.estimator.as_ref().map(Estimator::next_adjustment)
    }
    fn on_wake(&mut self, now: Time, series: &mut dyn SeriesSink) {
        if let Some(estimator) = &mut self.estimator {
            if let Some(counter) = &mut self.counter {
                counter.sweep(now, |size| estimator.record(now, size));
            }
            estimator.adjust(now, series);
        }
    }
}
