//! `tailrace-bench --threads`: one run on one thread and on several, by the clock on the wall, each in a process of its
//! own.

use std::time::Instant;

use crate::error::Error;
use serde_json::{Value, json};
use tailrace_config::ScenarioError;
use tailrace_console::complain;
use tailrace_core::Running;
use tailrace_run::{Control, PartitionStats, ThreadPolicy, Threads, partition_stats, processors};
use tailrace_scenario::Scenario;

use crate::core_latency::round_trip_ns;
use crate::forecast::{self, Curve};
use crate::growth::Size;
use crate::stacks::peak_memory;
use crate::{Report, args, in_own_process, median};

/// Follows nothing, on so many threads.
struct OnThreads(usize);

impl Control for OnThreads {
    fn progress(&self, _: &mut dyn Running) {}
    fn note(&self, text: String) {
        complain!("{text}");
    }
    fn interrupted(&self) -> bool {
        false
    }
    fn threads(&self) -> Threads {
        Threads { at_most: self.0, policy: ThreadPolicy::Always }
    }
}

/// A run on so many threads: `threads:COUNT:` and the name of a [`Size`].
pub struct Case {
    threads: usize,
    size: Size,
}

const PREFIX: &str = "threads:";

/// Numbers of threads that are foreseen.
const FORESEEN: [usize; 4] = [2, 4, 8, 16];

impl Case {
    fn name(&self) -> String {
        format!("{PREFIX}{}:{}", self.threads, self.size.name())
    }

    /// Reads what [`Self::name`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let (threads, size) = text.strip_prefix(PREFIX)?.split_once(':')?;
        Some(Case { threads: threads.parse().ok()?, size: Size::parse(size)? })
    }

    /// Runs it in this process.
    #[expect(clippy::disallowed_methods, reason = "a benchmark of wall time")]
    pub fn run(&self) -> Result<Value, Error> {
        let before = peak_memory();
        let scenario = Scenario::parse(&self.size.text())?;
        let start = Instant::now();
        let feed = tailrace_run::feed(&scenario)?;
        let (outcome, _) = tailrace_run::run(&scenario, feed, &OnThreads(self.threads), Vec::new())?;
        let rate = outcome.packet_hops() as f64 / start.elapsed().as_secs_f64();
        let memory = peak_memory().zip(before).map(|(after, before)| after.saturating_sub(before).get());
        let cuts = FORESEEN.map(|parts| {
            let of = partition_stats(&scenario, &outcome, parts)?;
            Ok::<_, Error>(json!([
                of.processes,
                of.largest_share,
                of.messages_per_hop,
                of.hops_per_look_ahead,
                of.hops_at_load
            ]))
        });
        let cuts = cuts.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(json!({
            "threads": self.threads, "packet_hops_per_second": rate, "memory_bytes": memory,
            "digest": format!("{:016x}", outcome.digest), "cuts": cuts,
        }))
    }
}

/// All fabrics, on one thread up to as many as there are processors; the smaller ones on twice as many as well: the first
/// tells what giving processors away costs, the second whether that is so.
pub fn measure(options: &args::Bench) -> Result<Report, Error> {
    let processors = processors();
    let counts = |more: &[usize]| (1..=processors).chain(more.iter().copied()).collect::<Vec<_>>();
    let fabrics = [
        // Long enough that its end, when fewer and fewer flows go on, is a small part of it.
        ("144 hosts", 144.0, Size::leaves(9, 16, options.flows.saturating_mul(6)), counts(&[2 * processors])),
        ("1,024 hosts", 1_024.0, Size::leaves(32, 32, 20_480), counts(&[2 * processors])),
        ("8,192 hosts", 8_192.0, Size::leaves(128, 64, 16_384), counts(&[])),
    ];
    let mut text = format!(
        "{processors} processors\n\n| fabric | threads | M packet-hops/s | times one thread | memory |\n\
         |---|---:|---:|---:|---:|\n"
    );
    let (mut rows, mut cases): (Vec<Value>, Vec<forecast::Case>) = (Vec::new(), Vec::new());
    let mut round_trips: Vec<f64> = Vec::new();
    for (name, hosts, size, counts) in fabrics {
        let mut rounds: Vec<Vec<Value>> = Vec::new();
        for round in 1..=options.rounds {
            complain!("{name}: round {round} of {}", options.rounds);
            if processors > 1 {
                round_trips.push(round_trip_ns());
            }
            let case = |&threads: &usize| in_own_process(&Case { threads, size: size.clone() }.name());
            rounds.push(counts.iter().map(case).collect::<Result<_, _>>()?);
        }
        let (case, lines) = compare(name, hosts, &counts, &rounds)?;
        for (line, row) in lines {
            text += &line;
            rows.push(row);
        }
        cases.push(case);
    }
    text += "\nThe digests of all runs of a fabric are the same.\n";
    if processors == 1 {
        text += "\nWhat more processors would give is foreseen where there are two at least.\n";
        return Ok((json!({ "threads": rows }), text));
    }
    let (nearest, farthest) =
        round_trips.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), &ns| (least.min(ns), most.max(ns)));
    text += &format!(
        "\nA word takes {nearest:.0} to {farthest:.0} ns from one thread to another and back, before each round.\n"
    );
    let (foreseen, more) = forecast::report(&curve()?, &cases, processors);
    Ok((json!({ "threads": rows, "there_and_back_ns": round_trips, "foreseen": foreseen }), text + &more))
}

/// Compares runs of one fabric on these numbers of threads: a case for the forecast, and a line and a row for each number.
///
/// `rounds` holds what each run printed, by round and by number of threads.
fn compare(
    name: &'static str,
    hosts: f64,
    counts: &[usize],
    rounds: &[Vec<Value>],
) -> Result<(forecast::Case, Vec<(String, Value)>), Error> {
    same_digest(name, rounds.iter().flatten())?;
    let mut lines = Vec::new();
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    let stats = rounds[0][0]["cuts"].as_array().into_iter().flatten().filter_map(read_stats);
    let mut case =
        forecast::Case { name, hosts, whole: f64::NAN, stats: stats.collect(), measured: Vec::new() };
    for (place, threads) in counts.iter().enumerate() {
        let of = |what: &dyn Fn(&[Value]) -> f64| median(rounds.iter().map(|round| what(round)).collect());
        let rate = of(&|round| number(&round[place], "packet_hops_per_second"));
        let times = of(&|round| {
            number(&round[place], "packet_hops_per_second") / number(&round[0], "packet_hops_per_second")
        });
        let memory = of(&|round| number(&round[place], "memory_bytes"));
        match *threads {
            1 => case.whole = 1e9 / rate,
            threads => case.measured.push((threads, case.whole / times)),
        }
        let line =
            format!("| {name} | {threads} | {:.2} | {times:.2} | {:.1} MB |\n", rate / 1e6, memory / 1e6);
        let row = json!({
            "fabric": name, "threads": threads, "packet_hops_per_second": rate, "times": times,
            "memory_bytes": memory, "digest": rounds[0][place]["digest"],
        });
        lines.push((line, row));
    }
    Ok((case, lines))
}

/// The statistics of a partition that [`Case::run`] has written.
fn read_stats(cut: &Value) -> Option<PartitionStats> {
    let number = |place: usize| cut[place].as_f64();
    Some(PartitionStats {
        processes: cut[0].as_u64()? as usize,
        largest_share: number(1)?,
        messages_per_hop: number(2)?,
        hops_per_look_ahead: number(3)?,
        hops_at_load: number(4)?,
    })
}

/// The cost of a packet-hop on fabrics of the sizes of logical processes, on one thread.
fn curve() -> Result<Curve, Error> {
    let sizes = [(2, 8), (4, 16), (9, 16), (16, 16), (16, 32), (32, 32), (64, 32), (64, 64), (128, 64)];
    let mut points = Vec::new();
    for (leaves, each) in sizes {
        let hosts = u32::from(leaves) * u32::from(each);
        complain!("{hosts} hosts on one thread");
        let row = in_own_process(&Size::leaves(leaves, each, 1_000 + 5 * hosts).name())?;
        let rate = row["packet_hops_per_cpu_second"].as_f64().unwrap_or(f64::NAN);
        points.push((f64::from(hosts), 1e9 / rate));
    }
    Ok(Curve::new(points))
}

/// Fails where a run's digest depends on its threads.
fn same_digest<'a>(fabric: &str, rows: impl Iterator<Item = &'a Value>) -> Result<(), Error> {
    let mut digests: Vec<&str> = rows.filter_map(|row| row["digest"].as_str()).collect();
    digests.sort_unstable();
    digests.dedup();
    if digests.len() == 1 {
        return Ok(());
    }
    let message =
        format!("runs of {fabric} differ, with digests {}: this is a fault of Tailrace", digests.join(", "));
    Err(ScenarioError::new("", message).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read_back_and_give_the_same_on_any_number_of_threads() {
        let case = |threads| Case { threads, size: Size::leaves(3, 4, 30) };
        let read = Case::parse(&case(2).name()).unwrap();
        assert_eq!((read.threads, read.size), (2, case(2).size));
        let rows = [1, 2].map(|threads| case(threads).run().unwrap());
        same_digest("12 hosts", rows.iter()).unwrap();
        let other = Case { threads: 1, size: Size::leaves(3, 4, 31) }.run().unwrap();
        assert!(same_digest("12 hosts", rows.iter().chain([&other])).is_err());
    }
}
