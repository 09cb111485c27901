//! What connections amount to: sizes, durations and inter-arrival times, in bounded memory, as a whole and by groups.

use std::collections::BTreeMap;

use crate::connection::{Connection, Kind};
use crate::histogram::Histogram;

/// So many groups are told apart; what comes later is one more.
const MAX_GROUPS: usize = 256;

/// Statistics of some connections. Those of two hosts, or of two captures, can be merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Connections that began and ended during the capture.
    pub whole: u64,
    /// Connections that were open before.
    pub before: u64,
    /// Connections that were still open at its end; some of them before, too.
    pub still_open: u64,
    /// Payload bytes of all connections, away from this machine.
    pub sent: u64,
    /// Payload bytes of all connections, towards it.
    pub received: u64,
    /// Sizes of flows in bytes: whole connections have one for each direction that carried anything.
    pub sizes: Histogram,
    /// How long whole connections were open, in nanoseconds.
    pub durations: Histogram,
    /// Times between the starts of two connections, in nanoseconds.
    pub gaps: Histogram,
    last_start: Option<u64>,
}

impl Traffic {
    /// Takes in what is said of a connection.
    pub fn add(&mut self, connection: &Connection) {
        // Of a connection that stays on this machine the end that asked counts for both, but for what the other one sends.
        let second = connection.within() && !connection.active;
        if connection.kind == Kind::Started {
            if second {
                return;
            }
            if let Some(last) = self.last_start.replace(connection.at) {
                // Two processors may say it in another order than it was.
                self.gaps.add(connection.at.saturating_sub(last));
            }
            return;
        }
        let [sent, received] = connection.carried();
        self.sent += sent;
        self.received += received;
        self.before += u64::from(!second && connection.start.is_none());
        self.still_open += u64::from(!second && connection.kind == Kind::StillOpen);
        if let Some(start) = connection.whole() {
            if !second {
                self.whole += 1;
                self.durations.add(connection.at.saturating_sub(start));
            }
            [sent, received].into_iter().filter(|&size| size > 0).for_each(|size| self.sizes.add(size));
        }
    }

    /// Takes in the connections of another one.
    pub fn merge(&mut self, other: &Traffic) {
        let Traffic { whole, before, still_open, sent, received, sizes, durations, gaps, last_start: _ } =
            other;
        for (own, other) in [
            (&mut self.whole, whole),
            (&mut self.before, before),
            (&mut self.still_open, still_open),
            (&mut self.sent, sent),
            (&mut self.received, received),
        ] {
            *own += other;
        }
        self.sizes.merge(sizes);
        self.durations.merge(durations);
        self.gaps.merge(gaps);
    }
}

/// Statistics of all connections, and of each group of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// All.
    pub all: Traffic,
    /// By the number of the group.
    pub by: BTreeMap<u64, Traffic>,
    /// Those of groups that came when there were too many.
    pub others: Traffic,
}

impl Groups {
    /// Takes in what is said of a connection, and of which group it is, if it is of one.
    pub fn add(&mut self, connection: &Connection, group: Option<u64>) {
        self.all.add(connection);
        let Some(group) = group else { return };
        if self.by.len() < MAX_GROUPS || self.by.contains_key(&group) {
            self.by.entry(group).or_default().add(connection);
        } else {
            self.others.add(connection);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use proptest::prelude::*;

    use super::*;

    pub(crate) fn ended(start: u64, at: u64, sent: u64, received: u64) -> Connection {
        let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        Connection {
            kind: Kind::Ended,
            start: Some(start),
            at,
            sent,
            received,
            local: (address(1), 40_000),
            remote: (address(2), 80),
            active: true,
            cgroup: 7,
            interface: 2,
        }
    }

    #[test]
    fn what_is_not_whole_has_no_size_but_its_bytes_count() {
        let mut traffic = Traffic::default();
        traffic.add(&ended(10, 30, 500, 0));
        traffic.add(&Connection { start: None, ..ended(0, 30, 70, 80) });
        traffic.add(&Connection { kind: Kind::StillOpen, ..ended(5, 30, 1, 2) });
        assert_eq!((traffic.whole, traffic.before, traffic.still_open), (1, 1, 1));
        assert_eq!((traffic.sent, traffic.received), (571, 82));
        assert_eq!((traffic.sizes.count(), traffic.sizes.sum(), traffic.durations.sum()), (1, 500, 20));
    }

    #[test]
    fn a_connection_within_the_machine_is_one_flow_of_its_sender() {
        let mut traffic = Traffic::default();
        traffic.add(&Connection { interface: 1, ..ended(1, 2, 500, 9) });
        traffic.add(&Connection { interface: 1, active: false, ..ended(1, 2, 9, 500) });
        assert_eq!((traffic.sizes.count(), traffic.sizes.sum()), (2, 509));
        assert_eq!((traffic.whole, traffic.durations.count()), (1, 1));
    }

    #[test]
    fn groups_are_bounded() {
        let mut groups = Groups::default();
        for port in 1..=300u16 {
            let connection = ended(1, 2, 5, 0);
            groups.add(&connection, Some(port.into()));
        }
        assert_eq!((groups.all.whole, groups.by.len(), groups.others.whole), (300, 256, 44));
    }

    #[test]
    fn what_was_open_before_is_of_the_lower_port() {
        let asked = ended(1, 2, 5, 0);
        let [near, far] = [asked.local, asked.remote];
        let other_way = Connection { local: far, remote: near, active: false, ..asked };
        let before = [asked, other_way].map(|of| Connection { start: None, active: false, ..of });
        assert_eq!([asked, other_way, before[0], before[1]].map(|of| of.service()), [80; 4]);
    }

    proptest! {
        #[test]
        fn two_merged_are_one_of_all(list in prop::collection::vec((0u64..1000, 0u64..1000, any::<u32>(), any::<u16>()), 1..60), cut in 0usize..60) {
            let connections: Vec<_> = list.iter()
                .map(|&(start, last, sent, received)| ended(start, start + last, sent.into(), received.into()))
                .collect();
            let of = |some: &[Connection]| {
                let mut traffic = Traffic::default();
                some.iter().for_each(|connection| traffic.add(connection));
                traffic
            };
            let (a, b) = connections.split_at(cut.min(connections.len()));
            let mut merged = of(a);
            merged.merge(&of(b));
            prop_assert_eq!(merged, of(&connections));
        }
    }
}
