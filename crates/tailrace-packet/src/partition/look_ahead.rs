//! The look-ahead: the time from an event of one logical process to the first event of another that may follow from it.

use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, HEADER_BYTES, LinkRate, MTU_BYTES, Time};
use tailrace_fabric::Fabric;

use super::Partition;

/// Longer than any look-ahead, and than some of them together.
const NEVER: u64 = u64::MAX >> 8;

/// The look-ahead between any two logical processes: the least time from an event of one to an event of the other that follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookAheads {
    processes: usize,
    /// In picoseconds, `[from * processes + to]`.
    between: Vec<u64>,
}

impl LookAheads {
    /// Those of a partition: the least time that any link from one process to another takes for the shortest packet, and no longer than the
    /// delay of global events.
    pub fn new(partition: &Partition, fabric: &Fabric, transport: &TransportParams) -> Self {
        let shortest = transport.ack_bytes.min(HEADER_BYTES);
        let processes = partition.processes();
        let mut between = vec![global_event_delay(fabric).as_ps(); processes * processes];
        (0..processes).for_each(|own| between[own * processes + own] = NEVER);
        for (port, number) in fabric.ports.iter().zip(0..) {
            let own = partition.of_port(number);
            let takes = (port.delay + LinkRate::new(port.rate).time_for(shortest)).as_ps();
            for to in partition.leads_to(number).filter(|&to| to != own) {
                let between = &mut between[own * processes + to];
                *between = takes.min(*between);
            }
        }
        LookAheads { processes, between }
    }

    /// The same, but so many hundredths of that: for tests that must fail where it is more than 100.
    #[doc(hidden)]
    pub fn percent(mut self, percent: u64) -> Self {
        self.between.iter_mut().for_each(|look_ahead| *look_ahead = *look_ahead * percent / 100);
        self
    }

    /// The look-ahead from process `from` to process `to`.
    pub fn between(&self, from: usize, to: usize) -> Time {
        Time::from_ps(self.between[from * self.processes + to])
    }

    /// The round of each process: the least time from an event of it to another one of it that follows by way of other processes. So far
    /// it and those others together may be apart.
    pub fn rounds(&self) -> Vec<Time> {
        let (processes, mut least) = (self.processes, self.between.clone());
        for by in 0..processes {
            for from in 0..processes {
                for to in 0..processes {
                    let way = least[from * processes + by] + least[by * processes + to];
                    let known = &mut least[from * processes + to];
                    *known = way.min(*known);
                }
            }
        }
        (0..processes).map(|own| Time::from_ps(least[own * processes + own])).collect()
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
        let rounds = LookAheads { processes: 3, between }.rounds();
        assert_eq!(rounds.iter().map(|round| round.as_ps()).collect::<Vec<_>>(), [6, 6, 6]);
        let between = vec![NEVER, 7, 8, 9, NEVER, 2, 30, 5, NEVER];
        let rounds = LookAheads { processes: 3, between }.rounds();
        assert_eq!(rounds.iter().map(|round| round.as_ps()).collect::<Vec<_>>(), [16, 7, 7]);
    }
}
