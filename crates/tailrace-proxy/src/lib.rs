//! Memcached over Tailrace's transport, for programs that know nothing of it: a proxy beside them on each host.
//!
//! To its clients a proxy is a memcached on loopback, one port for each server of the fabric. It gives their requests task
//! numbers and carries them to the proxy beside the server, which puts them to a memcached on its own loopback and carries
//! the answers back. All that is carried between hosts are [messages](tailrace_linux::Messages) of the fabric's scheme.

pub mod answers;
mod client;
mod envelope;
mod order;
mod proxy;
pub mod requests;
mod server;
mod sockets;
mod stream;
mod tasks;

pub use proxy::{Entry, Proxy, ProxyError, Roles};
pub use tasks::WINDOW;
