//! A TCP connection of which one end has a keeper of windows, frame by frame.

use tailrace_bpf::WindowKeeper;

/// Payload of a segment: a multiple of the units in which marks are told.
pub const MSS: u64 = 1_472;
/// The window scale of both ends.
pub const SCALE: u8 = 7;

const ETHERNET: usize = 14;
const SYN: u8 = 2;
const ACK: u8 = 16;
const KEEPER: u8 = 2;
/// What the other end would take, in units of its scale.
const WINDOW: u16 = 0xffff;

pub struct Connection {
    v4: bool,
    port: u16,
    /// Whether the other end has a keeper.
    pub peer: bool,
    /// Sequence numbers of the next byte of this end and of the other one; both pass their end soon.
    own: u32,
    other: u32,
    sent: u64,
    acked: u64,
    /// Bytes with marks that the other end has had.
    marked: u64,
}

impl Connection {
    /// Opened by this end, with a keeper at the other one.
    pub fn open(keeper: &mut WindowKeeper, v4: bool, port: u16) -> Self {
        Self::shake(keeper, v4, port, true)
    }

    /// Opened, without one.
    pub fn open_without_peer(keeper: &mut WindowKeeper, v4: bool, port: u16) -> Self {
        Self::shake(keeper, v4, port, false)
    }

    /// Open before there was a keeper.
    pub fn before(v4: bool, port: u16) -> Self {
        let own = 0xffff_0000;
        Connection { v4, port, peer: false, own, other: 0xffff_8000, sent: 0, acked: 0, marked: 0 }
    }

    fn shake(keeper: &mut WindowKeeper, v4: bool, port: u16, peer: bool) -> Self {
        let mut connection = Connection { peer, ..Self::before(v4, port) };
        // Largest segment, scale; guests that would like ECN.
        let mss = (MSS as u16).to_be_bytes();
        let options = [2, 4, mss[0], mss[1], 1, 3, 3, SCALE];
        let ecn = 0xc0;
        let syn = connection.frame(true, SYN | ecn, &options, 0, 0, 0, false);
        let (out, _) = keeper.try_on(true, &syn, 1).unwrap();
        assert_eq!(out[connection.tcp() + 12] & KEEPER, KEEPER);
        assert!(sums_are_right(&out));
        connection.own = connection.own.wrapping_add(1);
        let answer = connection.frame(false, SYN | ACK | 0x40, &options, 0, 0, 0, peer);
        let (came, _) = keeper.try_on(false, &answer, 1).unwrap();
        let tcp = connection.tcp();
        assert_eq!((came[tcp + 12] & KEEPER, came[tcp + 13] & ecn), (0, if peer { 0 } else { 0x40 }));
        assert_eq!(came[tcp + 14..tcp + 16], WINDOW.to_be_bytes(), "windows of a SYN have no scale");
        assert!(sums_are_right(&came));
        connection.other = connection.other.wrapping_add(1);
        connection
    }

    /// Where the TCP header begins.
    fn tcp(&self) -> usize {
        ETHERNET + if self.v4 { 20 } else { 40 }
    }

    #[expect(clippy::too_many_arguments, reason = "all that differs between frames")]
    fn frame(
        &self,
        leaves: bool,
        flags: u8,
        options: &[u8],
        payload: usize,
        ecn: u8,
        urgent: u16,
        keeper: bool,
    ) -> Vec<u8> {
        let (sequence, acknowledged) = if leaves { (self.own, self.other) } else { (self.other, self.own) };
        let acknowledged = if leaves { acknowledged } else { self.acknowledges() };
        let ports = if leaves { [40_000, self.port] } else { [self.port, 40_000] };
        let mut tcp: Vec<u8> = ports.into_iter().flat_map(u16::to_be_bytes).collect();
        tcp.extend(sequence.to_be_bytes());
        tcp.extend(acknowledged.to_be_bytes());
        tcp.extend([((20 + options.len()) as u8 / 4) << 4 | if keeper { KEEPER } else { 0 }, flags]);
        tcp.extend(WINDOW.to_be_bytes());
        tcp.extend([0, 0]);
        tcp.extend(urgent.to_be_bytes());
        tcp.extend(options);
        tcp.resize(tcp.len() + payload, 7);
        let mut frame = vec![2; 12];
        let [near, far] = if leaves { [1, 2] } else { [2, 1] };
        if self.v4 {
            frame.extend([8, 0, 0x45, ecn]);
            frame.extend((20 + tcp.len() as u16).to_be_bytes());
            frame.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 10, 9, 0, near, 10, 9, 0, far]);
            let sum = !sum(&frame[ETHERNET..]);
            frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
        } else {
            frame.extend([0x86, 0xdd, 0x60, ecn << 4, 0, 0]);
            frame.extend((tcp.len() as u16).to_be_bytes());
            frame.extend([6, 64]);
            for end in [near, far] {
                frame.extend([0xfd, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, end]);
            }
        }
        let at = frame.len();
        frame.extend(tcp);
        let sum = !sum(&pseudo(&frame));
        frame[at + 16..at + 18].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    fn acknowledges(&self) -> u32 {
        self.own.wrapping_sub((self.sent - self.acked) as u32)
    }

    /// So many bytes that leave, after those before.
    pub fn frame_out(&self, payload: u64) -> Vec<u8> {
        self.frame(true, ACK, &[], payload as usize, 0, 0, false)
    }

    /// The same, seen by the keeper.
    pub fn leaving(&mut self, keeper: &mut WindowKeeper, payload: u64) -> Vec<u8> {
        let frame = self.frame_out(payload);
        self.own = self.own.wrapping_add(payload as u32);
        self.sent += payload;
        keeper.try_on(true, &frame, 1).unwrap().0
    }

    /// Segments leave until so many bytes have.
    pub fn send_until(&mut self, keeper: &mut WindowKeeper, sent: u64) {
        while self.sent < sent {
            self.leaving(keeper, MSS.min(sent - self.sent));
        }
    }

    /// The first segment that is not acknowledged leaves again.
    pub fn again(&mut self, keeper: &mut WindowKeeper) {
        let first = self.acknowledges();
        let own = std::mem::replace(&mut self.own, first);
        let frame = self.frame_out(MSS);
        self.own = own;
        keeper.try_on(true, &frame, 1).unwrap();
    }

    /// So many bytes that come, with this ECN field.
    pub fn frame_in(&self, ecn: u8, payload: u64, marked: u64) -> Vec<u8> {
        let urgent = ((self.marked + marked) / 64) as u16;
        self.frame(false, ACK, &[], payload as usize, ecn, urgent, self.peer)
    }

    /// The same, seen by the keeper.
    pub fn coming(&mut self, keeper: &mut WindowKeeper, ecn: u8, payload: u64) -> Vec<u8> {
        let frame = self.frame_in(ecn, payload, 0);
        self.other = self.other.wrapping_add(payload as u32);
        keeper.try_on(false, &frame, 1).unwrap().0
    }

    /// So many more bytes are acknowledged, of which marked; the window in bytes that the guest is shown.
    pub fn acknowledged(&mut self, keeper: &mut WindowKeeper, acked: u64, marked: u64) -> u64 {
        self.acked += acked;
        let frame = self.frame_in(0, 0, marked);
        self.marked += marked;
        let (came, _) = keeper.try_on(false, &frame, 1).unwrap();
        assert!(sums_are_right(&came));
        let at = self.tcp() + 14;
        u64::from(u16::from_be_bytes([came[at], came[at + 1]])) << SCALE
    }

    pub fn ecn(&self, frame: &[u8]) -> u8 {
        if self.v4 { frame[ETHERNET + 1] & 3 } else { frame[ETHERNET + 1] >> 4 & 3 }
    }

    /// Whether it says that there is a keeper, and its urgent pointer.
    pub fn keeper_bits(&self, frame: &[u8]) -> (bool, u16) {
        let tcp = self.tcp();
        (frame[tcp + 12] & KEEPER != 0, u16::from_be_bytes([frame[tcp + 18], frame[tcp + 19]]))
    }
}

/// RFC 1071, of what the sums of IP and TCP are of.
pub fn sums_are_right(frame: &[u8]) -> bool {
    let v4 = frame[12] == 8;
    (!v4 || sum(&frame[ETHERNET..ETHERNET + 20]) == 0xffff) && sum(&pseudo(frame)) == 0xffff
}

/// TCP's part of a frame behind its pseudo header.
fn pseudo(frame: &[u8]) -> Vec<u8> {
    let (addresses, tcp) = if frame[12] == 8 { (26..34, 34) } else { (22..54, 54) };
    let mut bytes = frame[addresses].to_vec();
    bytes.extend([0, 6]);
    bytes.extend(((frame.len() - tcp) as u16).to_be_bytes());
    bytes.extend(&frame[tcp..]);
    bytes
}

fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
