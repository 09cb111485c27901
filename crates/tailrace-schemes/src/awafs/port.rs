//! AWAFS in a port: the packet says how much its flow has sent, the port picks the queue.

use tailrace_core::{Bytes, FlowId, HEADER_BYTES, Header, Packet, SeriesSink, Time};
use tailrace_queues::Router;

use super::{Estimator, Shim};

/// Completed flows remembered so that a last packet sent twice counts once.
const REMEMBERED: usize = 16;

/// A port's own thresholds.
pub struct AwafsRouter {
    estimator: Option<Estimator>,
    deduplicate: bool,
    /// The flows that completed last, as a ring.
    recent: [FlowId; REMEMBERED],
    oldest: usize,
}

impl AwafsRouter {
    pub(super) fn new(estimator: Option<Estimator>, deduplicate: bool) -> Self {
        AwafsRouter { estimator, deduplicate, recent: [FlowId::MAX; REMEMBERED], oldest: 0 }
    }

    /// Reads the packet's shim and sets its priority here. The notice counts on arrival, even if the
    /// packet is then dropped; ports behind a drop never hear of it (§4.2.2.2).
    #[inline]
    fn classify(&mut self, now: Time, packet: &mut Packet<Shim>) {
        if packet.is_ack() {
            return;
        }
        if let Some(estimator) = &self.estimator {
            packet.priority = estimator.table().priority(packet.header.before);
            if packet.header.last {
                self.complete(now, packet);
            }
        }
    }

    fn complete(&mut self, now: Time, packet: &Packet<Shim>) {
        if self.deduplicate && self.recent.contains(&packet.flow) {
            return;
        }
        self.recent[self.oldest] = packet.flow;
        self.oldest = (self.oldest + 1) % REMEMBERED;
        let overhead = HEADER_BYTES + packet.header.wire_bytes();
        let payload = u64::from(packet.bytes.saturating_sub(overhead));
        if let Some(estimator) = &mut self.estimator {
            estimator.record(now, Bytes::new(packet.header.before + payload));
        }
    }
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
            estimator.adjust(now, series);
        }
    }
}
