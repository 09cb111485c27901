//! What is known of a fabric that runs: its latest view, one of a second before, and what its policies have reported.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use tailrace_core::{HostId, PortCounts, PortId, PortView, Rate, SeriesSource, Time, View};
use tailrace_fabric::{Fabric, PortSpec};

/// Rates are of so long, where nothing else is said.
const RATE_SPAN: Time = Time::from_ms(1_000);

/// A port's name and its link.
#[derive(Clone, Debug)]
pub struct PortName {
    pub name: String,
    pub rate: Rate,
}

impl PortName {
    /// Those of a fabric, in order of number.
    pub fn of(fabric: &Fabric) -> Vec<Self> {
        let name = |(number, port): (PortId, &PortSpec)| PortName {
            name: fabric.port_name(number),
            rate: port.rate,
        };
        (0..).zip(&fabric.ports).map(name).collect()
    }
}

/// Who reports what, in the order in which it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spot {
    Port(PortId),
    Host(HostId),
}

/// What a policy reports under one name: a value each, by number, such as the thresholds between queues.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub values: Vec<f64>,
    /// How often one of them has changed.
    pub moves: u64,
}

/// All that is shown of a fabric.
#[derive(Clone, Debug)]
pub struct Board {
    /// What is emulated, in a few words.
    pub title: String,
    /// What whoever sees a view should know.
    pub hints: Vec<String>,
    pub ports: Vec<PortName>,
    pub reports: BTreeMap<(Spot, &'static str), Report>,
    views: VecDeque<View>,
    /// Rates are of so long, at least.
    rates_over: Time,
}

/// What a port did between two views.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    pub bits_per_second: f64,
    /// Of the link's rate, from 0 to 1.
    pub utilisation: f64,
}

impl Board {
    pub fn new(title: String, hints: Vec<String>, ports: Vec<PortName>) -> Self {
        let (reports, views) = (BTreeMap::new(), VecDeque::new());
        Board { title, hints, ports, reports, views, rates_over: RATE_SPAN }
    }

    /// The same, with rates of another time; of that between two views if it is zero.
    pub fn with_rates_over(self, rates_over: Time) -> Self {
        Board { rates_over, ..self }
    }

    /// Takes in a new view.
    pub fn take(&mut self, mut view: View) {
        for (place, row) in std::mem::take(&mut view.reported) {
            let spot = match place {
                SeriesSource::Port(port) => Spot::Port(port),
                SeriesSource::Host(host) => Spot::Host(host),
                SeriesSource::Flow(_) | SeriesSource::Slice(_) | SeriesSource::Slices => continue,
            };
            let report = self.reports.entry((spot, row.metric)).or_default();
            let index = usize::from(row.index);
            match report.values.get_mut(index) {
                Some(value) => {
                    report.moves += u64::from(*value != row.value);
                    *value = row.value;
                }
                None => report.values.resize(index + 1, row.value),
            }
        }
        let long_ago = view.now.saturating_sub(self.rates_over);
        while self.views.get(1).is_some_and(|second| second.now <= long_ago) {
            self.views.pop_front();
        }
        self.views.push_back(view);
    }

    /// The latest view.
    pub fn latest(&self) -> Option<&View> {
        self.views.back()
    }

    /// What a port does now, of the latest view, and how fast.
    pub fn port(&self, port: usize) -> (PortView, Pace) {
        let (Some(latest), Some(before)) = (self.views.back(), self.views.front()) else {
            return Default::default();
        };
        let view = latest.ports[port];
        let span = latest.now.saturating_sub(before.now).as_secs_f64();
        if span == 0.0 {
            return (view, Pace::default());
        }
        let sent = |view: &PortCounts| view.sent.bytes;
        let bytes = sent(&view.counts).saturating_sub(sent(&before.ports[port].counts));
        let bits_per_second = bytes as f64 * 8.0 / span;
        let utilisation = bits_per_second / self.ports[port].rate.as_bps() as f64;
        (view, Pace { bits_per_second, utilisation })
    }

    /// Ports from the busiest on. Those that are alike to a tenth of their link keep their order, so that one can read
    /// them.
    pub fn busiest(&self) -> Vec<usize> {
        let mut ports: Vec<usize> = (0..self.ports.len()).collect();
        ports.sort_by_cached_key(|&port| {
            let (view, pace) = self.port(port);
            let tenths = (pace.utilisation * 10.0).round() as u32;
            let (waits, idle) = (view.queues.iter().any(|&bytes| bytes > 0), view.counts.sent.packets == 0);
            (Reverse(tenths.max(u32::from(waits))), idle)
        });
        ports
    }

    /// How a place is called.
    #[cfg(live)]
    pub fn name(&self, spot: Spot) -> String {
        match spot {
            Spot::Port(port) => self.ports[port as usize].name.clone(),
            Spot::Host(host) => format!("h{host}"),
        }
    }
}

#[cfg(test)]
pub mod tests {
    use tailrace_core::{Count, SeriesRow};

    use super::*;

    /// A view of ports that have sent so many bytes and hold some in their last queue, with thresholds of the first one.
    pub fn view(ms: u64, ports: &[(u64, u64)], thresholds: &[f64]) -> View {
        let port = |&(bytes, waiting): &(u64, u64)| {
            let sent = Count { packets: bytes / 1_000, bytes };
            let mut queues = [0; tailrace_core::MAX_PRIORITIES];
            queues[7] = waiting;
            PortView { counts: PortCounts { sent, marked: bytes / 100_000, ..PortCounts::default() }, queues }
        };
        let at = Time::from_ms(ms);
        let row = |(index, &value): (usize, &f64)| {
            (SeriesSource::Port(0), SeriesRow { at, metric: "threshold_bytes", index: index as u16, value })
        };
        let reported = thresholds.iter().enumerate().map(row).collect();
        View { now: at, ports: ports.iter().map(port).collect(), reported, ..View::default() }
    }

    /// So many ports of 100 Mbps, without a view.
    pub fn board(ports: usize) -> Board {
        let rate = Rate::from_bps(100_000_000);
        let port = |port| PortName { name: format!("leaf0->host{port}"), rate };
        Board::new("test".to_owned(), vec!["do this".to_owned()], (0..ports).map(port).collect())
    }

    #[test]
    fn rates_are_those_of_the_last_second() {
        let mut board = board(2);
        assert_eq!(board.port(0).1.bits_per_second, 0.0);
        for ms in (0..=3_000).step_by(200) {
            // Nothing for two seconds, then 10 MB a second.
            board.take(view(ms, &[(ms.saturating_sub(2_000) * 10_000, 0), (0, 0)], &[]));
        }
        let (seen, pace) = board.port(0);
        assert_eq!(seen.counts.sent.bytes, 10_000_000);
        assert_eq!((pace.bits_per_second, pace.utilisation), (80e6, 0.8));
        assert_eq!(board.port(1).1.bits_per_second, 0.0);
        assert!(board.views.len() <= 7, "{}", board.views.len());
    }

    #[test]
    fn the_busiest_ports_come_first_and_alike_ones_keep_their_order() {
        let mut board = board(5);
        board.take(view(0, &[(0, 0); 5], &[]));
        board.take(view(1_000, &[(0, 0), (6_250_000, 0), (10_000, 0), (6_260_000, 0), (0, 1_500)], &[]));
        // Half of the link twice, one that holds something, one that is nearly idle, one that has never sent.
        assert_eq!(board.busiest(), [1, 3, 4, 2, 0]);
    }

    #[test]
    fn moves_are_counted_when_a_value_changes() {
        let mut board = board(1);
        for thresholds in [&[1e3, 5e3], &[1e3, 5e3], &[2e3, 6e3], &[2e3, 7e3]] {
            board.take(view(0, &[(0, 0)], thresholds));
        }
        let report = &board.reports[&(Spot::Port(0), "threshold_bytes")];
        assert_eq!((report.values.as_slice(), report.moves), (&[2e3, 7e3][..], 3));
    }
}
