//! `tailrace measure`: sizes, durations and inter-arrival times of this machine's TCP flows.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::ProgressBar;
use signal_hook::consts::SIGTERM;
use tailrace_agent::{Capture, Connection, Draft, Facts, Groups, Wanted, monotonic, own_cgroup};
use tailrace_config::ScenarioError;
use tailrace_core::{Rate, Time, duration};
use tailrace_experiment::Error;

use super::grouped::Grouped;
use super::interface::Interface;
use super::{failed, measured};
use crate::watch::notice;
use crate::{Host, args};

/// How long it waits for what the kernel says, at most.
const PATIENCE: Duration = Duration::from_millis(100);
/// Time between two lines where there is no terminal.
const LINE_EVERY: f64 = 10.0;

pub fn measure(options: &args::Measure, host: &dyn Host) -> Result<i32, Error> {
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
    while !run.over(options.lasts) && !host.interrupted() && !stop.load(std::sync::atomic::Ordering::Relaxed)
    {
        run.look()?;
    }
    run.finish(options, rate(options, interface.as_ref()))
}

/// The link's rate, and where it is from.
fn rate(options: &args::Measure, interface: Option<&Interface>) -> Option<(u64, String)> {
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
    fn new(options: &args::Measure, wanted: &Wanted) -> Result<Self, Error> {
        let grouped = Grouped::of(options)?;
        let begun = monotonic();
        let capture = Capture::new(wanted).map_err(failed)?;
        let draft = Draft::new(&options.out, begun).map_err(failed)?;
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
        let heard = self.capture.look(PATIENCE).map_err(failed)?;
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
            self.draft.add(connection).map_err(failed)?;
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

    fn finish(mut self, options: &args::Measure, rate: Option<(u64, String)>) -> Result<i32, Error> {
        let seconds = self.seconds();
        let Run { capture, ref bar, .. } = self;
        bar.as_ref().inspect(|bar| bar.finish_and_clear());
        let (heard, (lost, local)) = capture.finish().map_err(failed)?;
        for connection in &heard {
            self.groups.add(connection, self.grouped.group(connection));
            self.draft.add(connection).map_err(failed)?;
        }
        let Run { groups, draft, mut grouped, .. } = self;
        if groups.all.sizes.count() == 0 {
            let message = format!(
                "no TCP connection has begun, carried anything and ended within {}; nothing is written{}",
                duration(seconds),
                measured::remarks(&groups, lost, local)
            );
            return Err(Error::Live(tailrace_linux::LiveError::SetUp(message)));
        }
        grouped.look();
        let name = |group: u64| grouped.name(group);
        let facts = Facts { seconds, rate, lost, local };
        let unlisted = draft.unlisted();
        draft.finish(&groups, &facts, &name).map_err(failed)?;
        say_part!("{}", measured::text(&groups, &facts, unlisted, &name));
        say!("{}", options.out.display());
        Ok(0)
    }
}
