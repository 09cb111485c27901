//! The proxy: one loop between the fabric, clients and memcached.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;

use nix::poll::PollFlags;
use tailrace_core::{HostId, LiveError, Time};
use tailrace_linux::{Clock, Event, Messages};

use crate::client::Clients;
use crate::envelope::{Envelope, Say};
use crate::server::Sessions;
use crate::sockets::Sockets;
use crate::tasks::Counter;

/// The loop sleeps no longer than this, so that it notices when it is to stop.
const LONGEST_SLEEP: Time = Time::from_ms(100);

/// Why a proxy cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// What it was asked to do cannot be done: which option, and what would be right.
    #[error("{0}: {1}")]
    Asked(&'static str, String),
    /// The machine refuses.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// A socket of its clients.
    #[error("{what}: {source}")]
    Socket {
        /// What was tried.
        what: String,
        /// What the machine says.
        source: io::Error,
    },
}

/// An address of clients: one port for each server, from `port` on. Clients of one address make one task of what they ask
/// at once, those of different addresses do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// On loopback.
    pub address: Ipv4Addr,
    /// The first server's port.
    pub port: u16,
}

/// What a proxy does.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// Addresses of clients.
    pub entries: Vec<Entry>,
    /// The hosts of the memcached servers, in order of their ports.
    pub servers: Vec<HostId>,
    /// The memcached of this host, if others are to reach it.
    pub memcached: Option<SocketAddr>,
}

/// A proxy that is ready to run.
pub struct Proxy {
    listeners: Vec<(TcpListener, usize, HostId)>,
    clients: Clients,
    sessions: Option<Sessions>,
    sockets: Sockets<Owner>,
    next_sweep: Time,
}

/// Whose socket it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Fabric,
    Listener(usize),
    Client(u64),
    Session(HostId, u64),
}

impl Proxy {
    /// Checks what it is to do, and opens the ports of its clients.
    pub fn new(messages: &dyn Messages, roles: &Roles) -> Result<Self, ProxyError> {
        check(messages, roles)?;
        let mut listeners = Vec::new();
        for (number, entry) in roles.entries.iter().enumerate() {
            for (place, &server) in (0..).zip(&roles.servers) {
                let address = SocketAddr::new(IpAddr::V4(entry.address), entry.port + place);
                let what = format!("listening at {address} for clients of host {server}");
                let listener = listen(address).map_err(refused(what))?;
                listeners.push((listener, number, server));
            }
        }
        let counter = Counter::new(messages.host(), messages.hosts());
        // Later processes have later clocks.
        let first = Clock::start()?.start_us();
        Ok(Proxy {
            listeners,
            clients: Clients::new(roles.entries.len(), first, counter),
            sessions: roles.memcached.map(Sessions::new),
            sockets: Sockets::new().map_err(refused("preparing to wait for clients"))?,
            next_sweep: Time::ZERO,
        })
    }

    /// Runs until `stop` says so; it sees the fabric's side, ten times a second at least.
    pub fn run(
        &mut self,
        messages: &mut dyn Messages,
        stop: &mut dyn FnMut(&dyn Messages) -> bool,
    ) -> Result<(), ProxyError> {
        while !stop(messages) {
            messages.turn()?;
            while let Some(event) = messages.next() {
                self.hear(messages, event);
            }
            if messages.now() >= self.next_sweep {
                self.next_sweep = messages.now() + LONGEST_SLEEP;
                self.clients.sweep(messages);
                if let Some(sessions) = &mut self.sessions {
                    sessions.sweep(messages);
                }
            }
            let ready = self.wait(messages).map_err(refused("waiting for clients and packets"))?;
            for (owner, events) in ready {
                self.ready(messages, owner, events)?;
            }
        }
        Ok(())
    }

    fn hear(&mut self, messages: &mut dyn Messages, event: Event) {
        match event {
            Event::Silent(host) => {
                self.clients.lost(messages, host);
                self.sessions.iter_mut().for_each(|sessions| sessions.lost(host));
            }
            Event::Message { from, bytes } => {
                let Some((envelope, content)) = Envelope::open(&bytes) else { return };
                match (envelope.say, &mut self.sessions) {
                    (Say::Answer { .. } | Say::Closed | Say::Unknown, _) => {
                        self.clients.told(messages, from, envelope, content);
                    }
                    (_, Some(sessions)) => sessions.told(messages, from, envelope, content),
                    (_, None) => Sessions::refuse(messages, from, envelope, content),
                }
            }
        }
    }

    /// Waits until a socket has something, or a turn is due.
    fn wait(&mut self, messages: &mut dyn Messages) -> io::Result<Vec<(Owner, PollFlags)>> {
        let due = messages.next_turn().min(self.next_sweep);
        let fabric = [(Owner::Fabric, messages.socket(), PollFlags::POLLIN)];
        let listeners = (0..)
            .zip(&self.listeners)
            .map(|(number, (listener, ..))| (Owner::Listener(number), listener.as_fd(), PollFlags::POLLIN));
        let clients = self.clients.sockets().map(|(id, socket, flags)| (Owner::Client(id), socket, flags));
        let sessions = self.sessions.iter().flat_map(Sessions::sockets);
        let sessions = sessions.map(|((host, id), socket, flags)| (Owner::Session(host, id), socket, flags));
        self.sockets.set(fabric.into_iter().chain(listeners).chain(clients).chain(sessions))?;
        self.sockets.wait(due.saturating_sub(messages.now()).min(LONGEST_SLEEP))
    }

    fn ready(
        &mut self,
        messages: &mut dyn Messages,
        owner: Owner,
        events: PollFlags,
    ) -> Result<(), ProxyError> {
        match (owner, &mut self.sessions) {
            (Owner::Fabric, _) => {}
            (Owner::Listener(number), _) => {
                let (listener, entry, server) = &self.listeners[number];
                match listener.accept() {
                    Ok((client, _)) => {
                        // A client that is gone already needs nothing.
                        let _ = self.clients.accept(messages.now(), client, *entry, *server);
                    }
                    Err(error) if is_passing(&error) => {}
                    Err(error) => return Err(refused(format!("accepting a client of host {server}"))(error)),
                }
            }
            (Owner::Client(id), _) => self.clients.ready(messages, id, events),
            (Owner::Session(host, id), Some(sessions)) => sessions.ready(messages, (host, id), events),
            (Owner::Session(..), None) => {}
        }
        Ok(())
    }
}

fn check(messages: &dyn Messages, roles: &Roles) -> Result<(), ProxyError> {
    let (host, hosts) = (messages.host(), messages.hosts());
    let wrong = |option, text: String| Err(ProxyError::Asked(option, text));
    if roles.servers.is_empty() && roles.memcached.is_none() {
        return wrong(
            "--servers",
            "missing: name the servers' hosts, or with --memcached this host's own".to_owned(),
        );
    }
    for &server in &roles.servers {
        if server as usize >= hosts {
            return wrong("--servers", format!("there is no host {server}: they are 0 to {}", hosts - 1));
        }
        if server == host {
            return wrong(
                "--servers",
                format!("{server} is this host, whose clients need no proxy for its memcached"),
            );
        }
    }
    for Entry { address, port } in &roles.entries {
        if !address.is_loopback() {
            return wrong(
                "--listen",
                format!("{address} is not on loopback, as 127.0.0.1 and all of 127.0.0.0/8 are"),
            );
        }
        if usize::from(*port) + roles.servers.len() > 1 << 16 {
            return wrong(
                "--listen",
                format!("port {port} leaves no {} ports for the servers", roles.servers.len()),
            );
        }
    }
    Ok(())
}

/// For `map_err`: what was tried.
fn refused(what: impl Into<String>) -> impl FnOnce(io::Error) -> ProxyError {
    let what = what.into();
    |source| ProxyError::Socket { what, source }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Whether accepting may succeed the next time.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
}
