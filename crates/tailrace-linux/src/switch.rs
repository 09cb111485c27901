//! A switch between interfaces of this machine: it takes them over, gives up its rights, and runs.

use std::ops::ControlFlow;
use std::os::fd::OwnedFd;

use nix::unistd::geteuid;
use tailrace_core::{Outcome, Scheme};

use crate::driver::Driver;
use crate::emulate::{View, watched};
use crate::error::LiveError;
use crate::interfaces::Interfaces;
use crate::rights::{Account, no_new_rights};
use crate::sys::{Keeper, OffloadsOn, offloads_off, promiscuous};

/// Interfaces of this process' network namespace that a switch has taken over: they take in frames for others, and
/// carry what is on a wire. When this value or this process is gone they are as they were before.
#[derive(Debug)]
pub struct TakenOver {
    interfaces: Interfaces,
    /// Gone before offloads are put back.
    _promiscuous: OwnedFd,
    _keeper: Keeper,
}

impl TakenOver {
    /// Takes over these, which carry IP packets of up to `mtu` bytes.
    pub fn new(names: Vec<String>, mtu: usize) -> Result<Self, LiveError> {
        if !geteuid().is_root() {
            let message = "a switch needs root to take over interfaces; once it has them, it goes on without";
            return Err(LiveError::SetUp(message.to_owned()));
        }
        let interfaces = Interfaces::new(None, names, mtu);
        let take_over = || {
            let keeper = Keeper::start(OffloadsOn::of(interfaces.names())?)?;
            interfaces.names().iter().try_for_each(|name| offloads_off(name))?;
            Ok::<_, std::io::Error>((interfaces.at(promiscuous)?, keeper))
        };
        // Threads that start from now on have this, too.
        no_new_rights()?;
        let (socket, keeper) = take_over().map_err(LiveError::refused("taking over the interfaces"))?;
        Ok(TakenOver { interfaces, _promiscuous: socket, _keeper: keeper })
    }

    /// The interfaces.
    pub fn interfaces(&self) -> &Interfaces {
        &self.interfaces
    }
}

/// Gives up this process' rights and goes on as `account`; then runs a switch until `watch` says stop. It is shown the
/// switch every [`LOOK_EVERY`](crate::LOOK_EVERY), and may change it.
pub fn switch<'a, S: Scheme>(
    driver: Driver<'a, S>,
    account: &Account,
    watch: &mut dyn FnMut(&mut Driver<'a, S>, View) -> ControlFlow<()>,
) -> Result<Outcome, LiveError> {
    account.go_on_as()?;
    watched(driver, watch)
}
