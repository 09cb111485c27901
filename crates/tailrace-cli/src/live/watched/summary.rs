//! What is said of a fabric when it has ended.

use tailrace_core::{Outcome, Time, duration};

use super::lines::{frame_counters, lag};
use crate::watch::Board;
use crate::watch::text::frames;

/// The ledger, lag, and every port that had something to do, in lines. Frames of which one in a hundred was later than
/// `tolerable_lag` say little about the scheme.
pub fn lines(board: &Board, outcome: &Outcome, tolerable_lag: Time) -> Vec<String> {
    let mut lines = vec![format!("{} · ended after {}", board.title, duration(outcome.end.as_secs_f64()))];
    if let Some(ledger) = &outcome.ledger {
        let (full, evicted) = (ledger.dropped_buffer.packets, ledger.dropped_evicted.packets);
        let failed = match ledger.dropped_failure.packets {
            0 => String::new(),
            packets => format!(", {packets} with a link that failed"),
        };
        lines.push(format!("{} ({full} for lack of room, {evicted} evicted{failed})", frames(ledger)));
    }
    lines.extend(outcome.real_time.as_ref().map(|real| frame_counters(real.frame_counters)));
    lines.extend(board.latest().map(|view| format!("links    {}", view.frames)));
    let late = outcome.real_time.as_ref().map(|real| (real.left.summary(), real.entered.summary()));
    lines.extend(late.map(|(left, entered)| lag(&left, &entered)));
    if let Some((lateness, _)) = late.filter(|(left, _)| left.p99 > tolerable_lag) {
        lines.push(format!(
            "note: one frame in a hundred was more than {} late; above {} times say more of this machine than of the scheme: \
             ask for fewer hosts or lower rates",
            duration(lateness.p99.as_secs_f64()),
            duration(tolerable_lag.as_secs_f64())
        ));
    }
    lines.extend(ports(board, outcome));
    lines
}

fn ports(board: &Board, outcome: &Outcome) -> Vec<String> {
    let heads = format!("{:<17}{:>12}{:>15}{:>10}{:>10}", "port", "packets", "bytes", "marked", "dropped");
    let busy = board.ports.iter().zip(&outcome.ports);
    let busy = busy.filter(|(_, counts)| counts.sent.packets + counts.dropped.packets > 0);
    let line = |(port, counts): (&crate::watch::PortName, &tailrace_core::PortCounts)| {
        format!(
            "{:<17}{:>12}{:>15}{:>10}{:>10}",
            port.name, counts.sent.packets, counts.sent.bytes, counts.marked, counts.dropped.packets
        )
    };
    let lines: Vec<String> = busy.map(line).collect();
    if lines.is_empty() { lines } else { std::iter::once(heads).chain(lines).collect() }
}
