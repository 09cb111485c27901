//! The priorities that hosts write into packets which the kernel sends.

use std::io;
use std::net::TcpStream;

use nix::sys::socket::{setsockopt, sockopt};
use tailrace_core::{Bytes, FlowInfo, FlowRecord, HostId, TagTable, Time, dscp_of};

use crate::sys::{only_what_is_sent, tcp_info, tell_agent};

/// What hosts decide of flows whose packets the kernel sends.
pub trait Tagger {
    /// The tags of a flow that starts, or goes on after a [`Self::wake`] that names its source.
    fn tags(&self, flow: &FlowRecord) -> Tags;
    /// A flow has ended.
    fn ended(&mut self, now: Time, flow: &FlowRecord);
    /// When it wants to be woken next.
    fn next_wake(&self) -> Option<Time>;
    /// The time asked for has come. Returns the hosts whose flows have other tags from now on.
    fn wake(&mut self, now: Time) -> Vec<HostId>;
    /// What both ends of a flow tell the agents of their hosts, where these tag in place of this one.
    fn told(&self, _: &FlowRecord) -> Option<FlowInfo> {
        None
    }
}

/// The tags of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Tags {
    /// Bytes sent → priority.
    pub data: TagTable,
    /// Priority of acknowledgements.
    pub acks: u8,
}

impl Default for Tags {
    fn default() -> Self {
        Tags { data: TagTable::FLAT, acks: 0 }
    }
}

/// Writes a priority into what a socket sends from now on.
pub(super) fn tag(socket: &impl std::os::fd::AsFd, priority: u8) -> io::Result<()> {
    // The kernel leaves the ECN bits as they are.
    Ok(setsockopt(socket, sockopt::Ipv4Tos, &i32::from(dscp_of(usize::from(priority)) << 2))?)
}

/// Tells the agent of a socket's host what is known, at `now`, of what the socket sends from then on.
pub(super) fn tell(socket: &impl std::os::fd::AsFd, flow: &FlowInfo, now: Time) -> io::Result<()> {
    // A deadline that is past counts no more, and one without a size says nothing.
    let left = flow.deadline.filter(|_| flow.size.is_some()).map(|at| at.saturating_sub(now).as_ns());
    let numbers = [flow.size.map_or(0, Bytes::get), left.unwrap_or(0), u64::from(flow.task)];
    tell_agent(socket, numbers, u32::from(flow.slice)).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("the host's agent does not take what is said of a flow: {error}"),
        )
    })
}

/// The priority in which a flow's next bytes are sent. The kernel reads it as it sends: before it changes, all that was
/// written in the one before must have been sent.
#[derive(Debug)]
pub(super) struct InForce {
    pub(super) table: TagTable,
    priority: u8,
    /// The socket takes no more than it sends at once.
    held: bool,
}

/// Whether more of a flow may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// So many bytes.
    Bytes(u64),
    /// Nothing before the kernel has sent what it has; the socket is writable then.
    WhenSent,
}

impl InForce {
    /// On a socket whose packets have the first priority.
    pub(super) fn new(table: TagTable) -> Self {
        InForce { table, priority: 0, held: false }
    }

    /// How much may be written to `socket` after `before` bytes, whose segments have `mss`. Tags are by the first byte of a
    /// segment, so that they change between segments only.
    pub(super) fn room(&mut self, socket: &TcpStream, before: u64, mss: u64) -> io::Result<Room> {
        let priority = self.table.priority(before);
        if priority != self.priority {
            if before > 0 && tcp_info(socket)?.unsent > 0 {
                self.hold(socket, true)?;
                return Ok(Room::WhenSent);
            }
            tag(socket, priority)?;
            self.priority = priority;
            self.hold(socket, false)?;
        }
        let (_, end) = self.table.range(usize::from(priority));
        Ok(Room::Bytes(end.div_ceil(mss).saturating_mul(mss).saturating_sub(before).max(1)))
    }

    fn hold(&mut self, socket: &TcpStream, held: bool) -> io::Result<()> {
        if held != self.held {
            only_what_is_sent(socket, held)?;
            self.held = held;
        }
        Ok(())
    }
}
