//! Bursts of flows to one receiver: their flows overlap with those of the next bursts, so they wait here
//! until their turn.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tailrace_core::random::Stream;
use tailrace_core::{Bytes, HostId, Time};

/// A flow of a burst, ordered by start, then by the order in which it was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BurstFlow {
    pub(crate) start: Time,
    drawn: u64,
    pub(crate) src: HostId,
    pub(crate) dst: HostId,
    pub(crate) size: Bytes,
    /// The burst, counted from 0.
    pub(crate) burst: u64,
}

/// Draws bursts and holds their flows until they start.
#[derive(Clone, Debug)]
pub(crate) struct Bursts {
    receivers: Vec<HostId>,
    fan_in: usize,
    jitter: Time,
    /// All hosts, in the order that the last drawing of senders left behind.
    hosts: Vec<HostId>,
    stream: Stream,
    waiting: BinaryHeap<Reverse<BurstFlow>>,
    bursts: u64,
    flows: u64,
}

impl Bursts {
    pub(crate) fn new(
        receivers: Vec<HostId>,
        fan_in: u16,
        jitter: Time,
        hosts: Vec<HostId>,
        stream: Stream,
    ) -> Self {
        Bursts {
            receivers,
            fan_in: usize::from(fan_in),
            jitter,
            hosts,
            stream,
            waiting: BinaryHeap::new(),
            bursts: 0,
            flows: 0,
        }
    }

    /// When the next waiting flow starts.
    pub(crate) fn head(&self) -> Option<Time> {
        self.waiting.peek().map(|Reverse(flow)| flow.start)
    }

    /// The next waiting flow.
    pub(crate) fn pop(&mut self) -> Option<BurstFlow> {
        self.waiting.pop().map(|Reverse(flow)| flow)
    }

    /// A burst at `at`: to the receiver of that number, or to a random one.
    pub(crate) fn burst(&mut self, at: Time, receiver: Option<u64>, mut size: impl FnMut() -> Bytes) {
        let random = self.stream.below(self.receivers.len() as u32) as usize;
        let dst = self.receivers[receiver.map_or(random, |number| number as usize)];
        let mut left = self.fan_in;
        // A shuffle of as many hosts as are needed; the receiver is passed over where it turns up.
        for i in 0..self.hosts.len() {
            let other = i + self.stream.below((self.hosts.len() - i) as u32) as usize;
            self.hosts.swap(i, other);
            let src = self.hosts[i];
            if src == dst {
                continue;
            }
            let later = Time::from_ps((self.stream.unit() * self.jitter.as_ps() as f64) as u64);
            let start = at.saturating_add(later);
            self.waiting.push(Reverse(BurstFlow {
                start,
                drawn: self.flows,
                src,
                dst,
                size: size(),
                burst: self.bursts,
            }));
            self.flows += 1;
            left -= 1;
            if left == 0 {
                break;
            }
        }
        self.bursts += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_burst_has_different_senders_and_one_receiver() {
        let stream = Stream::new(1, "test", 0);
        let mut bursts = Bursts::new(vec![2, 5], 7, Time::from_us(10), (0..8).collect(), stream);
        let mut receivers = BTreeSet::new();
        for at in 0..100 {
            let at = Time::from_ms(at);
            bursts.burst(at, None, || Bytes::new(10));
            let flows: Vec<BurstFlow> = std::iter::from_fn(|| bursts.pop()).collect();
            let senders: BTreeSet<u32> = flows.iter().map(|flow| flow.src).collect();
            assert_eq!((flows.len(), senders.len()), (7, 7));
            assert!(!senders.contains(&flows[0].dst));
            assert!(flows.iter().all(|flow| flow.dst == flows[0].dst));
            assert!(flows.iter().all(|flow| flow.start >= at && flow.start <= at + Time::from_us(10)));
            assert!(flows.is_sorted());
            receivers.insert(flows[0].dst);
        }
        assert_eq!(receivers, [2, 5].into());
    }
}
