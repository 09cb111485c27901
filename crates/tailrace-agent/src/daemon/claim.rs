//! One agent an interface: who has it, holds a name among the abstract sockets of the network namespace. The kernel gives it
//! to one process only, and takes it back when that is gone, however it ended; no file is left.

use std::io::{self, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use tailrace_core::LiveError;

use crate::Error;

/// What names begin with; the interface follows.
const NAMES: &str = "tailrace/agent/";

/// Takes an interface, at which those who ask are to be answered.
pub fn take(interface: &str) -> Result<UnixListener, Error> {
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::AddrInUse => taken(interface),
        _ => Error::Live(LiveError::SetUp(format!("taking interface {interface}: {error}"))),
    };
    address(interface).and_then(|address| UnixListener::bind_addr(&address)).map_err(failed)
}

fn address(interface: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{NAMES}{interface}"))
}

/// The interfaces of this network namespace that have one.
pub fn interfaces() -> Vec<String> {
    let sockets = std::fs::read_to_string("/proc/thread-self/net/unix").unwrap_or_default();
    let name =
        |line: &str| Some(line.split_whitespace().nth(7)?.strip_prefix('@')?.strip_prefix(NAMES)?.to_owned());
    // What is connected to one has its name, too.
    let mut names: Vec<String> = sockets.lines().filter_map(name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A connection to the agent of an interface, which root must have started.
pub fn reach(interface: &str) -> io::Result<UnixStream> {
    let stream = UnixStream::connect_addr(&address(interface)?)?;
    let (user, process) = owner(&stream)?;
    if user != 0 {
        let message = format!("process {process} of user {user} has its name and is no agent");
        return Err(io::Error::new(ErrorKind::PermissionDenied, message));
    }
    Ok(stream)
}

/// Says by whom. Anybody may take the name; only root can have put an agent there.
fn taken(interface: &str) -> Error {
    let message = match address(interface)
        .and_then(|address| UnixStream::connect_addr(&address))
        .and_then(|stream| owner(&stream))
    {
        Ok((0, process)) => format!(
            "interface {interface} has an agent already, process {process}: kill -HUP {process} has that one read its file \
             again, kill {process} ends it"
        ),
        Ok((user, process)) => format!(
            "process {process} of user {user} holds the agent's name for interface {interface} and is none: end it first"
        ),
        // It has gone meanwhile, or does not tell.
        _ => format!("interface {interface} has an agent already"),
    };
    Error::Live(LiveError::Name(message))
}

/// The user as whom the other end began to listen, and its process.
fn owner(stream: &UnixStream) -> io::Result<(u32, i32)> {
    let peer = getsockopt(stream, PeerCredentials)?;
    Ok((peer.uid(), peer.pid()))
}
