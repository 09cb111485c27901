//! Messages between hosts over Tailrace's transport: each is a flow that nobody has planned, with bytes in it.
//!
//! The transport numbers segments and carries no bytes; those of a message are kept beside it and put into the datagrams
//! of its segments. Each such datagram says of which message it is, so that the receiving host, which has not heard of the
//! flow before, may begin with any.

mod arrivals;
mod label;
mod messenger;

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::BorrowedFd;

use nix::ifaddrs::getifaddrs;
use tailrace_core::{HostId, LiveError, TaskId, Time};

use crate::frame::{host_of_ipv4, ipv4_of, wire};
use crate::outbox::transport_socket;

pub use messenger::Messenger;

/// The longest message.
pub const LONGEST_MESSAGE: usize = 16 << 20;

/// What has become known since it was last asked.
#[derive(Debug)]
pub enum Event {
    /// All of a message has come.
    Message {
        /// From which host.
        from: HostId,
        /// What it says.
        bytes: Vec<u8>,
    },
    /// A host has not answered for long, or acknowledged nothing of a message for very long: messages for it are lost that it has
    /// not acknowledged.
    Silent(HostId),
}

/// One host's end of all messages, under whatever scheme.
///
/// A message arrives once or not at all, and messages may overtake one another.
pub trait Messages {
    /// The number of this host.
    fn host(&self) -> HostId;
    /// How many hosts the fabric has.
    fn hosts(&self) -> usize;
    /// The time since the start.
    fn now(&self) -> Time;
    /// Has something to read when a turn is due.
    fn socket(&self) -> BorrowedFd<'_>;
    /// Sends a message to another host, as part of a task; 0 for none.
    ///
    /// # Panics
    ///
    /// If the message is longer than [`LONGEST_MESSAGE`], or the host is this one or none of the fabric.
    fn send(&mut self, to: HostId, task: TaskId, message: Vec<u8>);
    /// Takes in what has come, lets happen what is due, and sends what is to leave.
    fn turn(&mut self) -> Result<(), LiveError>;
    /// What has become known, in order; `None` if there is nothing new.
    fn next(&mut self) -> Option<Event>;
    /// When the next turn is due at the latest.
    fn next_turn(&mut self) -> Time;
    /// Datagrams that came and were none of this transport.
    fn strange(&self) -> u64;
}

/// The host whose network namespace this thread is in; `None` if it is in none.
pub fn own_host() -> Result<Option<HostId>, LiveError> {
    let interfaces = getifaddrs().map_err(LiveError::refused("looking for this host's address"))?;
    let address = |interface: nix::ifaddrs::InterfaceAddress| -> Option<Ipv4Addr> {
        Some(interface.address?.as_sockaddr_in()?.ip())
    };
    Ok(interfaces.filter_map(address).find_map(host_of_ipv4))
}

/// Opens the socket of a host's messages. This thread must be in the host's network namespace.
pub fn open_socket(host: HostId) -> Result<UdpSocket, LiveError> {
    let address = ipv4_of(host);
    let what = format!("opening UDP port {} of {address}, which one process a host can have", wire::PORT);
    transport_socket(address).map_err(LiveError::refused(what))
}
