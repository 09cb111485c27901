//! What a list of flows amounts to: what the rules of a workload say of themselves, its flows must be asked for.

use std::collections::BTreeMap;

use tailrace_core::{HEADER_BYTES, HostId, Reveals, SizeDistribution, Time, TrafficClass};
use tailrace_fabric::{Fabric, PortId, PortSpec};

use crate::FlowSpec;

/// Sizes that a table has, if they are no more.
const PIECES: usize = 512;
/// How far a table may be from the flows' own probabilities, in standard deviations of those.
const CHANCE: f64 = 0.5;

/// What a list of flows offers to a fabric.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// In which time its flows start.
    pub span: Time,
    /// Their sizes.
    pub sizes: SizeDistribution,
    /// Load of each port's link in that time, as a share of its rate, if traffic is divided evenly among equal paths; may be
    /// above 1.
    pub ports: Vec<f64>,
    /// The load of hosts' links as a byte meets it on average, in the direction where that is more.
    pub load: f64,
    /// The sizes by what flows reveal, with their parts of `load`.
    pub classes: Vec<TrafficClass>,
}

impl Offered {
    /// Of flows in order of start, in segments of `mss` bytes; `None` if all of them start at once.
    pub fn of(flows: &[FlowSpec], fabric: &Fabric, mss: u16) -> Option<Self> {
        let span = span(flows)?;
        let mut pairs: BTreeMap<(HostId, HostId), f64> = BTreeMap::new();
        for flow in flows {
            *pairs.entry((flow.src, flow.dst)).or_default() += on_the_wire(flow.size.get() as f64, mss);
        }
        let bytes = fabric.divided(pairs.into_iter().map(|((src, dst), bytes)| (src, dst, bytes)));
        let seconds = span.as_secs_f64();
        let load = |(bytes, port): (f64, &PortSpec)| bytes / seconds / port.rate.bytes_per_sec();
        let ports: Vec<f64> = bytes.into_iter().zip(&fabric.ports).map(load).collect();
        let sent = met(ports[..fabric.hosts].iter().copied());
        let load = sent.max(met(fabric.port_to.iter().map(|&port| ports[port as usize])));
        let payload = |sizes: &[u64]| sizes.iter().map(|&size| size as f64).sum::<f64>();
        let sizes: Vec<u64> = flows.iter().map(|flow| flow.size.get()).collect();
        let class = |reveals| {
            let own: Vec<u64> =
                flows.iter().filter(|flow| flow.reveals == reveals).map(|flow| flow.size.get()).collect();
            let load = load * payload(&own) / payload(&sizes);
            (!own.is_empty()).then(|| TrafficClass { reveals, sizes: table(own), load })
        };
        let classes =
            [Reveals::Deadline, Reveals::Size, Reveals::Nothing].into_iter().filter_map(class).collect();
        Some(Offered { span, sizes: table(sizes), ports, load, classes })
    }

    /// The port whose link is loaded most, and its load.
    pub fn busiest(&self) -> (PortId, f64) {
        let loads = self.ports.iter().zip(0..);
        loads.fold((0, 0.0), |most, (&load, port)| if load > most.1 { (port, load) } else { most })
    }

    /// The same flows, of which less than so much is offered.
    pub fn at_most(mut self, most: f64) -> Self {
        if self.load > most {
            self.classes.iter_mut().for_each(|class| class.load *= most / self.load);
            self.load = most;
        }
        self
    }
}

/// The time that flows in order of start are offered in: as many gaps as there are flows.
fn span(flows: &[FlowSpec]) -> Option<Time> {
    let (first, last) = (flows.first()?.start, flows.last()?.start);
    let gaps = flows.len() as u64 - 1;
    let between = last.saturating_sub(first).as_ps();
    let span = u128::from(between) * (u128::from(gaps) + 1) / u128::from(gaps.max(1));
    (between > 0).then(|| Time::from_ps(u64::try_from(span).unwrap_or(u64::MAX)))
}

/// Bytes with headers, where each segment of `mss` bytes counts as full (AWAFS and PIAS scale E\[size\] by 1500/1460).
pub fn on_the_wire(bytes: f64, mss: u16) -> f64 {
    let mss = f64::from(mss);
    bytes * (mss + f64::from(HEADER_BYTES)) / mss
}

/// The mean of loads over what they carry: that of the one busy link, or of all where all are alike.
fn met(loads: impl Iterator<Item = f64> + Clone) -> f64 {
    let carried: f64 = loads.clone().sum();
    if carried > 0.0 { loads.map(|load| load * load).sum::<f64>() / carried } else { 0.0 }
}

/// Sizes as a table: exact where there are few, else straight lines between order statistics.
fn table(mut sizes: Vec<u64>) -> SizeDistribution {
    sizes.sort_unstable();
    let count = sizes.len();
    let distinct = 1 + sizes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let mut points: Vec<(f64, f64)> = Vec::new();
    let below = |number: usize| number as f64 / count as f64;
    if distinct <= PIECES {
        let mut number = 0;
        for run in sizes.chunk_by(|a, b| a == b) {
            points.extend([number, number + run.len()].map(|number| (run[0] as f64, below(number))));
            number += run.len();
        }
    } else {
        points = straightened(&sizes);
    }
    SizeDistribution::new(points).expect("sizes and probabilities rise")
}

/// As few straight lines between points of the sizes' distribution as pass all others at less than `CHANCE`, so that what is
/// planned for the table follows no noise (the swinging door: a line ends where none would pass all points since its start).
fn straightened(sizes: &[u64]) -> Vec<(f64, f64)> {
    let count = sizes.len() as f64;
    let steps: Vec<(f64, f64)> = sizes
        .chunk_by(|a, b| a == b)
        .scan(0, |so_far, run| {
            *so_far += run.len();
            Some((run[0] as f64, *so_far as f64 / count))
        })
        .collect();
    let mut points = vec![(steps[0].0, 0.0), steps[0]];
    let (mut anchor, mut door) = (steps[0], (f64::NEG_INFINITY, f64::INFINITY));
    for pair in steps.windows(2) {
        let slope = |to: (f64, f64), off: f64| (to.1 + off - anchor.1) / (to.0 - anchor.0);
        if !(door.0..=door.1).contains(&slope(pair[1], 0.0)) {
            points.push(pair[0]);
            (anchor, door) = (pair[0], (f64::NEG_INFINITY, f64::INFINITY));
        }
        let (size, below) = pair[1];
        let chance = CHANCE * (below * (1.0 - below) / count).sqrt();
        let slope = |off: f64| (below + off - anchor.1) / (size - anchor.0);
        door = (door.0.max(slope(-chance)), door.1.min(slope(chance)));
    }
    points.extend(steps.last());
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailrace_core::Bytes;
    use tailrace_core::random::Stream;
    use tailrace_fabric::FabricParams;

    use crate::{Round, Sampler, Sizes, published};

    fn of(flows: &[FlowSpec], fabric: &str) -> Option<Offered> {
        Offered::of(flows, &FabricParams::from_table(&fabric.parse().unwrap()).unwrap().build(), 1460)
    }

    const STAR: &str = "kind = \"star\"\nhosts = 9\nhost_rate = \"10Gbps\"";

    fn flow(src: HostId, dst: HostId, size: u64, start_us: u64) -> FlowSpec {
        FlowSpec { src, dst, size: Bytes::new(size), start: Time::from_us(start_us), ..FlowSpec::default() }
    }

    /// 1,000 flows of 73 kB, one every 100 µs, are 6 Gbit/s on the wire.
    #[test]
    fn load_is_that_of_the_busy_links() {
        let around: Vec<_> =
            (0..1000).map(|n| flow(n % 4, (n + 1) % 4, 73_000, 100 * u64::from(n))).collect();
        let all = of(&around, STAR).unwrap();
        assert!((all.load / 0.15 - 1.0).abs() < 1e-9, "{}", all.load);
        assert!((all.busiest().1 / 0.15 - 1.0).abs() < 1e-9);
        assert_eq!(all.span, Time::from_ms(100));
        // A client that three servers answer: its own link counts, not theirs.
        let to_one: Vec<_> = (0..999).map(|n| flow(1 + n % 3, 0, 73_000, 100 * u64::from(n))).collect();
        let one = of(&to_one, STAR).unwrap();
        assert!((one.load / 0.6 - 1.0).abs() < 1e-9);
        assert_eq!((one.ports[8], one.ports[0], one.busiest().0), (0.0, 0.0, 9));
    }

    /// Two leaves of two hosts, two spines: half of what leaves a rack is on each of its uplinks, a quarter of the rate.
    #[test]
    fn links_between_switches_carry_their_part() {
        let fabric = "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nhost_rate = \"10Gbps\"\n\
                      spine_rate = \"5Gbps\"";
        let across: Vec<_> = (0..1000).map(|n| flow(n % 2, 2 + n % 2, 73_000, 100 * u64::from(n))).collect();
        let offered = of(&across, fabric).unwrap();
        assert!((offered.load / 0.3 - 1.0).abs() < 1e-9, "{}", offered.load);
        assert!((offered.busiest().1 / 0.6 - 1.0).abs() < 1e-9, "{:?}", offered.ports);
        assert_eq!(offered.ports.iter().filter(|&&load| load > 0.0).count(), 2 + 4 + 2);
    }

    #[test]
    fn what_starts_at_once_has_no_load() {
        assert_eq!(of(&[], STAR), None);
        assert_eq!(of(&[flow(0, 1, 5, 7)], STAR), None);
        assert_eq!(of(&[flow(0, 1, 5, 7), flow(1, 2, 5, 7)], STAR), None);
    }

    #[test]
    fn classes_are_what_flows_reveal() {
        let mut flows = vec![flow(0, 1, 1000, 0), flow(0, 1, 3000, 10), flow(0, 1, 4000, 20)];
        flows[0].reveals = Reveals::Size;
        flows[1].reveals = Reveals::Nothing;
        flows[2].reveals = Reveals::Nothing;
        let offered = of(&flows, STAR).unwrap();
        let [size, nothing] = &offered.classes[..] else { panic!("{:?}", offered.classes) };
        assert_eq!((size.reveals, size.sizes.mean()), (Reveals::Size, 1000.0));
        assert_eq!((nothing.reveals, nothing.sizes.mean()), (Reveals::Nothing, 3500.0));
        assert!((size.load * 7.0 - nothing.load).abs() < 1e-12 * nothing.load);
        assert!((size.load + nothing.load - offered.load).abs() < 1e-12);
    }

    #[test]
    fn few_sizes_are_exact() {
        let sizes = table(vec![5, 1, 5, 5, 2]);
        assert_eq!(sizes.points(), [(1.0, 0.0), (1.0, 0.2), (2.0, 0.2), (2.0, 0.4), (5.0, 0.4), (5.0, 1.0)]);
        assert_eq!(sizes.mean(), 3.6);
    }

    /// Drawn from a published table, the table of the draws has its mean and its probabilities.
    #[test]
    fn many_sizes_are_near_what_they_were_drawn_from() {
        for name in ["web-search", "data-mining"] {
            let distribution = Sizes::Published(published::find(name).unwrap()).distribution().unwrap();
            let sampler = Sampler { distribution, round: Round::Byte, mss: 1460 };
            let mut stream = Stream::new(1, "sizes", 0);
            let drawn: Vec<u64> = (0..200_000).map(|_| sampler.draw(&mut stream).get()).collect();
            let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
            let table = table(drawn);
            assert!((table.mean() / mean - 1.0).abs() < 1e-3, "{name}: {} {mean}", table.mean());
            for size in [1e3, 1e4, 1e5, 1e6, 1e7, 1e8] {
                let (here, there) = (table.cdf(size), sampler.distribution.cdf(size));
                assert!((here - there).abs() < 4e-3, "{name} {size}: {here} {there}");
            }
        }
    }
}
