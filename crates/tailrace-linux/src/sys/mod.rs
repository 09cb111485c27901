//! System calls that the libraries have no safe wrapper for. The only files with `unsafe` in them.

mod batch;
mod packet_socket;
mod poll;
mod settings;

pub(crate) use batch::{BATCH, Datagram, receive, send_datagrams, send_frames};
pub(crate) use packet_socket::{packet_socket, without_checksums};
pub(crate) use poll::Poll;
pub(crate) use settings::{Punctual, offloads_off};
