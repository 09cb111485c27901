//! A switch between interfaces of this machine: it takes them over, gives up its rights, and runs.

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use nix::unistd::geteuid;
use tailrace_core::{LiveError, Outcome, Scheme, View};

use crate::driver::Driver;
use crate::emulate::watched;
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
    /// No other switch has them as long as these are there.
    _claims: Vec<UnixListener>,
}

impl TakenOver {
    /// Takes over these, which carry IP packets of up to `mtu` bytes.
    pub fn new(names: Vec<String>, mtu: usize) -> Result<Self, LiveError> {
        if !geteuid().is_root() {
            let message = "a switch needs root to take over interfaces; once it has them, it goes on without";
            return Err(LiveError::SetUp(message.to_owned()));
        }
        let interfaces = Interfaces::new(None, names, mtu);
        let failed = || LiveError::refused("taking over the interfaces");
        // Threads that start from now on have this, too.
        no_new_rights()?;
        let on = OffloadsOn::of(interfaces.names()).map_err(failed())?;
        // Before claims, which it would hold for a moment longer than this process.
        let keeper = Keeper::start(on).map_err(failed())?;
        let claims = interfaces.names().iter().map(|name| claim(name)).collect::<Result<_, _>>()?;
        interfaces.names().iter().try_for_each(|name| offloads_off(name)).map_err(failed())?;
        let socket = interfaces.at(promiscuous).map_err(failed())?;
        Ok(TakenOver { interfaces, _promiscuous: socket, _keeper: keeper, _claims: claims })
    }

    /// The interfaces.
    pub fn interfaces(&self) -> &Interfaces {
        &self.interfaces
    }
}

/// Takes an interface's name among the abstract sockets of the network namespace: the kernel gives it to one process only, and takes
/// it back when that is gone, however it ended.
fn claim(interface: &str) -> Result<UnixListener, LiveError> {
    let claim = SocketAddr::from_abstract_name(format!("tailrace/switch/{interface}"))
        .and_then(|address| UnixListener::bind_addr(&address));
    claim.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            let message =
                format!("interface {interface} has a switch already: end that tailrace switch first, or leave the port to it");
            LiveError::Name(message)
        }
        _ => LiveError::SetUp(format!("taking interface {interface}: {error}")),
    })
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
