//! The live view, as lines for a terminal of a given size.

use tailrace_core::{FrameCounters, Lateness, View, duration};

use crate::watch::text::{Line, Tone, fit, frames, hints, ports, short};
use crate::watch::{Board, Report, Spot};

/// Reports take no more than this part of the lines, and none where these are few.
const REPORTS_PART: usize = 3;
const FEW: usize = 16;

/// The view, in so many lines of so many columns at most.
pub fn lines(board: &Board, columns: usize, rows: usize) -> Vec<Line> {
    let mut lines = head(board);
    let reports = reports(board, if rows < FEW { 0 } else { rows / REPORTS_PART });
    let left = rows.saturating_sub(lines.len() + reports.len() + board.hints.len());
    lines.extend(ports(board, left));
    lines.extend(reports);
    lines.extend(hints(board));
    fit(lines, columns, rows)
}

fn head(board: &Board) -> Vec<Line> {
    let Some(view) = board.latest() else { return vec![(Tone::Title, board.title.clone())] };
    let title = format!("{} · {} · q ends", board.title, duration(view.now.as_secs_f64()));
    let plain = [frames(&view.ledger), lag(&view.lateness, &view.entry), frame_counters(view.frame_counters)];
    let mut lines = vec![(Tone::Title, title)];
    lines.extend(plain.map(|line| (Tone::Plain, line)));
    lines
}

/// How late frames were, in a line: as they left, and as they had come in.
pub fn lag(left: &Lateness, entered: &Lateness) -> String {
    let said = |time: tailrace_core::Time| duration(time.as_secs_f64());
    let all = |lag: &Lateness| match lag.count {
        0 => "none yet".to_owned(),
        _ => format!("median {}, 99 % below {}, worst {}", said(lag.median), said(lag.p99), said(lag.worst)),
    };
    format!("lag      {}; in: {}", all(left), all(entered))
}

/// Counters of frames beside those of ports, in a line.
pub fn frame_counters(frame_counters: FrameCounters) -> String {
    let FrameCounters { unroutable, too_long, answered, link_down, lost, back, no_room, strange } =
        frame_counters;
    let said = [
        (unroutable, "for nobody"),
        (too_long, "too long"),
        (link_down, "link down"),
        (lost, "too fast for this machine"),
        (no_room, "copies without room"),
        (back, "for where they came from"),
        (strange, "not understood by their host"),
        (answered, "questions answered"),
    ];
    let said = said.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let said: Vec<String> = said.collect();
    format!("strays   {}", if said.is_empty() { "none".to_owned() } else { said.join(", ") })
}

/// What the policies of the busiest ports have reported in bytes, and those of hosts: thresholds, with a line before.
fn reports(board: &Board, rows: usize) -> Vec<Line> {
    let spots = board.busiest().into_iter().map(|port| Spot::Port(port as u32));
    let hosts = board.reports.keys().map(|(spot, _)| *spot).filter(|spot| matches!(spot, Spot::Host(_)));
    let mut spots: Vec<Spot> = spots.chain(hosts).collect();
    spots.dedup();
    let of = |spot: Spot| board.reports.range((spot, "")..).take_while(move |((other, _), _)| *other == spot);
    let shown = spots.into_iter().flat_map(of).filter(|((_, metric), _)| metric.ends_with("_bytes"));
    let line = |((spot, metric), report): (&(Spot, &'static str), &Report)| {
        let values: String = report.values.iter().map(|&value| format!("{:>5}", short(value))).collect();
        let metric = metric.trim_end_matches("_bytes");
        (Tone::Plain, format!("{:<17}{metric:>12}{values:<40}{:>6}", board.name(*spot), report.moves))
    };
    let lines: Vec<Line> = shown.map(line).take(rows.saturating_sub(2)).collect();
    if lines.is_empty() {
        return lines;
    }
    let heads = format!("{:<17}{:>12}{:>40}{:>6}", "thresholds", "", "bytes", "moves");
    [(Tone::Plain, String::new()), (Tone::Heads, heads)].into_iter().chain(lines).collect()
}

/// The view in a line, for where there is no terminal.
pub fn line(board: &Board, view: &View) -> String {
    let busiest: Vec<String> = board
        .busiest()
        .into_iter()
        .map(|port| (port, board.port(port).1))
        .filter(|(_, pace)| pace.bits_per_second > 0.0)
        .take(3)
        .map(|(port, pace)| format!("{} {:.0} %", board.ports[port].name, pace.utilisation * 100.0))
        .collect();
    let busiest = if busiest.is_empty() { "all ports idle".to_owned() } else { busiest.join(", ") };
    let marked: u64 = view.ports.iter().map(|port| port.counts.marked).sum();
    let moves: u64 = board.reports.values().map(|report| report.moves).sum();
    let lag = match view.lateness.count {
        0 => String::new(),
        _ => format!("; lag below {} for 99 %", duration(view.lateness.p99.as_secs_f64())),
    };
    format!(
        "{:.1} s: {busiest}; {} frames delivered, {marked} marked, {} dropped; {moves} moves of thresholds{lag}",
        view.now.as_secs_f64(),
        view.ledger.delivered.packets,
        view.ledger.dropped().packets,
    )
}

#[cfg(test)]
mod tests {
    use tailrace_core::Time;

    use super::*;
    use crate::watch::tests::{board, view};

    #[test]
    fn a_terminal_of_80_by_24_is_enough() {
        let mut board = board(40);
        board.take(view(0, &[(0, 0); 40], &[]));
        let ports: Vec<(u64, u64)> = (0..40).map(|port| (port * 312_500, 2_000_000)).collect();
        board.take(view(1_000, &ports, &[1e3, 2e4, 3e5, 4e6, 5e6, 6e6, 7e6]));
        let lines = lines(&board, 80, 24);
        assert_eq!(lines.len(), 24);
        assert!(lines.iter().all(|(_, line)| line.chars().count() <= 80), "{lines:?}");
        let text: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(text[0], "test · 1.00 s · q ends");
        assert_eq!(
            text[5],
            "port              bit/s  link   q0   q1   q2   q3   q4   q5   q6   q7 mark drop"
        );
        assert_eq!(
            text[6],
            "leaf0->host38       95M  95 %    0    0    0    0    0    0    0 2.0M  118    0"
        );
        assert_eq!(lines[6].0, Tone::Busy);
        assert!(text.contains(&"and 27 ports that are less busy"), "{text:?}");
        assert_eq!(text[22], "leaf0->host0        threshold 1.0K  20K 300K 4.0M 5.0M 6.0M 7.0M          0");
        assert_eq!(text[23], "do this");
    }

    #[test]
    fn any_size_will_do() {
        let mut board = board(9);
        for (columns, rows) in [(80, 24), (1, 1), (0, 0), (20, 7), (500, 200)] {
            assert!(lines(&board, columns, rows).len() <= rows);
        }
        board.take(view(0, &[(5, 5); 9], &[1.0]));
        for (columns, rows) in [(80, 24), (1, 1), (0, 0), (20, 7), (500, 200)] {
            let lines = lines(&board, columns, rows);
            assert!(lines.len() <= rows && lines.iter().all(|(_, line)| line.chars().count() <= columns));
        }
    }

    #[test]
    fn a_line_says_what_is_busy() {
        let mut board = board(2);
        board.take(view(0, &[(0, 0); 2], &[]));
        assert!(line(&board, board.latest().unwrap()).starts_with("0.0 s: all ports idle; 0 frames"));
        board.take(view(1_000, &[(0, 0), (6_250_000, 0)], &[]));
        let view = board.latest().unwrap();
        assert_eq!(view.now, Time::from_ms(1_000));
        assert!(line(&board, view).starts_with("1.0 s: leaf0->host1 50 %; "), "{}", line(&board, view));
    }
}
