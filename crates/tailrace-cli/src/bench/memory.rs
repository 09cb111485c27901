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
/// As many chains as are followed at a time: some lines that a packet-hop needs are known before others have come.
const AT_ONCE: usize = 8;

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
    let lines = one_round((mib << 20) / size_of::<Line>());
    json!({
        "working_set_mib": mib,
        "nanoseconds_one_after_another": nanoseconds_a_line(&lines, 1),
        "nanoseconds_several_at_once": nanoseconds_a_line(&lines, AT_ONCE),
    })
}

/// Lines in one round that passes all of them in random order (Sattolo 1986).
fn one_round(count: usize) -> Vec<Line> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    let mut stream = Stream::new(1, "memory", 0);
    for last in (1..count).rev() {
        order.swap(last, stream.below(last as u32) as usize);
    }
    order.into_iter().map(|next| Line { next }).collect()
}

fn nanoseconds_a_line(lines: &[Line], chains: usize) -> f64 {
    let mut at: Vec<u32> = (0..chains).map(|chain| (chain * lines.len() / chains) as u32).collect();
    let start = ThreadTime::now();
    for _ in 0..REACHED / chains {
        at.iter_mut().for_each(|at| *at = lines[*at as usize].next);
    }
    black_box(&at);
    start.elapsed().as_secs_f64() * 1e9 / REACHED as f64
}

/// The table of working sets.
pub fn text(rows: &[Value]) -> String {
    let mut text = format!(
        "lines of memory in random order\n\n| working set | ns a line, one after another | ns a line, {AT_ONCE} at a time |\n\
         |---:|---:|---:|\n"
    );
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
        text += &format!(
            "| {} MiB | {:.1} | {:.1} |\n",
            row["working_set_mib"],
            number("nanoseconds_one_after_another"),
            number("nanoseconds_several_at_once")
        );
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
            let lines = one_round(count);
            let round: Vec<u32> =
                std::iter::successors(Some(0), |&at| Some(lines[at as usize].next)).take(count + 1).collect();
            assert_eq!(round[count], 0);
            let mut passed = round[..count].to_vec();
            passed.sort_unstable();
            assert!(passed.into_iter().eq(0..count as u32), "{count}");
        }
    }
}
