//! The interfaces over which a fabric reaches what is around it: one for each of its hosts.

use std::io;

use nix::net::if_::if_nametoindex;

use crate::namespace::Namespace;
use tailrace_core::LiveError;

/// Interfaces of one network namespace, in the order of the hosts that they lead to.
#[derive(Debug)]
pub struct Interfaces {
    /// Where they are, if that is not where this process is.
    pub(crate) namespace: Option<Namespace>,
    names: Vec<String>,
    mtu: usize,
}

impl Interfaces {
    /// They carry IP packets of up to `mtu` bytes.
    pub(crate) fn new(namespace: Option<Namespace>, names: Vec<String>, mtu: usize) -> Self {
        Interfaces { namespace, names, mtu }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The longest IP packet.
    pub(crate) fn mtu(&self) -> usize {
        self.mtu
    }

    /// Does something in their namespace.
    pub(crate) fn inside<T: Send>(&self, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        match &self.namespace {
            Some(namespace) => namespace.inside(act),
            None => act(),
        }
    }

    /// Does something in their namespace, with their numbers.
    pub(crate) fn at<T: Send>(&self, act: impl FnOnce(&[u32]) -> io::Result<T> + Send) -> io::Result<T> {
        self.inside(|| {
            let number = |name: &String| {
                let number = if_nametoindex(name.as_str());
                number.map_err(|error| io::Error::other(format!("{name}: {error}")))
            };
            let numbers: Vec<u32> = self.names.iter().map(number).collect::<io::Result<_>>()?;
            act(&numbers)
        })
    }

    /// Whether one is still there, be it that it is down.
    pub(crate) fn is_there(&self, host: usize) -> bool {
        self.inside(|| Ok(if_nametoindex(self.names[host].as_str())?)).is_ok()
    }

    /// Finds out whether all are still there: AF_XDP's sockets do not tell.
    pub(crate) fn check(&self) -> Result<(), LiveError> {
        let find = || Ok(self.names.iter().position(|name| if_nametoindex(name.as_str()).is_err()));
        let Some(host) = self.inside(find).ok().flatten() else { return Ok(()) };
        let error = self.failed(host, io::Error::from_raw_os_error(libc::ENXIO));
        Err(LiveError::refused("receiving frames")(error))
    }

    /// A failure at an interface.
    pub(crate) fn failed(&self, host: usize, error: io::Error) -> io::Error {
        let gone = [libc::ENETDOWN, libc::ENXIO, libc::ENODEV].map(Some).contains(&error.raw_os_error());
        let name = &self.names[host];
        let message = match (gone, &self.namespace) {
            (true, Some(_)) => format!(
                "the interface of host h{host} is gone; somebody has deleted it, or its end in the fabric"
            ),
            (true, None) => format!("interface {name} is gone; somebody has deleted, moved or renamed it"),
            (false, Some(_)) => format!("at the link of host h{host}: {error}"),
            (false, None) => format!("at interface {name}: {error}"),
        };
        io::Error::new(error.kind(), message)
    }
}

/// Whether an interface is down. A packet socket says so once more when its interface is taken away.
pub(crate) fn is_down(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENETDOWN)
}
