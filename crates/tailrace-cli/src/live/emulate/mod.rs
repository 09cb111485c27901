//! `tailrace emulate`: a scenario's fabric in real time, between hosts that run programs.

mod choose;

use std::sync::Mutex;

use signal_hook::consts::{SIGHUP, SIGTERM};
use tailrace_console::{complain, say};
use tailrace_core::LiveError;
use tailrace_experiment::Error;
use tailrace_linux::{Hosts, bind, check_rights};
use tailrace_live::Live;

use super::watched::{Stops, Watched};
use crate::watch::Board;
use crate::{Host, args};
pub use choose::{planned, what_tags_mean, without_tags};

pub fn emulate(options: &args::Emulate, host: &dyn Host) -> Result<i32, Error> {
    let Some(file) = &options.file else { return clean() };
    let chosen = choose::choose(options, file)?;
    // Before anything on the machine is looked at, which would be refused in other words.
    check_rights("tailrace emulate").map_err(Error::Live)?;
    let server = options.metrics.map(bind).transpose()?;
    let stops = Stops::new(host, options.lasts, &[SIGTERM, SIGHUP])?;
    for name in tailrace_linux::clean().map_err(Error::Live)? {
        complain!("note: took away what was left of {name}, which had not ended by itself");
    }
    let hosts =
        Hosts::new(chosen.programs.hosts, chosen.programs.mtu, Some(&chosen.name)).map_err(failure)?;
    let agents = chosen.agents.map(|start| start(&chosen.scenario, &hosts)).transpose()?;
    let live = Live { record: options.record.clone(), ..Live::default() };
    let mut tend = |_: &Mutex<Board>| {
        agents.iter().try_for_each(|agents| agents.check()).map_err(Error::Live)?;
        all_there(&hosts).map(|()| Vec::new())
    };
    let (board, welcome) = (Mutex::new(chosen.board()), chosen.how_to_use());
    let watched = Watched { board, welcome, server, stops, tend: &mut tend };
    let seen = watched.run(|watch| tailrace_live::emulate(&chosen.scenario, &hosts, &live, watch));
    drop(agents);
    drop(hosts);
    seen.tell(chosen.programs.tolerable_lag)
}

fn all_there(hosts: &Hosts) -> Result<(), Error> {
    let Some(path) = hosts.missing() else { return Ok(()) };
    let message =
        format!("{} is gone: somebody has deleted the namespace; the fabric has ended", path.display());
    Err(Error::Live(LiveError::Gone(message)))
}

/// A name is the user's to choose.
fn failure(error: LiveError) -> Error {
    match error {
        LiveError::Name(message) => crate::mistake::wrong("--name", message),
        other => Error::Live(other),
    }
}

fn clean() -> Result<i32, Error> {
    check_rights("tailrace emulate --clean").map_err(Error::Live)?;
    let names = tailrace_linux::clean().map_err(Error::Live)?;
    names.iter().for_each(|name| say!("took away what was left of {name}"));
    if names.is_empty() {
        say!("nothing was left");
    }
    Ok(0)
}
