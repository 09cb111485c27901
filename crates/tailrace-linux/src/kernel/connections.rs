//! TCP connections between hosts, each for one flow. They are opened before their flows start.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, connect, listen, setsockopt, socket, sockopt,
};
use tailrace_core::{HostId, LiveError, Time};

use super::settings::Terms;
use super::tags::tag;
use crate::frame::ipv4_of;
use crate::hosts::Hosts;
use crate::sys::Poll;

/// The TCP port on which every host takes in flows.
const PORT: u16 = 7378;

const OF_SENDERS: EpollFlags = EpollFlags::EPOLLOUT.union(EpollFlags::EPOLLRDHUP).union(EpollFlags::EPOLLET);

const OF_RECEIVERS: EpollFlags = EpollFlags::EPOLLIN.union(EpollFlags::EPOLLET);

/// A connection's number, which one that is closed may have had before.
pub(super) type Slot = usize;

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    src: HostId,
    dst: HostId,
    /// The source's end.
    pub(super) sender: TcpStream,
    /// The destination's, once the connection is there.
    pub(super) receiver: Option<TcpStream>,
}

/// What something has happened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The source's end of a connection.
    Sender(Slot),
    /// The destination's.
    Receiver(Slot),
}

/// All connections. The thread that uses them goes from one host's namespace to another's.
pub(super) struct Connections<'a> {
    hosts: &'a Hosts,
    terms: &'a Terms,
    poll: Poll,
    listeners: Vec<TcpListener>,
    open: Vec<Option<Connection>>,
    free: Vec<Slot>,
    /// Connections that wait for a flow, by their hosts.
    idle: BTreeMap<(HostId, HostId), VecDeque<Slot>>,
    idle_count: usize,
    /// Connections that are not there yet, by source, destination, and the source's port.
    opening: BTreeMap<(HostId, HostId, u16), Slot>,
}

impl<'a> Connections<'a> {
    /// Listens at all hosts.
    pub(super) fn new(hosts: &'a Hosts, terms: &'a Terms) -> Result<Self, LiveError> {
        let poll = Poll::new().map_err(LiveError::refused("epoll"))?;
        let mut listeners = Vec::new();
        for host in 0..hosts.len() as HostId {
            let what = LiveError::refused(format!("listening at host {host}"));
            let listener = listen_at(hosts, host, &poll).map_err(what)?;
            // Connections have what their listener has.
            terms.set_congestion(&listener)?;
            listeners.push(listener);
        }
        let (open, free, idle, opening) = (Vec::new(), Vec::new(), BTreeMap::new(), BTreeMap::new());
        Ok(Connections { hosts, terms, poll, listeners, open, free, idle, idle_count: 0, opening })
    }

    /// How many wait for a flow.
    pub(super) fn idle(&self) -> usize {
        self.idle_count
    }

    /// How many were opened and are not there yet.
    pub(super) fn opening(&self) -> usize {
        self.opening.len()
    }

    /// Opens a connection for a flow to come.
    pub(super) fn prepare(&mut self, src: HostId, dst: HostId) -> Result<(), LiveError> {
        let slot = self.open(src, dst)?;
        self.idle.entry((src, dst)).or_default().push_back(slot);
        self.idle_count += 1;
        Ok(())
    }

    /// A connection for a flow: one that was prepared, or one that is only being opened.
    pub(super) fn take(&mut self, src: HostId, dst: HostId) -> Result<Slot, LiveError> {
        match self.idle.get_mut(&(src, dst)).and_then(VecDeque::pop_front) {
            Some(slot) => {
                self.idle_count -= 1;
                Ok(slot)
            }
            None => self.open(src, dst),
        }
    }

    fn open(&mut self, src: HostId, dst: HostId) -> Result<Slot, LiveError> {
        let refused = || LiveError::refused(format!("connecting host {src} with host {dst}"));
        let sender = socket_at(self.hosts, src).map_err(refused())?;
        self.terms.set_congestion(&sender)?;
        self.connect(sender, src, dst).map_err(refused())
    }

    fn connect(&mut self, sender: OwnedFd, src: HostId, dst: HostId) -> io::Result<Slot> {
        // The handshake waits for nobody.
        tag(&sender, 0)?;
        let to = SockaddrIn::from(SocketAddrV4::new(ipv4_of(dst), PORT));
        match connect(sender.as_raw_fd(), &to) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let sender = TcpStream::from(sender);
        let port = sender.local_addr()?.port();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        });
        self.poll.watch(&sender, OF_SENDERS, Token::Sender(slot).number())?;
        self.open[slot] = Some(Connection { src, dst, sender, receiver: None });
        self.opening.insert((src, dst, port), slot);
        Ok(slot)
    }

    /// An open connection.
    pub(super) fn get(&mut self, slot: Slot) -> Option<&mut Connection> {
        self.open[slot].as_mut()
    }

    /// Has it told when the source's end is writable, also if it is now.
    pub(super) fn tell_when_writable(&self, slot: Slot) -> io::Result<()> {
        let Some(Connection { sender, .. }) = &self.open[slot] else { return Ok(()) };
        self.poll.tell_again(sender, OF_SENDERS, Token::Sender(slot).number())
    }

    /// The flow of a connection has ended at both ends. The source's port is free as soon as it hears of it.
    pub(super) fn close(&mut self, slot: Slot) {
        let Some(Connection { receiver, .. }) = self.open[slot].take() else { return };
        self.free.push(slot);
        // A reset, which is one packet, in place of a minute in which the port is taken; refused, it is that minute.
        let _ =
            receiver.map(|end| setsockopt(&end, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 }));
    }

    /// Waits up to `span` for something to happen, and tells to which ends it has, up to some.
    pub(super) fn wait(&mut self, span: Time, happened: &mut Vec<End>) -> Result<(), LiveError> {
        self.poll.wait(span).map_err(LiveError::refused("waiting for connections"))?;
        for place in 0..self.poll.count() {
            match Token::of(self.poll.number(place)) {
                Token::Listener(host) => {
                    let what = || format!("taking in connections at host {host}");
                    self.accept(host).map_err(|error| LiveError::refused(what())(error))?;
                }
                Token::Sender(slot) => happened.push(End::Sender(slot)),
                Token::Receiver(slot) => happened.push(End::Receiver(slot)),
            }
        }
        happened.iter().try_for_each(|end| self.check(*end))
    }

    /// Takes in the connections that have come to a host.
    fn accept(&mut self, dst: HostId) -> io::Result<()> {
        loop {
            let (receiver, from) = match self.listeners[dst as usize].accept() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                accepted => accepted?,
            };
            let Some(slot) = self.expected(from, dst) else { continue };
            receiver.set_nonblocking(true)?;
            self.poll.watch(&receiver, OF_RECEIVERS, Token::Receiver(slot).number())?;
            if let Some(connection) = &mut self.open[slot] {
                connection.receiver = Some(receiver);
            }
        }
    }

    /// Which connection this is; none of these if somebody else has made it.
    fn expected(&mut self, from: SocketAddr, dst: HostId) -> Option<Slot> {
        let hosts = 0..self.hosts.len() as HostId;
        let src = hosts.into_iter().find(|&host| from.ip() == ipv4_of(host))?;
        self.opening.remove(&(src, dst, from.port()))
    }

    /// Fails if the connection is broken.
    fn check(&self, end: End) -> Result<(), LiveError> {
        let (End::Sender(slot) | End::Receiver(slot)) = end;
        let Some(Connection { src, dst, sender, receiver }) = &self.open[slot] else { return Ok(()) };
        let broken = match end {
            End::Sender(_) => sender.take_error(),
            End::Receiver(_) => receiver.as_ref().map_or(Ok(None), TcpStream::take_error),
        };
        match broken {
            Ok(None) => Ok(()),
            Ok(Some(error)) | Err(error) => Err(broke(*src, *dst, &error)),
        }
    }

    /// A connection could not be used.
    pub(super) fn failed(&self, slot: Slot, error: &io::Error) -> LiveError {
        let (src, dst) = self.open[slot].as_ref().map_or((0, 0), |open| (open.src, open.dst));
        broke(src, dst, error)
    }
}

fn broke(src: HostId, dst: HostId, error: &io::Error) -> LiveError {
    LiveError::Broken(format!("the TCP connection from host {src} to host {dst} broke: {error}"))
}

fn listen_at(hosts: &Hosts, host: HostId, poll: &Poll) -> io::Result<TcpListener> {
    hosts.namespace(host).enter()?;
    let listener = TcpListener::bind(SocketAddrV4::new(ipv4_of(host), PORT))?;
    listener.set_nonblocking(true)?;
    // Of what connections have from it: handshakes and acknowledgements wait for nobody.
    tag(&listener, 0)?;
    listen(&listener, Backlog::MAXALLOWABLE)?;
    poll.add(listener.as_fd(), Token::Listener(host).number())?;
    Ok(listener)
}

fn socket_at(hosts: &Hosts, host: HostId) -> io::Result<OwnedFd> {
    hosts.namespace(host).enter()?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socket(AddressFamily::Inet, SockType::Stream, flags, None)?)
}

/// What an event is of, as the kernel keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Listener(HostId),
    Sender(Slot),
    Receiver(Slot),
}

impl Token {
    fn number(self) -> u64 {
        match self {
            Token::Listener(host) => u64::from(host) << 2,
            Token::Sender(slot) => (slot as u64) << 2 | 1,
            Token::Receiver(slot) => (slot as u64) << 2 | 2,
        }
    }

    fn of(number: u64) -> Self {
        match number & 3 {
            0 => Token::Listener((number >> 2) as HostId),
            1 => Token::Sender((number >> 2) as Slot),
            _ => Token::Receiver((number >> 2) as Slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_told_apart() {
        for token in [Token::Listener(65_535), Token::Sender(0), Token::Sender(70_000), Token::Receiver(3)] {
            assert_eq!(Token::of(token.number()), token);
        }
    }
}
