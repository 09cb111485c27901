//! Progress of an experiment: a bar on a terminal, a line now and then elsewhere; always on standard error.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tailrace_config::shown;
use tailrace_core::{Progress, Time};
use tailrace_experiment::{Experiment, Observer};
use tailrace_scenario::Scenario;

use crate::Host;
use crate::duration::duration;

/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows how far the runs of an experiment are.
pub struct Display<'a> {
    host: &'a dyn Host,
    name: String,
    /// What each run ends with.
    ends: Vec<End>,
    latest: Vec<Option<Progress>>,
    done: Vec<bool>,
    resumed: usize,
    bar: Option<ProgressBar>,
    started: Instant,
    last_line: Instant,
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
    /// For an experiment that is made so many times, one after the other.
    #[expect(clippy::disallowed_methods, reason = "progress is about wall time")]
    pub fn new(experiment: &Experiment, host: &'a dyn Host, prefix: &str, passes: usize) -> Self {
        let runs = experiment.runs.len() * passes;
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
            ends: experiment.runs.iter().cycle().take(runs).map(|run| End::of(&run.scenario)).collect(),
            latest: vec![None; runs],
            done: vec![false; runs],
            resumed: 0,
            bar,
            started: now,
            last_line: now,
        }
    }

    /// Share of the work that is done.
    fn share(&self) -> f64 {
        let parts = self.done.iter().enumerate().map(|(index, &done)| match (done, &self.latest[index]) {
            (true, _) => 1.0,
            (false, Some(progress)) => self.ends[index].share(progress),
            (false, None) => 0.0,
        });
        parts.sum::<f64>() / self.done.len().max(1) as f64
    }

    fn text(&self) -> String {
        let finished = self.done.iter().filter(|done| **done).count();
        let running: Vec<&Progress> = std::iter::zip(&self.latest, &self.done)
            .filter_map(|(latest, done)| latest.as_ref().filter(|_| !done))
            .collect();
        let hops: u64 = self.latest.iter().flatten().map(|p| p.packet_hops).sum();
        let elapsed = self.started.elapsed().as_secs_f64().max(1e-3);
        let share = self.share();
        // What was there already took no time.
        let made = share - self.resumed as f64 / self.done.len().max(1) as f64;
        let left = if made > 0.0 { elapsed * (1.0 - share) / made } else { f64::INFINITY };
        let now = running.iter().map(|p| p.now.as_secs_f64()).fold(0.0, f64::max);
        let flows: usize = self.latest.iter().flatten().map(|p| p.finished).sum();
        let left = match left {
            left if left < 59.5 => format!("{left:.0} s left"),
            left if left.is_finite() => format!("{} left", duration(left)),
            _ => "…".into(),
        };
        let pace = match hops {
            0 => format!("{:.0} k flows/s", flows as f64 / elapsed / 1e3),
            hops => format!("{:.1} M packet-hops/s", hops as f64 / elapsed / 1e6),
        };
        let runs = self.done.len();
        format!("run {finished}/{runs} · {} virtual · {flows} flows · {pace} · {left}", duration(now))
    }

    #[expect(clippy::disallowed_methods, reason = "progress is about wall time")]
    fn show(&mut self) {
        if let Some(bar) = &self.bar {
            bar.set_position((self.share() * 1000.0) as u64);
            bar.set_message(self.text());
        } else if self.last_line.elapsed() >= LINE_EVERY {
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
            complain!("{}: {} of {} runs were there already", self.name, self.resumed, self.done.len());
        }
    }
}

impl Observer for Display<'_> {
    fn finished(&mut self, index: usize, resumed: bool) {
        self.done[index] = true;
        self.resumed += usize::from(resumed);
        self.show();
    }
    fn progress(&mut self, index: usize, progress: &Progress) {
        self.latest[index] = Some(*progress);
        self.show();
    }
    fn note(&mut self, text: &str) {
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
        let experiment = Experiment::from_text(text, Path::new("x.toml"), &[], 1.0).unwrap();
        let mut display = Display::new(&experiment, &Nobody, "check ", 2);
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
