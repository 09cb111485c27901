//! What memory gives: how long it takes to reach a line of it.

use std::hint::black_box;

use cpu_time::ThreadTime;
use serde_json::{Value, json};
use tailrace_core::random::Stream;

/// A line of the caches, with the number of the one that is next.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line {
    next: u32,
}

/// Lines that are reached in a measurement.
const REACHED: usize = 1 << 22;
/// So many chains are followed at a time, of which none tells another what is next.
const AT_ONCE: [usize; 3] = [1, 8, 32];

/// Working sets that are measured, in MiB: what the caches of a core hold, those that cores share, and more.
pub const WORKING_SETS: [usize; 5] = [1, 8, 32, 64, 128];

/// The part that measures a working set.
pub fn name(mib: usize) -> String {
    format!("memory:{mib}")
}

/// The working set, in MiB, of what [`name`] wrote.
pub fn parse(text: &str) -> Option<usize> {
    text.strip_prefix("memory:")?.parse().ok().filter(|mib| (1..=1 << 12).contains(mib))
}

/// Nanoseconds to reach a line of a working set, where each tells which is next: of one chain, and of several that are
/// followed at a time, for each line.
pub fn measure(mib: usize) -> Value {
    let count = (mib << 20) / size_of::<Line>();
    let (lines, starts) = one_round(count, AT_ONCE[AT_ONCE.len() - 1]);
    let of = AT_ONCE.map(|chains| {
        let round_trips = starts.iter().step_by(starts.len() / chains);
        json!({ "at_once": chains, "nanoseconds_a_line": nanoseconds_a_line(&lines, round_trips.copied().collect()) })
    });
    json!({ "working_set_mib": mib, "chains": of })
}

/// Lines in one round that passes all of them in random order, and so many of them that lie equally far apart on it: one chain
/// does not go where another has just been.
fn one_round(count: usize, starts: usize) -> (Vec<Line>, Vec<u32>) {
    let mut order: Vec<u32> = (0..count as u32).collect();
    let mut stream = Stream::new(1, "memory", 0);
    for last in (1..count).rev() {
        order.swap(last, stream.below(last as u32 + 1) as usize);
    }
    let mut lines = vec![Line { next: 0 }; count];
    for (place, &line) in order.iter().enumerate() {
        lines[line as usize].next = order[(place + 1) % count];
    }
    let starts = (0..starts).map(|start| order[start * count / starts]).collect();
    (lines, starts)
}

fn nanoseconds_a_line(lines: &[Line], mut at: Vec<u32>) -> f64 {
    let rounds = REACHED / at.len();
    let start = ThreadTime::now();
    for _ in 0..rounds {
        at.iter_mut().for_each(|at| *at = lines[*at as usize].next);
    }
    black_box(&at);
    start.elapsed().as_secs_f64() * 1e9 / (rounds * at.len()) as f64
}

/// The table of working sets.
pub fn text(rows: &[Value]) -> String {
    let head: String = AT_ONCE.iter().map(|chains| format!(" {chains} at a time |")).collect();
    let mut text = format!(
        "lines of memory in random order, nanoseconds a line\n\n| working set |{head}\n|---:|{}\n",
        "---:|".repeat(AT_ONCE.len())
    );
    for row in rows {
        let chains = row["chains"].as_array().into_iter().flatten();
        let of: String = chains
            .map(|of| format!(" {:.1} |", of["nanoseconds_a_line"].as_f64().unwrap_or(f64::NAN)))
            .collect();
        text += &format!("| {} MiB |{of}\n", row["working_set_mib"]);
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        assert_eq!(parse(&name(64)), Some(64));
        assert_eq!(["memory:0", "memory:x", "memory:5000", "growth:1"].map(parse), [None; 4]);
    }

    #[test]
    fn a_round_passes_every_line_once() {
        for count in [1, 2, 7, 1000] {
            let (lines, starts) = one_round(count, 4);
            let from = starts[0];
            let round: Vec<u32> = std::iter::successors(Some(from), |&at| Some(lines[at as usize].next))
                .take(count + 1)
                .collect();
            assert_eq!(round[count], from);
            assert!((0..4).all(|start| round[start * count / 4] == starts[start]));
            let mut passed = round[..count].to_vec();
            passed.sort_unstable();
            assert!(passed.into_iter().eq(0..count as u32), "{count}");
        }
    }
}
