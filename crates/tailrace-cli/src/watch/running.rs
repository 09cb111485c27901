//! `tailrace run --watch`: simulated runs, seen while they are made: one on a terminal, all of them in lines of JSON elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tailrace_console::complain;
use tailrace_core::{PortView, Progress, Time, View};
use tailrace_experiment::{Experiment, Observer, Snapshot};

use super::board::{Board, PortName};
use super::screen::Screen;
use super::text::{self, Line, Tone};
use crate::progress::Display;

/// Time between two looks on a terminal, and between two lines of a run.
const LOOK_EVERY: Duration = Duration::from_millis(200);
const LINE_EVERY: Duration = Duration::from_millis(1_000);
/// A line has so many ports.
const PORTS: usize = 10;

/// Shows the runs of an experiment while they are made.
pub struct Watching<'a> {
    experiment: &'a Experiment,
    display: Display<'a>,
    /// Of each run that was seen and goes on.
    seen: BTreeMap<usize, (Board, Progress)>,
    screen: Option<Screen>,
    /// What was said while the screen was taken.
    notes: Vec<String>,
    /// Somebody has typed q, or nobody reads the lines.
    is_over: bool,
}

impl<'a> Watching<'a> {
    /// From now on the terminal is taken, if there is one; `display` shows nothing itself.
    pub fn new(experiment: &'a Experiment, display: Display<'a>) -> Self {
        let screen = Screen::take().unwrap_or(None);
        Watching { experiment, display, seen: BTreeMap::new(), screen, notes: Vec::new(), is_over: false }
    }

    /// Gives the terminal back. Returns whether lines were written in its place.
    pub fn close(mut self) -> bool {
        let in_lines = self.screen.take().is_none();
        self.notes.iter().for_each(|note| complain!("{note}"));
        self.display.finish();
        in_lines
    }

    /// An empty board for a run: what it is of, and its fabric's ports.
    fn board(&self, run: usize) -> Board {
        let planned = &self.experiment.runs[run];
        let ports = PortName::of(&planned.but_for_seed().fabric.build());
        let point = planned.point.axes().map(|(axis, value)| format!(", {axis} {value}"));
        let title = format!("{}{}", planned.scheme, point.collect::<String>());
        // Runs differ by orders of magnitude in how far they get between two looks.
        Board::new(title, Vec::new(), ports).with_rates_over(Time::ZERO)
    }

    fn show(&mut self, run: usize) {
        let shown = match &self.screen {
            None => self.seen.get(&run).map_or(Ok(()), |(board, progress)| {
                tailrace_console::try_write(format_args!("{}\n", self.line(run, board, progress)))
            }),
            // One of them is shown to its end.
            Some(screen) => match self.seen.first_key_value() {
                Some((first, (board, progress))) if *first == run => {
                    screen.show(|columns, rows| self.lines(board, progress, columns, rows))
                }
                _ => Ok(()),
            },
        };
        self.is_over |= shown.is_err();
    }

    /// What a terminal of this size shows of a run.
    fn lines(&self, board: &Board, progress: &Progress, columns: usize, rows: usize) -> Vec<Line> {
        let mut lines = vec![
            (Tone::Title, format!("{} · q ends", board.title)),
            (Tone::Plain, self.display.text()),
            (
                Tone::Plain,
                format!("flows    {} ended, {} on their way", progress.finished, progress.active()),
            ),
        ];
        let view = board.latest().filter(|view| !view.ports.is_empty());
        lines.extend(view.map(|view| (Tone::Plain, text::frames(&view.ledger))));
        let left = rows.saturating_sub(lines.len() + self.notes.len());
        lines.extend(view.into_iter().flat_map(|_| text::ports(board, left)));
        lines.extend(text::hints(board));
        lines.extend(self.notes.iter().map(|note| (Tone::Hint, note.clone())));
        text::fit(lines, columns, rows)
    }

    /// The same as a line of JSON.
    fn line(&self, run: usize, board: &Board, progress: &Progress) -> Value {
        let planned = &self.experiment.runs[run];
        let point: serde_json::Map<String, Value> =
            planned.point.axes().map(|(axis, value)| (axis.to_owned(), json!(value))).collect();
        let mut line = json!({
            "experiment": self.experiment.name, "run": run, "scheme": planned.scheme, "point": point, "seed": planned.seed(),
            "now_s": progress.now.as_secs_f64(), "started": progress.started, "finished": progress.finished,
        });
        if let Some(view) = board.latest().filter(|view| !view.ports.is_empty()) {
            let (ledger, on_their_way) = (&view.ledger, view.ledger.queued + view.ledger.in_flight);
            line["packets"] = json!({
                "hops": progress.packet_hops, "delivered": ledger.delivered.packets,
                "on_their_way": on_their_way.packets, "dropped": ledger.dropped().packets,
                "marked": view.ports.iter().map(|port| port.counts.marked).sum::<u64>(),
            });
            line["ports"] =
                board.busiest().into_iter().take(PORTS).map(|port| of_port(board, port)).collect();
        }
        line
    }
}

fn of_port(board: &Board, port: usize) -> Value {
    let (view, pace) = board.port(port);
    json!({
        "port": board.ports[port].name, "bits_per_second": pace.bits_per_second, "utilisation": pace.utilisation,
        "queued_bytes": view.queues, "marked_packets": view.counts.marked,
        "dropped_packets": view.counts.dropped.packets,
    })
}

impl Observer for Watching<'_> {
    fn finished(&mut self, run: usize, resumed: bool) {
        self.display.finished(run, resumed);
        self.seen.remove(&run);
        if self.screen.is_none() {
            let line = json!({ "experiment": self.experiment.name, "run": run, "is_finished": true, "was_there": resumed });
            self.is_over |= tailrace_console::try_write(format_args!("{line}\n")).is_err();
        }
    }

    fn progress(&mut self, run: usize, progress: &Progress) {
        self.display.progress(run, progress);
    }

    fn looks_every(&self) -> Option<Duration> {
        Some(if self.screen.is_some() { LOOK_EVERY } else { LINE_EVERY })
    }

    fn snapshot(&mut self, run: usize, Snapshot { progress, ports, ledger }: Snapshot) {
        let mut board = match self.seen.remove(&run) {
            Some((board, _)) => board,
            None => {
                let mut board = self.board(run);
                board.take(View { ports: vec![PortView::default(); ports.len()], ..View::default() });
                board
            }
        };
        board.take(View { now: progress.now, ports, ledger: ledger.unwrap_or_default(), ..View::default() });
        self.seen.insert(run, (board, progress));
        self.show(run);
    }

    fn note(&mut self, text: &str) {
        match self.screen {
            Some(_) => self.notes.push(format!("note: {text}")),
            None => self.display.note(text),
        }
    }

    fn interrupted(&mut self) -> bool {
        self.is_over |= self.screen.as_ref().is_some_and(|screen| screen.asked_to_end().unwrap_or(true));
        self.is_over || self.display.interrupted()
    }
}
