//! Live runs of all processes on a machine take turns: each needs a core for itself.

use std::io;
use std::ops::ControlFlow;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

use crate::rights::check_rights;
use tailrace_core::LiveError;

/// Who has the socket of this name has the turn. It is no file: the kernel takes it back however its process ends.
const NAME: &str = "tailrace-live-run";
/// How often it is tried again.
const POLL: Duration = Duration::from_millis(50);

/// A turn, which is over when this goes.
#[derive(Debug)]
pub struct Turn {
    _socket: UnixListener,
}

impl Turn {
    /// Takes the turn when nobody else has it. `waits` is called now and then meanwhile, with the number of the process that
    /// has it, if it can be told, and may give up.
    pub fn take(mut waits: impl FnMut(Option<i32>) -> ControlFlow<()>) -> Result<Self, LiveError> {
        check_rights("a live run")?;
        let refused = || LiveError::refused("waiting for other live runs");
        let address = SocketAddr::from_abstract_name(NAME).map_err(refused())?;
        loop {
            match UnixListener::bind_addr(&address) {
                Ok(_socket) => return Ok(Turn { _socket }),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(refused()(error)),
            }
            if waits(holder(&address)).is_break() {
                return Err(LiveError::Interrupted);
            }
            std::thread::sleep(POLL);
        }
    }
}

fn holder(address: &SocketAddr) -> Option<i32> {
    let stream = UnixStream::connect_addr(address).ok()?;
    getsockopt(&stream, PeerCredentials).ok().map(|peer| peer.pid())
}
