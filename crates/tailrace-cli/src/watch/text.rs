//! Lines of a view for a terminal.

use tailrace_core::{Ledger, MAX_PRIORITIES};

use super::board::Board;

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// What it is.
    Title,
    /// What columns hold.
    Heads,
    /// Something that is as it is.
    Plain,
    /// A port whose link is nearly full.
    Busy,
    /// What to do.
    Hint,
}

/// A line of the view.
pub type Line = (Tone, String);

/// Links above this are busy.
const BUSY: f64 = 0.9;
/// What of lines has room.
pub fn fit(mut lines: Vec<Line>, columns: usize, rows: usize) -> Vec<Line> {
    lines.truncate(rows);
    for (_, line) in &mut lines {
        *line = line.chars().take(columns).collect();
    }
    lines
}

/// Where frames are, in a line.
pub fn frames(ledger: &Ledger) -> String {
    let on_their_way = ledger.queued + ledger.in_flight;
    format!(
        "frames   {} delivered, {} on their way, {} dropped",
        ledger.delivered.packets,
        on_their_way.packets,
        ledger.dropped().packets
    )
}

/// The busiest ports, and how many others there are, with a line before.
pub fn ports(board: &Board, rows: usize) -> Vec<Line> {
    let queues: String = (0..MAX_PRIORITIES).map(|queue| format!("{:>5}", format!("q{queue}"))).collect();
    let heads = format!("{:<17}{:>6}{:>6}{queues}{:>5}{:>5}", "port", "bit/s", "link", "mark", "drop");
    let mut lines = vec![(Tone::Plain, String::new()), (Tone::Heads, heads)];
    let all = board.busiest();
    let room = rows.saturating_sub(lines.len());
    let fit = if all.len() > room { room.saturating_sub(1) } else { room };
    lines.extend(all.iter().take(fit).map(|&port| port_line(board, port)));
    if all.len() > fit {
        lines.push((Tone::Plain, format!("and {} ports that are less busy", all.len() - fit)));
    }
    lines
}

fn port_line(board: &Board, port: usize) -> Line {
    let (view, pace) = board.port(port);
    let queues: String = view.queues.iter().map(|&bytes| format!("{:>5}", short(bytes as f64))).collect();
    let line = format!(
        "{:<17}{:>6}{:>6}{queues}{:>5}{:>5}",
        board.ports[port].name,
        short(pace.bits_per_second),
        format!("{:.0} %", pace.utilisation * 100.0),
        short(view.counts.marked as f64),
        short(view.counts.dropped.packets as f64),
    );
    (if pace.utilisation >= BUSY { Tone::Busy } else { Tone::Plain }, line)
}

/// Hints for the person at the terminal.
pub fn hints(board: &Board) -> impl Iterator<Item = Line> {
    board.hints.iter().map(|hint| (Tone::Hint, hint.clone()))
}

/// A number in four characters at most, thousands as K, M, G or T.
pub fn short(number: f64) -> String {
    let mut number = number;
    for unit in ["", "K", "M", "G", "T"] {
        // What would be written as 1000 is one of the next unit.
        if number < 999.5 || unit == "T" {
            let decimals = usize::from(!unit.is_empty() && number < 9.95);
            return format!("{number:.decimals$}{unit}");
        }
        number /= 1_000.0;
    }
    unreachable!("the last unit takes any number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_characters() {
        for (number, said) in [
            (0.0, "0"),
            (999.4, "999"),
            (999.5, "1.0K"),
            (9_949.0, "9.9K"),
            (9_951.0, "10K"),
            (999_499.0, "999K"),
            (999_500.0, "1.0M"),
            (97_100_000.0, "97M"),
            (5e15, "5000T"),
        ] {
            assert_eq!(short(number), said);
        }
    }
}
