//! `tailrace measure`: sizes, durations and inter-arrival times of this machine's TCP flows.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use indicatif::ProgressBar;
use signal_hook::consts::SIGTERM;
use tailrace_bpf::{Capture, Connection, Draft, Facts, Groups, Wanted, monotonic, own_cgroup};
use tailrace_config::ScenarioError;
use tailrace_console::{complain, say, say_part};
use tailrace_core::{Rate, Time, duration};
use tailrace_linux::notice;

use super::grouped::{By, Grouped};
use super::interface::Interface;
use super::measured;
use crate::Error;

/// How long it waits for what the kernel says, at most.
const PATIENCE: Duration = Duration::from_millis(100);
/// Time between two lines where there is no terminal.
const LINE_EVERY: f64 = 10.0;

/// What is measured, and where it is written.
#[derive(Clone, Debug)]
pub struct Measure {
    /// It ends by itself after this time.
    pub lasts: Option<Time>,
    /// Connections over this interface only; all but loopback otherwise.
    pub interface: Option<String>,
    /// Connections of sockets in this cgroup and below only.
    pub cgroup: Option<PathBuf>,
    /// Statistics and sizes of each group of connections as well.
    pub by: Option<By>,
    /// For slices: an agent's file, whose rules say which connections are of which slice.
    pub rules: Option<PathBuf>,
    /// The link's rate, for the load.
    pub rate: Option<Rate>,
    /// The result folder, which must not be there.
    pub out: PathBuf,
}

/// Measures until it is to end; returns the exit status of its command.
pub fn measure(options: &Measure, interrupted: &dyn Fn() -> bool) -> Result<i32, Error> {
    if options.out.symlink_metadata().is_ok() {
        let message = format!("{} is there already; give another folder", options.out.display());
        return Err(ScenarioError::new("--out", message).into());
    }
    let interface =
        options.interface.as_deref().map(|name| Interface::find("--interface", name)).transpose()?;
    let cgroup = options.cgroup.as_deref().map(own_cgroup).transpose();
    let cgroup = cgroup.map_err(|message| ScenarioError::new("--cgroup", message))?;
    let stop = notice(&[SIGTERM])?;
    let wanted = Wanted { interface: interface.as_ref().map(|of| of.number), cgroup, ..Wanted::default() };
    let mut run = Run::new(options, &wanted)?;
    while !run.over(options.lasts) && !interrupted() && !stop.load(std::sync::atomic::Ordering::Relaxed) {
        run.look()?;
    }
    run.finish(options, rate(options, interface.as_ref()))
}

/// The link's rate, and where it is from.
fn rate(options: &Measure, interface: Option<&Interface>) -> Option<(u64, String)> {
    let given = options.rate.map(|rate: Rate| (rate.as_bps(), "--rate".to_owned()));
    given.or_else(|| {
        let (rate, name) = (interface?.rate?, options.interface.as_ref()?);
        Some((rate.as_bps(), format!("what {name} says")))
    })
}

/// A capture that goes on.
struct Run {
    capture: Capture,
    groups: Groups,
    grouped: Grouped,
    draft: Draft,
    begun: u64,
    bar: Option<ProgressBar>,
    last_line: f64,
}

impl Run {
    fn new(options: &Measure, wanted: &Wanted) -> Result<Self, Error> {
        let grouped = Grouped::of(options.by, options.rules.as_deref())?;
        let begun = monotonic();
        let capture = Capture::new(wanted)?;
        let draft = Draft::new(&options.out, begun)?;
        let bar = std::io::stderr().is_terminal().then(ProgressBar::new_spinner);
        if bar.is_none() {
            complain!("measure: the TCP connections of this network namespace, from now on");
        }
        Ok(Run { capture, groups: Groups::default(), grouped, draft, begun, bar, last_line: 0.0 })
    }

    fn seconds(&self) -> f64 {
        (monotonic() - self.begun) as f64 / 1e9
    }

    fn over(&self, lasts: Option<Time>) -> bool {
        lasts.is_some_and(|lasts| self.seconds() >= lasts.as_secs_f64())
    }

    fn look(&mut self) -> Result<(), Error> {
        let heard = self.capture.look(PATIENCE)?;
        self.take(&heard)?;
        let seconds = self.seconds();
        if let Some(bar) = &self.bar {
            bar.set_message(self.text(seconds));
            bar.tick();
        } else if seconds >= self.last_line + LINE_EVERY {
            self.last_line = seconds;
            complain!("measure: {}", self.text(seconds));
        }
        Ok(())
    }

    fn take(&mut self, heard: &[Connection]) -> Result<(), Error> {
        for connection in heard {
            self.groups.add(connection, self.grouped.group(connection));
            self.draft.add(connection)?;
        }
        Ok(())
    }

    fn text(&self, seconds: f64) -> String {
        let all = &self.groups.all;
        let lost = match self.capture.unsaid() {
            Ok((lost, _)) if lost > 0 => format!(" · {lost} LOST"),
            _ => String::new(),
        };
        format!(
            "{} · {} connections · {} flows · {:.1} MB{lost}",
            duration(seconds),
            all.whole,
            all.sizes.count(),
            (all.sent + all.received) as f64 / 1e6
        )
    }

    fn finish(mut self, options: &Measure, rate: Option<(u64, String)>) -> Result<i32, Error> {
        let seconds = self.seconds();
        let Run { capture, ref bar, .. } = self;
        bar.as_ref().inspect(|bar| bar.finish_and_clear());
        let (heard, (lost, local)) = capture.finish()?;
        for connection in &heard {
            self.groups.add(connection, self.grouped.group(connection));
            self.draft.add(connection)?;
        }
        let Run { groups, draft, mut grouped, .. } = self;
        if groups.all.sizes.count() == 0 {
            let message = format!(
                "no TCP connection has begun, carried anything and ended within {}; nothing is written{}",
                duration(seconds),
                measured::remarks(&groups, lost, local)
            );
            return Err(Error::Live(tailrace_core::LiveError::SetUp(message)));
        }
        grouped.look();
        let name = |group: u64| grouped.name(group);
        let facts = Facts { seconds, rate, lost, local };
        let unlisted = draft.unlisted();
        draft.finish(&groups, &facts, &name)?;
        say_part!("{}", measured::text(&groups, &facts, unlisted, &name));
        say!("{}", options.out.display());
        Ok(0)
    }
}
