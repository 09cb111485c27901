//! Messages that come in: what has arrived of each, and, for a while, which have arrived.

use std::collections::{BTreeMap, VecDeque};

use tailrace_core::{FlowId, Time};

use super::LONGEST_MESSAGE;
use super::label::{Cut, Label};

/// So many are known at most.
const MAX_REMEMBERED: usize = 1 << 15;

#[derive(Debug)]
struct Arrival {
    label: Label,
    bytes: Vec<u8>,
    complete: bool,
}

/// What a segment is to this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// The first of its message.
    First,
    /// Another one.
    Another,
}

/// All messages that come to one host.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// So long a message that has arrived is known, so that what its sender sends again is acknowledged and not taken for
    /// a new one.
    remembered: Time,
    arrivals: BTreeMap<FlowId, Arrival>,
    /// Messages that have arrived, and when, in order.
    complete: VecDeque<(Time, FlowId, u32)>,
}

impl Arrivals {
    /// None yet. Those that will have arrived are known for so long.
    pub(super) fn remembering(remembered: Time) -> Self {
        Arrivals { remembered, arrivals: BTreeMap::new(), complete: VecDeque::new() }
    }

    /// A segment has come; `None` if it is none of a message that can be, or of one that is over.
    pub(super) fn take(
        &mut self,
        cut: &Cut,
        flow: FlowId,
        segment: u32,
        label: Label,
        payload: &[u8],
    ) -> Option<Segment> {
        let length = label.length as usize;
        let range = cut.range(segment, length).filter(|_| length <= LONGEST_MESSAGE)?;
        let payload = payload.get(..range.len())?;
        let known = self.arrivals.get(&flow).map(|arrival| arrival.label.generation);
        let kind = match known {
            Some(known) if known == label.generation => Segment::Another,
            // Generations go round: the newer one is less than half of them ahead.
            Some(known) if label.generation.wrapping_sub(known) > u32::MAX / 2 => return None,
            _ => Segment::First,
        };
        if kind == Segment::First {
            self.arrivals.insert(flow, Arrival { label, bytes: Vec::new(), complete: false });
        }
        let arrival = self.arrivals.get_mut(&flow).filter(|arrival| arrival.label == label)?;
        if !arrival.complete {
            if arrival.bytes.len() < range.end {
                arrival.bytes.resize(range.end, 0);
            }
            arrival.bytes[range].copy_from_slice(payload);
        }
        Some(kind)
    }

    /// The transport has all segments of a message: returns it, the first time.
    pub(super) fn complete(&mut self, now: Time, flow: FlowId) -> Option<Vec<u8>> {
        let arrival = self.arrivals.get_mut(&flow).filter(|arrival| !arrival.complete)?;
        arrival.complete = true;
        self.complete.push_back((now, flow, arrival.label.generation));
        Some(std::mem::take(&mut arrival.bytes))
    }

    /// Forgets messages that have arrived long ago; `forget` is told their flows.
    pub(super) fn expire(&mut self, now: Time, mut forget: impl FnMut(FlowId)) {
        while let Some(&(at, flow, generation)) = self.complete.front() {
            if at + self.remembered > now && self.complete.len() <= MAX_REMEMBERED {
                break;
            }
            self.complete.pop_front();
            // Another message may have come with the same number.
            if self.arrivals.get(&flow).is_some_and(|arrival| arrival.label.generation == generation) {
                self.arrivals.remove(&flow);
                forget(flow);
            }
        }
    }

    /// Forgets messages of which not all has arrived from flows that are `lost`.
    pub(super) fn drop_lost(&mut self, lost: impl Fn(FlowId) -> bool, mut forget: impl FnMut(FlowId)) {
        self.arrivals.retain(|&flow, arrival| {
            let keep = arrival.complete || !lost(flow);
            if !keep {
                forget(flow);
            }
            keep
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(arrivals: &mut Arrivals, segment: u32, generation: u32, byte: u8) -> Option<Segment> {
        // Segments of 100 bytes.
        let cut = Cut::new::<()>(131).unwrap();
        let label = Label { generation, length: 250, acks: 0 };
        arrivals.take(&cut, 7, segment, label, &[byte; 100])
    }

    #[test]
    fn a_message_may_begin_with_any_segment_and_is_told_once() {
        let mut arrivals = Arrivals::remembering(Time::from_ms(5_000));
        let kinds = [2, 0, 1, 1].map(|segment| take(&mut arrivals, segment, 3, segment as u8));
        let [first, another] = [Some(Segment::First), Some(Segment::Another)];
        assert_eq!(kinds, [first, another, another, another]);
        assert_eq!(take(&mut arrivals, 3, 3, 0), None, "there is no such segment");
        let message = arrivals.complete(Time::ZERO, 7).unwrap();
        assert_eq!(message, [[0; 100].as_slice(), &[1; 100], &[2; 50]].concat());
        assert_eq!((arrivals.complete(Time::ZERO, 7), take(&mut arrivals, 1, 3, 9)), (None, another));
    }

    #[test]
    fn a_number_that_is_used_again_belongs_to_the_newer_message() {
        let mut arrivals = Arrivals::remembering(Time::from_ms(5_000));
        assert_eq!(take(&mut arrivals, 0, u32::MAX, 0), Some(Segment::First));
        assert!(arrivals.complete(Time::ZERO, 7).is_some());
        assert_eq!(take(&mut arrivals, 0, 0, 0), Some(Segment::First));
        assert_eq!(take(&mut arrivals, 1, u32::MAX, 0), None, "a late copy of the older one");
        let mut forgotten = Vec::new();
        arrivals.expire(Time::from_ms(60_000), |flow| forgotten.push(flow));
        assert!(forgotten.is_empty(), "the newer one is under way");
        assert!(arrivals.complete(Time::from_ms(60_000), 7).is_some());
        arrivals.expire(Time::from_ms(64_000), |flow| forgotten.push(flow));
        assert!(forgotten.is_empty());
        arrivals.expire(Time::from_ms(65_000), |flow| forgotten.push(flow));
        assert_eq!((forgotten, arrivals.arrivals.len()), (vec![7], 0));
    }

    #[test]
    fn what_a_lost_host_has_begun_is_forgotten() {
        let mut arrivals = Arrivals::remembering(Time::from_ms(5_000));
        take(&mut arrivals, 0, 0, 0);
        arrivals.drop_lost(|_| false, |_| panic!("nothing is lost"));
        arrivals.drop_lost(|flow| flow == 7, |flow| assert_eq!(flow, 7));
        assert_eq!(take(&mut arrivals, 0, 0, 0), Some(Segment::First));
    }
}
