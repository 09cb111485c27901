//! What comes out of a cable.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, setsockopt, socket, sockopt,
};

use super::{ETHERNET, SYN, parse};

/// Hears all frames of the namespace in which it was made.
pub struct Tap {
    socket: OwnedFd,
}

impl Tap {
    pub fn new() -> Self {
        let (kind, flags) = (SockType::Raw, SockFlag::SOCK_NONBLOCK);
        let socket = socket(AddressFamily::Packet, kind, flags, SockProtocol::EthAll).unwrap();
        setsockopt(&socket, sockopt::RcvBufForce, &(64 << 20)).unwrap();
        Tap { socket }
    }

    /// Segments with data for a port: the bytes of their flow before them, and their traffic class.
    pub fn segments(&self, port: u16) -> Vec<(u64, u8)> {
        let mut began = BTreeMap::new();
        let mut segments = Vec::new();
        for frame in self.frames() {
            let Some(found) = parse(&frame).filter(|found| found.flow.1[2..] == port.to_be_bytes()) else {
                continue;
            };
            if found.flags & SYN != 0 {
                began.insert(found.flow, found.sequence.wrapping_add(1));
            } else if let Some(began) = began.get(&found.flow)
                && found.payload > 0
            {
                let ip = &frame[ETHERNET..];
                let class = if ip[0] >> 4 == 4 { ip[1] } else { ip[0] << 4 | ip[1] >> 4 };
                segments.push((u64::from(found.sequence.wrapping_sub(*began)), class));
            }
        }
        segments
    }

    fn frames(&self) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        loop {
            let mut frame = vec![0; 1 << 17];
            match recv(self.socket.as_raw_fd(), &mut frame, MsgFlags::empty()) {
                Ok(length) => {
                    frame.truncate(length);
                    frames.push(frame);
                }
                Err(Errno::EAGAIN) => return frames,
                Err(error) => panic!("{error}"),
            }
        }
    }
}
