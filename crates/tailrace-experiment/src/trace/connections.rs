//! TCP connections, segment by segment: how much each direction sends, without what it sends again.

use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A pause of a flow that is worth a word, in nanoseconds.
const LONG_PAUSE: u64 = 1_000_000_000;

/// A segment that was seen.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub at_ns: u64,
    /// Its sequence number.
    pub number: u32,
    /// Bytes of payload.
    pub payload: u64,
    /// Whether a connection begins with it.
    pub opens: bool,
}

/// What a connection sends in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: u64,
    /// Of the first byte.
    pub start_ns: u64,
    /// Whether there was a second or more without data.
    pub paused: bool,
}

/// A direction of a connection that goes on.
#[derive(Clone, Copy, Debug)]
struct Sending {
    /// The sequence number of the first byte.
    first: u32,
    /// Bytes from there to the last that was seen.
    bytes: u64,
    /// Of the first and the last data, once there are such.
    seen_ns: Option<(u64, u64)>,
    paused: bool,
}

/// All connections of a capture.
#[derive(Default)]
pub struct Connections {
    sending: BTreeMap<(SocketAddr, SocketAddr), Sending>,
    finished: Vec<Flow>,
}

impl Connections {
    /// The next segment.
    pub fn take(&mut self, segment: &Segment) {
        let key = (segment.from, segment.to);
        let first = segment.number.wrapping_add(u32::from(segment.opens));
        // Ports are used again: another first number is another connection's.
        if segment.opens && self.sending.get(&key).is_some_and(|sending| sending.first != first) {
            self.end(key);
        }
        let new = Sending { first, bytes: 0, seen_ns: None, paused: false };
        let sending = self.sending.entry(key).or_insert(new);
        if segment.payload == 0 {
            return;
        }
        sending.take(first, segment.payload);
        let (start, last) = sending.seen_ns.unwrap_or((segment.at_ns, segment.at_ns));
        sending.paused |= segment.at_ns.saturating_sub(last) >= LONG_PAUSE;
        sending.seen_ns = Some((start.min(segment.at_ns), last.max(segment.at_ns)));
    }

    fn end(&mut self, (from, to): (SocketAddr, SocketAddr)) {
        let Some(Sending { bytes, seen_ns, paused, .. }) = self.sending.remove(&(from, to)) else { return };
        if let Some((start_ns, _)) = seen_ns {
            self.finished.push(Flow { from, to, bytes, start_ns, paused });
        }
    }

    /// All flows that had data, in order of start.
    pub fn finish(&mut self) -> Vec<Flow> {
        let keys: Vec<_> = self.sending.keys().copied().collect();
        keys.into_iter().for_each(|key| self.end(key));
        let mut flows = std::mem::take(&mut self.finished);
        flows.sort_by_key(|flow| (flow.start_ns, flow.from, flow.to));
        flows
    }
}

impl Sending {
    /// Data from this sequence number on. Numbers go round: what is less than half of them away is before or behind.
    fn take(&mut self, number: u32, payload: u64) {
        let end = self.first.wrapping_add(self.bytes as u32);
        let ahead = i64::from(number.wrapping_sub(end) as i32);
        let at = self.bytes as i64 + ahead;
        if at < 0 {
            // A capture that began in the midst of the connection, with segments out of order.
            self.first = number;
            self.bytes += at.unsigned_abs();
            self.bytes = self.bytes.max(payload);
        } else {
            self.bytes = self.bytes.max(at as u64 + payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segment(from: u16, at_ns: u64, number: u32, payload: u64, opens: bool) -> Segment {
        let host = |port: u16| SocketAddr::from(([10, 0, 0, port as u8], port));
        Segment { from: host(from), to: host(3 - from), at_ns, number, payload, opens }
    }

    fn sizes(segments: &[Segment]) -> Vec<(u16, u64, u64)> {
        let mut connections = Connections::default();
        segments.iter().for_each(|segment| connections.take(segment));
        connections.finish().iter().map(|flow| (flow.from.port(), flow.bytes, flow.start_ns)).collect()
    }

    #[test]
    fn each_direction_is_a_flow_from_its_first_byte_on() {
        let found = sizes(&[
            segment(1, 10, 999, 0, true),
            segment(2, 11, 4_999, 0, true),
            segment(1, 12, 1_000, 100, false),
            segment(2, 20, 5_000, 1_460, false),
            segment(2, 21, 6_460, 40, false),
            segment(1, 30, 1_100, 0, false),
        ]);
        assert_eq!(found, [(1, 100, 12), (2, 1_500, 20)]);
    }

    #[test]
    fn a_port_that_is_used_again_is_another_connection() {
        let found = sizes(&[
            segment(1, 1, 99, 0, true),
            segment(1, 2, 100, 10, false),
            // Sent again, which is no other one.
            segment(1, 3, 99, 0, true),
            segment(1, 4, 100, 10, false),
            segment(1, 5, 70_000, 0, true),
            segment(1, 6, 70_001, 30, false),
        ]);
        assert_eq!(found, [(1, 10, 2), (1, 30, 6)]);
    }

    #[test]
    fn pauses_are_told() {
        let mut connections = Connections::default();
        connections.take(&segment(1, 0, 0, 10, false));
        connections.take(&segment(1, 999_999_999, 10, 10, false));
        connections.take(&segment(2, 0, 0, 10, false));
        connections.take(&segment(2, 1_000_000_000, 10, 10, false));
        let paused: Vec<bool> = connections.finish().iter().map(|flow| flow.paused).collect();
        assert_eq!(paused, [false, true]);
    }

    proptest! {
        /// Whatever is lost, repeated, or out of order by less than a gigabyte: bytes are those from the first to the last.
        #[test]
        fn bytes_are_those_of_the_stream(
            first in any::<u32>(),
            mut cuts in prop::collection::vec(1_u64..5_000, 1..60),
            order in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
            opens: bool,
        ) {
            let total: u64 = cuts.iter().sum();
            let mut at = 0;
            let mut segments: Vec<Segment> = cuts
                .drain(..)
                .map(|payload| {
                    let number = first.wrapping_add(at as u32);
                    at += payload;
                    segment(1, at, number, payload, false)
                })
                .collect();
            // Repeated, anywhere.
            for index in order {
                let again = *index.get(&segments);
                let place = index.index(segments.len());
                segments.insert(place, again);
            }
            if opens {
                segments.insert(0, segment(1, 0, first.wrapping_sub(1), 0, true));
            }
            prop_assert_eq!(sizes(&segments)[0].1, total);
            segments.reverse();
            if !opens {
                prop_assert_eq!(sizes(&segments)[0].1, total);
            }
        }
    }
}
