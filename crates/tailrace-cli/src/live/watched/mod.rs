//! A fabric that runs in real time: shown on a terminal or in lines, and as metrics.

mod follow;
mod lines;
mod metrics;
mod summary;

use std::ops::ControlFlow;
use std::sync::mpsc::{TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tailrace_core::{Outcome, Time, View};
use tailrace_experiment::Error;
use tailrace_linux::{Server, serve};
use tailrace_run::RunError;

pub use follow::Stops;
use follow::{Ended, Follower};

use crate::watch::Board;

/// Views that may wait for a terminal which takes nothing for a while.
const WAITING_VIEWS: usize = 50;
/// As a shell reports a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// What else there is to be seen to while a fabric runs; the lines that it says are shown.
pub type Tend<'a> = &'a mut dyn FnMut(&Mutex<Board>) -> Result<Vec<String>, Error>;

/// A fabric that is to be watched.
pub struct Watched<'a> {
    pub board: Mutex<Board>,
    /// What is said when it runs.
    pub welcome: Vec<String>,
    pub server: Option<Server>,
    pub stops: Stops<'a>,
    pub tend: Tend<'a>,
}

/// What became of a fabric that was watched.
pub struct Seen {
    board: Board,
    ended: Result<Ended, Error>,
    outcome: Result<Outcome, Error>,
}

impl Watched<'_> {
    /// Runs a fabric on a thread of its own, so that neither a terminal nor whoever asks for metrics can hold it up. It
    /// gives views, until it is told that there were enough.
    #[expect(clippy::disallowed_methods, reason = "a terminal must not hold up the fabric")]
    pub fn run(
        mut self,
        fabric: impl FnOnce(&mut dyn FnMut(View) -> ControlFlow<()>) -> Result<Outcome, RunError> + Send,
    ) -> Seen {
        let (sender, views) = sync_channel(WAITING_VIEWS);
        let lasts = self.stops.lasts();
        let mut watch = move |view: View| {
            let over = lasts.is_some_and(|lasts| view.now >= lasts);
            match sender.try_send(view) {
                // If it waits for a terminal, the next one says the same and more.
                Ok(()) | Err(TrySendError::Full(_)) if !over => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        };
        self.welcome.extend(
            self.server.as_ref().map(|server| format!("metrics: http://{}/metrics", server.server_addr())),
        );
        let Watched { board, welcome, server, stops, tend } = self;
        let (ended, outcome) = thread::scope(|scope| {
            let fabric = scope.spawn(move || {
                let outcome = fabric(&mut watch);
                drop(watch); // which tells whoever follows that there are no more views
                outcome
            });
            let server = server.as_ref();
            if let Some(server) = server {
                let text = || metrics::text(&board.lock().unwrap_or_else(PoisonError::into_inner));
                scope.spawn(move || serve(server, &text));
            }
            let ended = Follower::new(&board, welcome, stops, tend).follow(views);
            let outcome = fabric.join();
            server.inspect(|server| server.unblock());
            let outcome = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (ended, outcome.map_err(Error::from))
        });
        Seen { board: board.into_inner().unwrap_or_else(PoisonError::into_inner), ended, outcome }
    }
}

impl Seen {
    /// Tells what became of it; returns the command's exit status.
    pub fn tell(self, tolerable_lag: Time) -> Result<i32, Error> {
        let told = say_all(&summary::lines(&self.board, &self.outcome?, tolerable_lag));
        match (self.ended?, told) {
            (Ended::Unheard, _) | (_, false) => Ok(tailrace_console::CLOSED_PIPE),
            (Ended::Interrupted, _) => Ok(INTERRUPTED),
            (Ended::AsAsked, _) => Ok(0),
        }
    }
}

/// Tells lines on standard output; returns whether anybody hears.
fn say_all(lines: &[String]) -> bool {
    lines.iter().all(|line| tailrace_console::try_write(format_args!("{line}\n")).is_ok())
}
