//! A shell script that gives a Linux interface a scheme's queues: `ets` serves bands strictly in order, `flower`
//! sorts packets into them by DSCP, `red` with min = K and max = K + 1 marks at a step.
//!
//! `red` marks by the length of whatever hangs below it. Over `ets` it sees the total of all bands, below `ets`
//! one band: so a script can mark by port or by queue.

use std::fmt::Write;
use std::ops::Range;

use tailrace_core::{MTU_BYTES, MarkedLength, Rate};
use tailrace_experiment::Error;

use super::job::{Job, Written};

/// What an interface may hold, in multiples of K: `red` wants a limit, and drops beyond it.
const LIMIT: u64 = 16;

/// `red` keeps lengths in 32 bits, of which its limit, in multiples of K, takes some; no port has a buffer of 64 MiB.
const MAX: u64 = 1 << 26;

/// The script as it grows, one qdisc under another.
struct Lines<'a> {
    job: &'a Job,
    text: String,
}

pub fn write(job: &Job) -> Result<Written, Error> {
    job.only_strict("linux-tc")?;
    job.check_thresholds("linux-tc", (MAX, "64 MiB, more than any port has"))?;
    let mut lines = Lines { job, text: header(job) };
    lines.tree();
    lines.text.push_str("trap - EXIT\n");
    Ok(Written { text: lines.text, notes: Vec::new() })
}

/// What the script does, its arguments, K by rate, and a clean start.
fn header(job: &Job) -> String {
    let mut text =
        format!("#!/bin/sh\n# Queues and ECN marking for {}, written by tailrace qos.\n#\n", job.scheme);
    let _ = writeln!(text, "#   sh FILE RATE INTERFACE     such as: sh FILE {} eth0\n#", job.plans[0].0);
    let _ = writeln!(text, "# queue  DSCP  holds");
    for (number, queue) in job.any().queues.iter().enumerate() {
        let _ = writeln!(text, "# {number:>5}  {:>4}  {}", queue.dscp, queue.holds);
    }
    let _ =
        writeln!(text, "#\n# Other DSCPs go into the last queue, network control (48, 56) into the first.");
    for note in notes(job) {
        let _ = writeln!(text, "# {note}");
    }
    text.push_str(
        "set -eu\n[ $# -eq 2 ] || { echo \"usage: $0 RATE INTERFACE\" >&2; exit 2; }\ncase $1 in\n",
    );
    for (rate, plan) in &job.plans {
        let _ = writeln!(
            text,
            "{rate}) {} ;;",
            plan.marking.map_or(":".into(), |m| variables(*rate, m.above_bytes))
        );
    }
    let rates: Vec<String> = job.plans.iter().map(|(rate, _)| rate.to_string()).collect();
    let _ =
        writeln!(text, "*) echo \"$0: no threshold for $1; there are: {}\" >&2; exit 2 ;;", rates.join(" "));
    text.push_str("esac\nDEV=$2\ntc qdisc del dev \"$DEV\" root 2>/dev/null || true\n");
    text.push_str("# All or nothing: what fails half-way leaves the interface as it comes.\n");
    text.push_str("trap 'tc qdisc del dev \"$DEV\" root 2>/dev/null || true' EXIT\n");
    text
}

/// The arguments of `red`.
fn variables(rate: Rate, above: u64) -> String {
    let (packet, burst) = average(above);
    // Only for how fast the average falls while the link is idle; tc keeps it in 32 bits, as bytes a second.
    let bandwidth = rate.as_bps().min(32_000_000_000);
    format!(
        "RED=\"limit {} min {above} max {} avpkt {packet} burst {burst} bandwidth {bandwidth}bit probability 1 ecn nodrop\"",
        above * LIMIT,
        above + 1
    )
}

/// Size and number of packets from which tc derives how fast the average follows: the least burst that it takes,
/// of packets whose size divides K or nearly so, gives the fastest, half the way with each packet.
fn average(above: u64) -> (u64, u64) {
    let packet = above.div_ceil(above / u64::from(MTU_BYTES));
    (packet, above.div_ceil(packet))
}

fn notes(job: &Job) -> Vec<String> {
    let Some(marking) = job.any().marking else { return Vec::new() };
    let mut notes = vec![
        "red compares an average over two packets, without the one that arrives, with K: marks come up to"
            .to_owned(),
        format!(
            "two packets late. Packets that are not ECN-capable wait unmarked. Beyond {LIMIT} times K all are dropped."
        ),
    ];
    if marking.length == MarkedLength::PortExceptFirst && job.any().queues.len() > 1 {
        notes.push(
            "The first queue is marked by its own length, the others by their total without the first."
                .into(),
        );
    }
    notes
}

impl Lines<'_> {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn tree(&mut self) {
        let queues = self.job.any().queues.len();
        match self.job.any().marking.map(|marking| marking.length) {
            None => self.bands("root", 1, 0..queues),
            Some(MarkedLength::Port) => {
                self.red("root", 1);
                self.bands("parent 1:1", 2, 0..queues);
            }
            Some(MarkedLength::Queue) if queues == 1 => self.red("root", 1),
            Some(MarkedLength::Queue) => {
                self.bands("root", 1, 0..queues);
                (0..queues).for_each(|queue| self.red(&format!("parent 1:{}", queue + 1), 16 + queue));
            }
            Some(MarkedLength::PortExceptFirst) if queues == 1 => self.red("root", 1),
            Some(MarkedLength::PortExceptFirst) => {
                // Two bands, the second for all other queues together.
                self.ets("root", 1, 2);
                self.filters(1, 0..queues, |queue| queue.min(1));
                self.red("parent 1:1", 2);
                self.red("parent 1:2", 3);
                self.bands("parent 3:1", 4, 1..queues);
            }
        }
    }

    fn red(&mut self, place: &str, handle: usize) {
        self.line(&format!("tc qdisc add dev \"$DEV\" {place} handle {handle:x}: red $RED"));
    }

    /// Some of the queues as bands of one `ets`; one alone needs none.
    fn bands(&mut self, place: &str, handle: usize, queues: Range<usize>) {
        if queues.len() > 1 {
            self.ets(place, handle, queues.len());
            self.filters(handle, queues.clone(), |queue| queue - queues.start);
        }
    }

    /// What no filter takes, such as ARP, goes into the last band.
    fn ets(&mut self, place: &str, handle: usize, bands: usize) {
        let last = vec![(bands - 1).to_string(); 16].join(" ");
        let line =
            format!("tc qdisc add dev \"$DEV\" {place} handle {handle:x}: ets bands {bands} strict {bands}");
        self.line(&format!("{line} \\\n    priomap {last}"));
    }

    /// Sorts packets of some of the queues into bands by DSCP; `band` is that of a queue.
    fn filters(&mut self, handle: usize, queues: Range<usize>, band: impl Fn(usize) -> usize) {
        let last = band(queues.end - 1);
        for dscp in (0..64).rev() {
            let queue = self.job.queue_of(dscp);
            if !queues.contains(&queue) || band(queue) == last {
                continue; // Never here, or here by default.
            }
            for (priority, protocol) in [(1, "ip"), (2, "ipv6")] {
                self.line(&format!(
                    "tc filter add dev \"$DEV\" parent {handle:x}: protocol {protocol} prio {priority} \
                     flower ip_tos {:#x}/0xfc classid {handle:x}:{}",
                    dscp << 2,
                    band(queue) + 1
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tc_red_eval_ewma of iproute2 (tc/tc_red.c): the average moves by 2^-W with each packet.
    fn ewma(min: f64, burst: f64, packet: f64) -> Option<i32> {
        let a = burst + 1.0 - min / packet;
        (1..32).find(|&w| a >= 1.0 && a <= (1.0 - (1.0 - 0.5f64.powi(w)).powf(burst)) * 2f64.powi(w))
    }

    #[test]
    fn the_average_follows_as_fast_as_tc_can() {
        let dense = (u64::from(MTU_BYTES)..100_000).step_by(7);
        let sparse = (100_000..=MAX).step_by(99_991);
        for above in dense.chain(sparse).chain([97_500, 375_000, MAX]) {
            let (packet, burst) = average(above);
            assert_eq!(
                ewma(above as f64, burst as f64, packet as f64),
                Some(1),
                "{above}: {burst} of {packet}"
            );
        }
    }
}
