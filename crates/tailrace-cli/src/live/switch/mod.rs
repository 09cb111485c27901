//! `tailrace switch`: a scheme's ports between real interfaces of this machine.

mod choose;
mod reload;

use std::sync::Mutex;
use std::sync::mpsc::channel;

use signal_hook::consts::{SIGHUP, SIGTERM};
use tailrace_experiment::Error;
use tailrace_linux::{TakenOver, bind, notice};

use super::watched::{Stops, Watched};
use crate::{Host, args};
use choose::Chosen;
use reload::Reloader;

pub fn switch(options: &args::Switch, host: &dyn Host) -> Result<i32, Error> {
    let chosen = Chosen::read(&options.file)?;
    let server = options.metrics.map(bind).transpose()?;
    let stops = Stops::new(host, options.lasts, &[SIGTERM])?;
    let (sender, changes) = channel();
    let mut reloader = Reloader::new(&options.file, &chosen, notice(&[SIGHUP]).map_err(Error::Live)?, sender);
    let taken = TakenOver::new(chosen.interfaces(), chosen.programs.mtu).map_err(Error::Live)?;
    let watched = Watched {
        board: Mutex::new(chosen.board()),
        welcome: chosen.how_to_use(),
        server,
        stops,
        tend: &mut |board| Ok(reloader.look(board)),
    };
    let (Chosen { config, account, .. }, interfaces) = (&chosen, &taken);
    let seen = watched.run(move |watch| tailrace_live::switch(config, interfaces, account, &changes, watch));
    drop(taken);
    seen.tell(chosen.programs.tolerable_lag)
}
