//! System calls that the libraries have no safe wrapper for. The only files with `unsafe` in them.

mod batch;
mod packet_socket;
mod poll;
mod settings;
mod tcp;

pub(crate) use batch::{BATCH, Datagram, receive, send_datagrams, send_frames};
pub(crate) use packet_socket::{overrun, packet_socket, without_checksums};
pub(crate) use poll::Poll;
pub(crate) use settings::{Punctual, allow_many_files, offloads_off};
pub(crate) use tcp::{TcpInfo, only_what_is_sent, tcp_info};
