//! Progress of an experiment: a bar on a terminal, a line now and then elsewhere; always on standard error.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tailrace_config::shown;
use tailrace_console::complain;
use tailrace_core::{Progress, Time, duration};
use tailrace_experiment::{Experiment, Observer};
use tailrace_scenario::Scenario;

use crate::Host;

/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows how far the runs of an experiment are.
pub struct Display<'a> {
    host: &'a dyn Host,
    name: String,
    /// What each run of the experiment ends with.
    ends: Vec<End>,
    /// How many runs are to be made, of which an experiment may be made several times, or in parts.
    total: usize,
    /// How far those are that are not finished, of which anything was heard.
    running: BTreeMap<usize, Progress>,
    /// What those that are finished had done when they were last heard of.
    past: Work,
    done: usize,
    resumed: usize,
    bar: Option<ProgressBar>,
    /// What has been said.
    noted: BTreeSet<String>,
    /// Somebody else shows it.
    is_silent: bool,
    started: Instant,
    last_line: Instant,
}

/// What runs have done.
#[derive(Clone, Copy, Default)]
struct Work {
    flows: usize,
    packet_hops: u64,
}

impl Work {
    fn add(&mut self, progress: &Progress) {
        self.flows += progress.finished;
        self.packet_hops += progress.packet_hops;
    }
}

/// What a run ends with, as far as the scenario says.
enum End {
    /// So many flows.
    Flows(u64),
    /// The time at which flows stop to start, or the run to be watched.
    At(Time),
    /// The end of a flow list.
    Unknown,
}

impl End {
    fn of(scenario: &Scenario) -> Self {
        match (scenario.measure.horizon, scenario.workload.flows, scenario.workload.duration) {
            (Some(horizon), ..) => End::At(horizon),
            (None, Some(flows), _) => End::Flows(flows),
            (None, None, Some(duration)) => End::At(duration),
            (None, None, None) => End::Unknown,
        }
    }

    fn share(&self, progress: &Progress) -> f64 {
        let share = match self {
            End::Flows(flows) => progress.finished as f64 / *flows as f64,
            End::At(end) => progress.now.as_secs_f64() / end.as_secs_f64(),
            End::Unknown => progress.finished as f64 / progress.started.max(1) as f64,
        };
        share.clamp(0.0, 1.0)
    }
}

impl<'a> Display<'a> {
    /// For so many runs of an experiment.
    #[expect(clippy::disallowed_methods, reason = "progress is about wall time")]
    pub fn new(experiment: &Experiment, host: &'a dyn Host, prefix: &str, total: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let template = "{prefix} {bar:30} {percent:>3} %  {msg}";
            let style =
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(1000)
                .with_style(style)
                .with_prefix(shown(&format!("{prefix}{}", experiment.name), usize::MAX))
        });
        let now = Instant::now();
        Display {
            host,
            name: format!("{prefix}{}", experiment.name),
            ends: experiment.runs.iter().map(|run| End::of(run.but_for_seed())).collect(),
            total,
            running: BTreeMap::new(),
            past: Work::default(),
            done: 0,
            resumed: 0,
            bar,
            noted: BTreeSet::new(),
            is_silent: false,
            started: now,
            last_line: now,
        }
    }

    /// The same for who shows it otherwise.
    pub fn silent(self) -> Self {
        Display { bar: None, is_silent: true, ..self }
    }

    /// Share of the work that is done.
    fn share(&self) -> f64 {
        let running: f64 = self
            .running
            .iter()
            .map(|(&index, progress)| self.ends[index % self.ends.len()].share(progress))
            .sum();
        (self.done as f64 + running) / self.total.max(1) as f64
    }

    /// How far all is, in a line.
    pub fn text(&self) -> String {
        let mut work = self.past;
        self.running.values().for_each(|progress| work.add(progress));
        let elapsed = self.started.elapsed().as_secs_f64().max(1e-3);
        let share = self.share();
        // What was there already took no time.
        let made = share - self.resumed as f64 / self.total.max(1) as f64;
        let left = if made > 0.0 { elapsed * (1.0 - share) / made } else { f64::INFINITY };
        let now = self.running.values().map(|p| p.now.as_secs_f64()).fold(0.0, f64::max);
        let Work { flows, packet_hops } = work;
        let left = match left {
            left if left < 59.5 => format!("{left:.0} s left"),
            left if left.is_finite() => format!("{} left", duration(left)),
            _ => "…".into(),
        };
        let pace = match packet_hops {
            0 => format!("{:.0} k flows/s", flows as f64 / elapsed / 1e3),
            hops => format!("{:.1} M packet-hops/s", hops as f64 / elapsed / 1e6),
        };
        let (done, runs) = (self.done, self.total);
        format!("run {done}/{runs} · {} virtual · {flows} flows · {pace} · {left}", duration(now))
    }

    #[expect(clippy::disallowed_methods, reason = "progress is about wall time")]
    fn show(&mut self) {
        if let Some(bar) = &self.bar {
            bar.set_position((self.share() * 1000.0) as u64);
            bar.set_message(self.text());
        } else if !self.is_silent && self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            complain!("{}: {:.0} % · {}", self.name, self.share() * 100.0, self.text());
        }
    }

    /// Takes the bar off the screen.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if self.resumed > 0 {
            complain!("{}: {} of {} runs were there already", self.name, self.resumed, self.total);
        }
    }
}

impl Observer for Display<'_> {
    fn finished(&mut self, index: usize, resumed: bool) {
        self.done += 1;
        if let Some(latest) = self.running.remove(&index) {
            self.past.add(&latest);
        }
        self.resumed += usize::from(resumed);
        self.show();
    }
    fn progress(&mut self, index: usize, progress: &Progress) {
        self.running.insert(index, *progress);
        self.show();
    }
    fn note(&mut self, text: &str) {
        // Runs that differ by their seeds say the same.
        if !self.noted.insert(text.to_owned()) {
            return;
        }
        let line = || complain!("{}: {text}", self.name);
        self.bar.as_ref().map_or_else(line, |bar| bar.suspend(line));
    }
    fn interrupted(&mut self) -> bool {
        self.host.interrupted()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    struct Nobody;

    impl Host for Nobody {
        fn interrupted(&self) -> bool {
            false
        }
        fn draw(&self, _: &Path) -> Option<crate::Drawn> {
            None
        }
    }

    #[test]
    fn half_is_done_after_the_first_of_two_passes() {
        let text = "[fabric]\npreset = \"micro4\"\n[workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 20\n\
                    [[scheme]]\nname = \"fifo\"\n[[scheme]]\nname = \"dctcp\"\n";
        let experiment = Experiment::from_text(text, Path::new("x.toml"), &[], &[], 1.0).unwrap();
        let mut display = Display::new(&experiment, &Nobody, "check ", 4);
        (0..2).for_each(|index| display.finished(index, false));
        assert_eq!(display.share(), 0.5);
        assert!(display.text().starts_with("run 2/4 · "), "{}", display.text());
        display.progress(2, &Progress { now: Time::from_ms(1), started: 15, finished: 10, packet_hops: 9 });
        assert_eq!(display.share(), 0.625);
        (2..4).for_each(|index| display.finished(index, false));
        assert_eq!(display.share(), 1.0);
    }

    #[test]
    fn shares_follow_what_ends_the_run() {
        let progress = Progress { now: Time::from_ms(5), started: 100, finished: 40, packet_hops: 0 };
        assert_eq!(End::At(Time::from_ms(20)).share(&progress), 0.25);
        assert_eq!(End::Flows(400).share(&progress), 0.1);
        assert_eq!(End::Unknown.share(&progress), 0.4);
        assert_eq!(End::At(Time::from_ms(2)).share(&progress), 1.0);
    }
}
