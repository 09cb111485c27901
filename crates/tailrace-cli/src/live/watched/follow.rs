//! Follows a fabric that runs: shows it, and notices when it is to end.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tailrace_console::complain;
use tailrace_core::{Time, View};
use tailrace_experiment::Error;
use tailrace_linux::notice;

use super::Tend;
use super::lines;
use crate::Host;
use crate::watch::{Board, Screen};

/// How often it is looked whether to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Time between two lines where there is no terminal.
const LINE_EVERY: Time = Time::from_ms(5_000);

/// Why a fabric ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its time was over, or somebody typed q, or it was told to with SIGTERM.
    AsAsked,
    /// Ctrl-C.
    Interrupted,
    /// Nobody reads what it says.
    Unheard,
}

/// What can end a fabric from outside.
pub struct Stops<'a> {
    host: &'a dyn Host,
    told: Arc<AtomicBool>,
    lasts: Option<Time>,
}

impl<'a> Stops<'a> {
    /// From now on these signals end the fabric, and no longer the process.
    pub fn new(host: &'a dyn Host, lasts: Option<Time>, signals: &[i32]) -> Result<Self, Error> {
        Ok(Stops { host, told: notice(signals).map_err(Error::Live)?, lasts })
    }

    /// How long the fabric is to run, which it sees to itself.
    pub fn lasts(&self) -> Option<Time> {
        self.lasts
    }

    fn now(&self) -> Option<Ended> {
        if self.host.interrupted() {
            return Some(Ended::Interrupted);
        }
        self.told.load(Ordering::Relaxed).then_some(Ended::AsAsked)
    }
}

/// Shows a fabric.
pub struct Follower<'a> {
    board: &'a Mutex<Board>,
    /// What is said when the fabric runs.
    welcome: Vec<String>,
    stops: Stops<'a>,
    tend: Tend<'a>,
    screen: Option<Screen>,
    next_line: Time,
}

impl<'a> Follower<'a> {
    pub fn new(board: &'a Mutex<Board>, welcome: Vec<String>, stops: Stops<'a>, tend: Tend<'a>) -> Self {
        Follower { board, welcome, stops, tend, screen: None, next_line: LINE_EVERY }
    }

    /// Shows views until the fabric is to end, or has. It ends when nobody takes its views.
    pub fn follow(mut self, views: Receiver<View>) -> Result<Ended, Error> {
        loop {
            match views.recv_timeout(LOOK_EVERY) {
                Ok(view) => {
                    self.welcome();
                    self.take(view);
                    self.tend()?;
                    if self.show().is_err() {
                        return Ok(Ended::Unheard);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                // It says itself why.
                Err(RecvTimeoutError::Disconnected) => return Ok(Ended::AsAsked),
            }
            if let Some(ended) = self.stops.now() {
                return Ok(ended);
            }
            match self.screen.as_ref().map_or(Ok(false), Screen::asked_to_end) {
                Ok(false) => {}
                Ok(true) => return Ok(Ended::AsAsked),
                Err(_) => return Ok(Ended::Unheard),
            }
        }
    }

    /// With the first view the fabric runs.
    fn welcome(&mut self) {
        let welcome = std::mem::take(&mut self.welcome);
        if welcome.is_empty() {
            return;
        }
        welcome.iter().for_each(|line| complain!("{line}"));
        // Without a screen there are lines.
        self.screen = Screen::take().unwrap_or(None);
    }

    fn take(&mut self, view: View) {
        self.board.lock().unwrap_or_else(PoisonError::into_inner).take(view);
    }

    /// Sees to what else there is. What that says is a hint of the view, or a line.
    fn tend(&mut self) -> Result<(), Error> {
        let said = (self.tend)(self.board)?;
        if said.is_empty() {
            return Ok(());
        }
        match self.screen {
            Some(_) => self.board.lock().unwrap_or_else(PoisonError::into_inner).hints = said,
            None => said.iter().for_each(|line| complain!("{line}")),
        }
        Ok(())
    }

    fn show(&mut self) -> io::Result<()> {
        let board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(screen) = &self.screen {
            return screen.show(|columns, rows| lines::lines(&board, columns, rows));
        }
        match board.latest() {
            Some(view) if view.now >= self.next_line => {
                self.next_line = view.now + LINE_EVERY;
                tailrace_console::try_write(format_args!("{}\n", lines::line(&board, view)))
            }
            _ => Ok(()),
        }
    }
}
