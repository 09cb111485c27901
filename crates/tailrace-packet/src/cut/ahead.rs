//! The time that it takes until what happens in one part matters in another.

use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, HEADER_BYTES, LinkRate, MTU_BYTES, Time};
use tailrace_fabric::Fabric;

use super::Cut;

/// Longer than any look-ahead, and than some of them together.
const NEVER: u64 = u64::MAX >> 8;

/// For any two parts, the least time from what happens in one to what comes of it in the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookAheads {
    parts: usize,
    /// In picoseconds, `[from * parts + to]`.
    between: Vec<u64>,
}

impl LookAheads {
    /// Those of a cut: the least that any link from one part to another takes for the shortest packet, and no longer than what has
    /// no packet takes.
    pub fn new(cut: &Cut, fabric: &Fabric, transport: &TransportParams) -> Self {
        let shortest = transport.ack_bytes.min(HEADER_BYTES);
        let parts = cut.parts();
        let mut between = vec![global_event_delay(fabric).as_ps(); parts * parts];
        (0..parts).for_each(|own| between[own * parts + own] = NEVER);
        for (port, number) in fabric.ports.iter().zip(0..) {
            let own = cut.of_port(number);
            let takes = (port.delay + LinkRate::new(port.rate).time_for(shortest)).as_ps();
            for to in cut.leads_to(number).filter(|&to| to != own) {
                let between = &mut between[own * parts + to];
                *between = takes.min(*between);
            }
        }
        LookAheads { parts, between }
    }

    /// The same, but so many hundredths of that: for tests that are to notice where it is more than 100.
    #[doc(hidden)]
    pub fn percent(mut self, percent: u64) -> Self {
        self.between.iter_mut().for_each(|ahead| *ahead = *ahead * percent / 100);
        self
    }

    /// The least time from what happens in part `from` to what comes of it in `to`.
    pub fn between(&self, from: usize, to: usize) -> Time {
        Time::from_ps(self.between[from * self.parts + to])
    }

    /// For each part, the least time from what happens there to what comes of it there by way of others. So far it and those
    /// others together may be apart.
    pub fn rounds(&self) -> Vec<Time> {
        let (parts, mut least) = (self.parts, self.between.clone());
        for by in 0..parts {
            for from in 0..parts {
                for to in 0..parts {
                    let way = least[from * parts + by] + least[by * parts + to];
                    let known = &mut least[from * parts + to];
                    *known = way.min(*known);
                }
            }
        }
        (0..parts).map(|own| Time::from_ps(least[own * parts + own])).collect()
    }
}

/// How long after it is announced a global event happens.
pub(crate) fn global_event_delay(fabric: &Fabric) -> Time {
    let longest = Bytes::new(MTU_BYTES.into());
    let slowest = fabric.ports.iter().map(|port| port.delay + port.rate.time_for(longest)).max();
    slowest.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: from the first to the second and back it is 1 + 9, and by way of the third 1 + 2 + 3; the second and the third
    /// are 2 + 5 from each other and back.
    #[test]
    fn a_round_is_the_shortest_way_back() {
        let between = vec![NEVER, 1, 8, 9, NEVER, 2, 3, 5, NEVER];
        let rounds = LookAheads { parts: 3, between }.rounds();
        assert_eq!(rounds.iter().map(|round| round.as_ps()).collect::<Vec<_>>(), [6, 6, 6]);
        let between = vec![NEVER, 7, 8, 9, NEVER, 2, 30, 5, NEVER];
        let rounds = LookAheads { parts: 3, between }.rounds();
        assert_eq!(rounds.iter().map(|round| round.as_ps()).collect::<Vec<_>>(), [16, 7, 7]);
    }
}
