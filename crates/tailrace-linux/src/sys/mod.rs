//! System calls that the libraries have no safe wrapper for. The only files with `unsafe` in them.

mod batch;
mod bpf;
mod interface;
mod keeper;
mod memory;
mod options;
mod packet_socket;
mod poll;
mod ring;
mod settings;
mod tcp;
mod xdp_socket;

pub(crate) use batch::{Arrived, BATCH, Datagram, receive, receive_frames, send_datagrams, send_frames};
pub(crate) use bpf::{Redirect, STAMP_BYTES, XdpMode};
pub use interface::{InterfaceState, interface_names, interface_state};
pub(crate) use interface::{OffloadsOn, offloads_off, receive_queues};
pub(crate) use keeper::Keeper;
pub(crate) use memory::Memory;
pub(crate) use options::tell_agent;
pub(crate) use packet_socket::{overrun, packet_socket, promiscuous, without_checksums};
pub(crate) use poll::Poll;
pub(crate) use settings::{Punctual, allow_many_files};
pub(crate) use tcp::{TcpInfo, only_what_is_sent, tcp_info};
pub(crate) use xdp_socket::{HEADROOM, XdpSocket};
