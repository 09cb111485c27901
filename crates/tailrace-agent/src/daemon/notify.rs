//! Tells systemd how an agent is, over the socket that it names in the environment (sd_notify(3)). Elsewhere nobody is told.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use tailrace_bpf::monotonic;
use tailrace_core::LiveError;

use crate::Error;

/// Who is told, if somebody is.
pub struct Notify {
    socket: Option<UnixDatagram>,
    /// Twice as often as it must be said that all is well; and when it is said next, on the clock of `monotonic`.
    every: Option<Duration>,
    next: u64,
}

impl Notify {
    /// Before rights are given up: the socket is root's.
    pub fn new() -> Result<Self, Error> {
        let socket = env::var("NOTIFY_SOCKET").ok().map(|name| {
            let connect = || {
                let address = match name.strip_prefix('@') {
                    Some(name) => SocketAddr::from_abstract_name(name)?,
                    None => SocketAddr::from_pathname(&name)?,
                };
                let socket = UnixDatagram::unbound()?;
                socket.connect_addr(&address)?;
                // A watchdog that does not listen must not hold up the agent.
                socket.set_nonblocking(true)?;
                Ok(socket)
            };
            connect().map_err(|error: std::io::Error| {
                Error::Live(LiveError::SetUp(format!(
                    "NOTIFY_SOCKET is {name}, which cannot be reached: {error}"
                )))
            })
        });
        let own = env::var("WATCHDOG_PID").map_or(true, |pid| pid == std::process::id().to_string());
        let period = env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse().ok()).filter(|_| own);
        let every = period.map(|period: u64| Duration::from_micros(period / 2));
        Ok(Notify { socket: socket.transpose()?, every, next: 0 })
    }

    fn say(&self, text: &str) {
        // Who no longer listens is not told.
        let _ = self.socket.as_ref().map(|socket| socket.send(text.as_bytes()));
    }

    pub fn ready(&self) {
        self.say("READY=1");
    }

    pub fn reloading(&self) {
        self.say(&format!("RELOADING=1\nMONOTONIC_USEC={}", monotonic() / 1_000));
    }

    pub fn stopping(&self) {
        self.say("STOPPING=1");
    }

    /// As often as it is asked for.
    pub fn all_is_well(&mut self) {
        let Some(every) = self.every else { return };
        let now = monotonic();
        if now >= self.next {
            self.next = now + every.as_nanos() as u64;
            self.say("WATCHDOG=1");
        }
    }
}
