//! Reads a switch's file again, as often as it is asked to.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use tailrace_experiment::Error;
use tailrace_linux::unreadable;
use tailrace_live::{SwitchConfig, for_switch};

use super::choose::{Chosen, names};
use crate::mistake::in_file;
use crate::watch::Board;

/// Reads the file when asked to, and hands on what a switch that runs can go on as.
pub struct Reloader {
    file: PathBuf,
    mtu: usize,
    user: String,
    /// What the switch runs as.
    config: SwitchConfig,
    asked: Arc<AtomicBool>,
    changes: Sender<SwitchConfig>,
    first: bool,
}

impl Reloader {
    pub fn new(file: &Path, chosen: &Chosen, asked: Arc<AtomicBool>, changes: Sender<SwitchConfig>) -> Self {
        Reloader {
            file: file.to_owned(),
            mtu: chosen.programs.mtu,
            user: chosen.account.name().to_owned(),
            config: chosen.config.clone(),
            asked,
            changes,
            first: true,
        }
    }

    /// Does so if somebody has asked; returns what is to be said of it. With an error the switch goes on as before.
    pub fn look(&mut self, board: &Mutex<Board>) -> Vec<String> {
        let mut said = Vec::new();
        if std::mem::take(&mut self.first) {
            said.extend(unreadable(&self.file, &self.user));
        }
        if self.asked.swap(false, Ordering::Relaxed) {
            said.push(match self.read() {
                Ok(config) => {
                    let ports = names(&config);
                    board.lock().unwrap_or_else(PoisonError::into_inner).ports = ports;
                    self.config = config.clone();
                    // If the switch has ended meanwhile, there is nothing to be changed.
                    let _ = self.changes.send(config);
                    format!("{}: read again; the switch goes on as it says", self.file.display())
                }
                Err(error) => format!("error: {error}; the switch goes on as before"),
            });
        }
        said
    }

    fn read(&self) -> Result<SwitchConfig, Error> {
        let config = SwitchConfig::read(&self.file)?;
        let fits = || {
            let config = config.with_mtu(self.mtu)?;
            config.check_change(&self.config)?;
            for_switch(&config)?;
            Ok(config)
        };
        fits().map_err(|error| in_file(error, &self.file))
    }
}
