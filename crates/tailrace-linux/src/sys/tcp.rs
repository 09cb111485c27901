//! What the kernel tells of a TCP connection. (The libraries do not know TCP_INFO as it is now.)

use std::io;
use std::os::fd::AsFd;

use super::options::{get, set};

/// Places in `struct tcp_info` of linux/tcp.h, which only grows.
const STATE: usize = 0;
const UNSENT: usize = 144;
const BYTES_RETRANSMITTED: usize = 208;
const TIMEOUTS: usize = 240;
const KNOWN_BYTES: usize = 248;

/// States of linux/tcp_states.h in which not all that was sent is acknowledged, the end included.
const ESTABLISHED: u8 = 1;
const SYN_SENT: u8 = 2;
const FIN_WAIT_1: u8 = 4;
const CLOSING: u8 = 11;

/// A connection, as its sender's kernel sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// Whether the peer has acknowledged everything, and that this was everything.
    pub(crate) all_acknowledged: bool,
    /// Bytes that were written, and not yet sent.
    pub(crate) unsent: u32,
    /// Payload bytes sent again.
    pub(crate) retransmitted: u64,
    /// Expiries of the retransmission timer; 0 on kernels before 6.7, which do not tell.
    pub(crate) timeouts: u16,
}

/// Asks about a TCP socket.
pub(crate) fn tcp_info(socket: &impl AsFd) -> io::Result<TcpInfo> {
    let mut bytes = [0u8; KNOWN_BYTES];
    get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
    // What an older kernel does not know stays zero.
    Ok(TcpInfo {
        all_acknowledged: ![ESTABLISHED, SYN_SENT, FIN_WAIT_1, CLOSING].contains(&bytes[STATE]),
        unsent: u32::from_ne_bytes(at(&bytes, UNSENT)),
        retransmitted: u64::from_ne_bytes(at(&bytes, BYTES_RETRANSMITTED)),
        timeouts: u16::from_ne_bytes(at(&bytes, TIMEOUTS)),
    })
}

fn at<const LENGTH: usize>(bytes: &[u8; KNOWN_BYTES], place: usize) -> [u8; LENGTH] {
    std::array::from_fn(|byte| bytes[place + byte])
}

/// Lets a socket be writable only when all that was written has been sent, or, as usual, when it has room.
pub(crate) fn only_what_is_sent(socket: &impl AsFd, held: bool) -> io::Result<()> {
    // Below one byte; zero is for the default.
    set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &i32::from(held))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_sender_knows_when_its_end_is_acknowledged() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        assert_eq!(tcp_info(&sender).unwrap(), TcpInfo::default());
        sender.write_all(b"all of it").unwrap();
        assert!(!tcp_info(&sender).unwrap().all_acknowledged);
        sender.shutdown(Shutdown::Write).unwrap();
        assert_eq!(receiver.read_to_end(&mut Vec::new()).unwrap(), 9);
        while !tcp_info(&sender).unwrap().all_acknowledged {
            std::thread::yield_now();
        }
    }
}
