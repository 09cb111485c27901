//! What more processors than there are would give, by a model of four costs (docs/performance.md): the work of the
//! largest logical process, at what a packet-hop costs on a fabric of its size; messages; looks at the others' clocks; and, where
//! threads share processors, giving them to each other.

use serde_json::{Value, json};
use tailrace_run::PartitionStats;

/// Costs of a packet-hop on one thread, in nanoseconds, by the number of hosts.
#[derive(Clone, Debug)]
pub struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// Through measured points, in order of hosts; there must be one.
    pub fn new(points: Vec<(f64, f64)>) -> Self {
        Curve(points)
    }

    /// The same for every fabric.
    fn flat() -> Self {
        Curve(vec![(1.0, 1.0)])
    }

    /// Between two sizes along the logarithm; beyond the last one as there.
    fn at(&self, hosts: f64) -> f64 {
        let after = self.0.partition_point(|&(size, _)| size < hosts);
        match (after.checked_sub(1).map(|before| self.0[before]), self.0.get(after)) {
            (Some((low, cost)), Some(&(high, next))) => {
                cost + (next - cost) * (hosts / low).ln() / (high / low).ln()
            }
            (Some((_, cost)), None) | (None, Some(&(_, cost))) => cost,
            (None, None) => f64::NAN,
        }
    }
}

/// A fabric that is run: its hosts, the cost of a packet-hop on one thread, and statistics of its partitions.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: &'static str,
    pub hosts: f64,
    /// In nanoseconds.
    pub whole: f64,
    /// For each number of threads.
    pub stats: Vec<PartitionStats>,
    /// Nanoseconds of a packet-hop on so many threads, as measured.
    pub measured: Vec<(usize, f64)>,
}

/// What the model has learned from runs on several threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Nanoseconds of a message, sent and received; the table calls it a letter.
    pub message: f64,
    /// Nanoseconds in a look-ahead for each other process that is looked at.
    pub look: f64,
    /// Nanoseconds until a processor works for another thread, each of which needs it once in a look-ahead.
    pub give: f64,
}

/// The cost of a packet-hop in a partition: without all that processes do for each other, and how often they do that.
struct Terms {
    work: f64,
    messages: f64,
    looks: f64,
    gives: f64,
}

impl Case {
    /// Where threads share `processors`, each does the work of several processes in turn, and looks for all of them.
    fn terms(&self, curve: &Curve, stats: &PartitionStats, processors: f64) -> Terms {
        let processes = stats.processes as f64;
        let each = (processes / processors).max(1.0);
        // Smaller fabrics cost less; by how much, the curve says.
        let cost = self.whole * curve.at(self.hosts / processes) / curve.at(self.hosts);
        Terms {
            work: stats.largest_share.max(each / processes) * cost,
            messages: stats.messages_per_hop * each / processes,
            looks: (processes - 1.0) * each / stats.hops_per_look_ahead,
            gives: if each > 1.0 { each / stats.hops_per_look_ahead } else { 0.0 },
        }
    }

    fn stats_of(&self, threads: usize) -> Option<&PartitionStats> {
        self.stats.iter().find(|stats| stats.processes == threads)
    }
}

impl Model {
    /// The costs with which the runs on several threads that have a processor each are met best, in least squares of
    /// relative errors, and then the first one where threads share processors. None is negative.
    pub fn fit(curve: &Curve, cases: &[Case], processors: usize) -> Self {
        let each_alone = Self::of_those_with_a_processor_each(curve, cases, processors);
        let shared = cases.iter().find_map(|case| {
            let &(threads, measured) = case.measured.iter().find(|(threads, _)| *threads > processors)?;
            let terms = case.terms(curve, case.stats_of(threads)?, processors as f64);
            Some(((measured - each_alone.cost(&terms)) / terms.gives).max(0.0))
        });
        Model { give: shared.unwrap_or(0.0), ..each_alone }
    }

    fn of_those_with_a_processor_each(curve: &Curve, cases: &[Case], processors: usize) -> Self {
        let rows: Vec<(f64, f64, f64)> = cases
            .iter()
            .flat_map(|case| {
                case.measured.iter().filter(|(threads, _)| *threads <= processors).filter_map(
                    |&(threads, measured)| {
                        let Terms { work, messages, looks, .. } =
                            case.terms(curve, case.stats_of(threads)?, f64::INFINITY);
                        Some((messages / measured, looks / measured, 1.0 - work / measured))
                    },
                )
            })
            .collect();
        let sum = |of: &dyn Fn(&(f64, f64, f64)) -> f64| rows.iter().map(of).sum::<f64>();
        let (aa, ab, bb) = (sum(&|r| r.0 * r.0), sum(&|r| r.0 * r.1), sum(&|r| r.1 * r.1));
        let (ay, by) = (sum(&|r| r.0 * r.2), sum(&|r| r.1 * r.2));
        let alone = |xx: f64, xy: f64| if xx > 0.0 { (xy / xx).max(0.0) } else { 0.0 };
        let determinant = aa * bb - ab * ab;
        let (message, look) = ((ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant);
        let (message, look) = match (message.is_finite() && message >= 0.0, look.is_finite() && look >= 0.0) {
            (true, true) => (message, look),
            (true, false) => (alone(aa, ay), 0.0),
            _ => (0.0, alone(bb, by)),
        };
        Model { message, look, give: 0.0 }
    }

    /// Nanoseconds of a packet-hop.
    fn cost(&self, terms: &Terms) -> f64 {
        let Terms { work, messages, looks, gives } = terms;
        work + messages * self.message + looks * self.look + gives * self.give
    }

    /// How many times as fast as on one thread.
    fn times(&self, curve: &Curve, case: &Case, stats: &PartitionStats, processors: f64) -> f64 {
        case.whole / self.cost(&case.terms(curve, stats, processors))
    }
}

/// The table, and its rows.
pub fn report(curve: &Curve, cases: &[Case], processors: usize) -> (Vec<Value>, String) {
    let model = Model::fit(curve, cases, processors);
    let mut rows = Vec::new();
    let mut text = format!(
        "\nby the model, with {:.0} ns for a letter, {:.0} ns a look-ahead for each other part, and {:.0} ns to give a \
         processor away\n\n\
         | fabric | threads | largest process | messages a hop | hops in a look-ahead, at load \
         | times one thread on {processors} processors | measured | with a processor each, at load \
         | were smaller parts no cheaper |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        model.message, model.look, model.give
    );
    for case in cases {
        for stats in &case.stats {
            let times = |stats: &PartitionStats, processors| model.times(curve, case, stats, processors);
            let here = times(stats, processors as f64);
            let at_load = PartitionStats { hops_per_look_ahead: stats.hops_at_load, ..*stats };
            // As if caches did nothing for smaller processes.
            let no_cheaper = model.times(&Curve::flat(), case, &at_load, f64::INFINITY);
            let at_load = times(&at_load, f64::INFINITY);
            let measured = case.measured.iter().find(|(threads, _)| *threads == stats.processes);
            let measured = measured.map(|(_, cost)| case.whole / cost);
            text += &format!(
                "| {} | {} | {:.3} | {:.3} | {:.0}, {:.0} | {here:.2} | {} | {at_load:.2} | {no_cheaper:.2} |\n",
                case.name,
                stats.processes,
                stats.largest_share,
                stats.messages_per_hop,
                stats.hops_per_look_ahead,
                stats.hops_at_load,
                measured.map_or_else(String::new, |measured| format!("{measured:.2}")),
            );
            rows.push(json!({
                "fabric": case.name, "threads": stats.processes, "largest_part": stats.largest_share,
                "messages_per_hop": stats.messages_per_hop, "hops_per_look_ahead": stats.hops_per_look_ahead,
                "hops_at_load": stats.hops_at_load, "times": here, "measured": measured,
                "times_at_load": at_load, "times_at_load_no_cheaper": no_cheaper,
            }));
        }
    }
    (rows, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(processes: usize, messages_per_hop: f64, hops_per_look_ahead: f64) -> PartitionStats {
        let hops_at_load = 2.0 * hops_per_look_ahead;
        PartitionStats {
            processes,
            largest_share: 1.0 / processes as f64,
            messages_per_hop,
            hops_per_look_ahead,
            hops_at_load,
        }
    }

    fn curve() -> Curve {
        Curve::new(vec![(16.0, 50.0), (64.0, 60.0), (1_024.0, 80.0)])
    }

    #[test]
    fn costs_lie_between_those_of_the_sizes_around() {
        let curve = curve();
        let at = [8.0, 16.0, 32.0, 64.0, 256.0, 1_024.0, 9_999.0].map(|hosts| curve.at(hosts));
        assert_eq!(at, [50.0, 50.0, 55.0, 60.0, 70.0, 80.0, 80.0]);
        assert_eq!([8.0, 16.0, 9_999.0].map(|hosts| Curve::flat().at(hosts)), [1.0; 3]);
    }

    /// What runs cost that go by the model is found again, and foretells others.
    #[test]
    fn the_model_finds_what_it_was_made_of() {
        let truth = Model { message: 90.0, look: 400.0, give: 1_000.0 };
        let curve = curve();
        let case = |name, hosts, whole, hops| {
            let stats = vec![stats(2, 0.25, hops), stats(8, 0.4, hops)];
            let mut case = Case { name, hosts, whole, stats, measured: Vec::new() };
            case.measured = vec![(2, case.whole / truth.times(&curve, &case, &case.stats[0], 2.0))];
            case
        };
        let mut cases = [case("small", 144.0, 60.0, 115.0), case("large", 1_024.0, 80.0, 820.0)];
        // On more threads than processors: the first tells what giving them away costs, the others nothing.
        let shared = cases[0].whole / truth.times(&curve, &cases[0], &cases[0].stats[1], 2.0);
        cases[0].measured.push((8, shared));
        cases[1].measured.push((8, 1e6));
        let found = Model::fit(&curve, &cases, 2);
        let errors = [found.message - 90.0, found.look - 400.0, found.give - 1_000.0];
        assert!(errors.iter().all(|error| error.abs() < 1e-6), "{found:?}");
        // By hand: an eighth of what 128 hosts cost, 0.05 messages of 90 ns, and seven looks of 400 ns in 820 hops.
        let hand = 80.0 / (65.0 / 8.0 + 0.4 / 8.0 * 90.0 + 7.0 * 400.0 / 820.0);
        assert!((found.times(&curve, &cases[1], &cases[1].stats[1], 8.0) - hand).abs() < 1e-6);
        // On two processors each has four processes of it, and is given away four times a look-ahead.
        let hand = 80.0 / (65.0 / 2.0 + 0.4 / 2.0 * 90.0 + 4.0 * (7.0 * 400.0 + 1_000.0) / 820.0);
        assert!((found.times(&curve, &cases[1], &cases[1].stats[1], 2.0) - hand).abs() < 1e-6);
    }

    /// Runs that are faster than the work alone make no cost negative.
    #[test]
    fn no_cost_is_negative() {
        let case = Case {
            name: "fast",
            hosts: 1_024.0,
            whole: 80.0,
            stats: vec![stats(2, 0.25, 820.0), stats(8, 0.4, 820.0)],
            measured: vec![(2, 30.0)],
        };
        let nothing = Model { message: 0.0, look: 0.0, give: 0.0 };
        assert_eq!(Model::fit(&curve(), std::slice::from_ref(&case), 2), nothing);
        assert_eq!(Model::fit(&curve(), &[Case { measured: vec![(2, 30.0), (8, 1.0)], ..case }], 2), nothing);
        assert_eq!(Model::fit(&curve(), &[], 2), nothing);
    }
}
