//! `tailrace emulate`: a scenario's fabric in real time, between hosts that run programs.

mod board;
mod choose;
mod follow;
mod live;
mod metrics;
mod screen;
mod summary;

use std::ops::ControlFlow;
use std::sync::mpsc::{TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tailrace_core::Outcome;
use tailrace_experiment::Error;
use tailrace_linux::{Hosts, LiveError, View};
use tailrace_run::Live;
use tailrace_scenario::Scenario;
use tiny_http::Server;

use crate::{Host, args};
use board::Board;
pub use choose::{Planned, planned};
use follow::{Ended, Follower, Stops};

/// Views that may wait for a terminal which takes nothing for a while.
const WAITING_VIEWS: usize = 50;

pub fn emulate(options: &args::Emulate, host: &dyn Host) -> Result<i32, Error> {
    let Some(file) = &options.file else { return clean() };
    let chosen = choose::choose(options, file)?;
    let server = options.metrics.map(metrics::bind).transpose()?;
    let stops = Stops::new(host, options.lasts)?;
    for name in tailrace_linux::clean().map_err(Error::Live)? {
        complain!("note: took away what was left of {name}, which had not ended by itself");
    }
    let hosts =
        Hosts::new(chosen.programs.hosts, chosen.programs.mtu, Some(&chosen.name)).map_err(failure)?;
    let mut welcome = chosen.how_to_use();
    welcome.extend(server.as_ref().map(|server| format!("metrics: http://{}/metrics", server.server_addr())));
    let board = Mutex::new(chosen.board());
    let live = Live { record: options.record.clone(), ..Live::default() };
    let (ended, outcome) = run(&chosen.scenario, &hosts, &live, &board, server.as_ref(), (welcome, stops));
    drop(hosts);
    let outcome = outcome?;
    let board = board.into_inner().unwrap_or_else(PoisonError::into_inner);
    let told = say_all(&summary::lines(&board, &outcome, chosen.programs.tolerable_lag));
    match (ended?, told) {
        (Ended::Unheard, _) | (_, false) => Ok(crate::say::CLOSED_PIPE),
        (Ended::Interrupted, _) => Ok(INTERRUPTED),
        (Ended::AsAsked, _) => Ok(0),
    }
}

/// As a shell reports a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// Runs the fabric on a thread of its own, so that neither a terminal nor whoever asks for metrics can hold it up.
#[expect(clippy::disallowed_methods, reason = "a terminal must not hold up the fabric")]
fn run(
    scenario: &Scenario,
    hosts: &Hosts,
    live: &Live,
    board: &Mutex<Board>,
    server: Option<&Server>,
    (welcome, stops): (Vec<String>, Stops<'_>),
) -> (Result<Ended, Error>, Result<Outcome, Error>) {
    let (sender, views) = sync_channel(WAITING_VIEWS);
    let mut watch = move |view: View| match sender.try_send(view) {
        // If it waits for a terminal, the next one says the same and more.
        Ok(()) | Err(TrySendError::Full(_)) => ControlFlow::Continue(()),
        Err(TrySendError::Disconnected(_)) => ControlFlow::Break(()),
    };
    thread::scope(|scope| {
        let fabric = scope.spawn(move || {
            let outcome = tailrace_run::emulate(scenario, hosts, live, &mut watch);
            drop(watch); // which tells whoever follows that there are no more views
            outcome
        });
        if let Some(server) = server {
            scope.spawn(|| metrics::serve(server, board));
        }
        let ended = Follower::new(board, hosts, welcome, stops).follow(views);
        let outcome = fabric.join();
        server.inspect(|server| server.unblock());
        let outcome = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (ended, outcome.map_err(Error::from))
    })
}

/// Tells lines on standard output; returns whether anybody hears.
fn say_all(lines: &[String]) -> bool {
    lines.iter().all(|line| crate::say::try_write(format_args!("{line}\n")).is_ok())
}

/// A name is the user's to choose.
fn failure(error: LiveError) -> Error {
    match error {
        LiveError::Name(message) => crate::traffic::wrong("--name", message),
        other => Error::Live(other),
    }
}

fn clean() -> Result<i32, Error> {
    let names = tailrace_linux::clean().map_err(Error::Live)?;
    names.iter().for_each(|name| say!("took away what was left of {name}"));
    if names.is_empty() {
        say!("nothing was left");
    }
    Ok(0)
}
