//! Frames of all kinds, what becomes of them by the table, and those that come out of a cable.
#![allow(dead_code, reason = "each test takes what it needs")]

mod tap;

use std::collections::BTreeMap;

use tailrace_bpf::Counts;
use tailrace_core::{Directive, dscp_of};

#[allow(unused_imports, reason = "each test takes what it needs")]
pub use tap::Tap;

const ETHERNET: usize = 14;
const SYN: u8 = 2;
const FIN: u8 = 1;
const RST: u8 = 4;
const ACK: u8 = 16;

/// Draws frames: most of them segments of a few flows that go on.
pub struct Frames {
    random: u64,
    next: Vec<u32>,
}

impl Frames {
    pub fn new(seed: u64) -> Self {
        // Half of the flows pass the end of sequence numbers.
        let next =
            (0..24u32).map(|flow| if flow % 2 == 0 { flow } else { u32::MAX - 20_000 * flow }).collect();
        Frames { random: seed, next }
    }

    /// SplitMix64.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.draw() % end
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub fn next(&mut self) -> Vec<u8> {
        let flow = self.below(self.next.len() as u64) as usize;
        let (tcp, payload) = self.segment(flow);
        let mut frame =
            if flow.is_multiple_of(3) { self.v6(flow, tcp, payload) } else { self.v4(flow, tcp, payload) };
        match self.below(40) {
            // Cut short somewhere; the kernel tries programs on nothing shorter than this.
            0 => {
                let least = ETHERNET + if flow.is_multiple_of(3) { 40 } else { 20 };
                frame.truncate(least + self.below((frame.len() - least) as u64) as usize);
            }
            // A byte of the headers is something else.
            1 => {
                let at = self.below(frame.len().min(80) as u64) as usize;
                frame[at] = self.draw() as u8;
            }
            // Padded, as short frames are.
            2 => frame.extend([0; 6]),
            _ => {}
        }
        frame
    }

    fn segment(&mut self, flow: usize) -> (Vec<u8>, usize) {
        let flags = match self.below(60) {
            0 => SYN,
            1 => SYN | ACK,
            2 => FIN | ACK,
            3 => RST,
            _ => ACK,
        };
        let payload = match self.below(8) {
            0 | 1 => 0,
            2 => 1 + self.below(100) as usize,
            // What the kernel cuts later.
            3 => 1_448 * 2,
            // So that bytes before are just below a threshold, and at it.
            4 => 999,
            5 => 1_000,
            _ => 1_448,
        };
        let payload = if flags & SYN == 0 { payload } else { 0 };
        let sequence = match self.below(10) {
            // Again.
            0 => self.next[flow].wrapping_sub(self.below(60_000) as u32),
            // After a loss on the way to here.
            1 => self.next[flow].wrapping_add(self.below(20_000) as u32),
            _ => self.next[flow],
        };
        let sequence = if self.one_in(500) { self.draw() as u32 } else { sequence };
        self.next[flow] = sequence.wrapping_add(payload as u32 + u32::from(flags & SYN != 0));
        let options = 4 * self.below(11) as usize;
        let mut tcp = vec![0; 20 + options];
        tcp[..2].copy_from_slice(&(1_000 + flow as u16).to_be_bytes());
        tcp[2..4].copy_from_slice(&80u16.to_be_bytes());
        tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
        tcp[12] = ((20 + options) as u8 / 4) << 4;
        tcp[13] = flags;
        (tcp, payload)
    }

    fn v4(&mut self, flow: usize, tcp: Vec<u8>, payload: usize) -> Vec<u8> {
        let options = if self.one_in(8) { 4 * self.below(11) as usize } else { 0 };
        let length = 20 + options;
        let mut ip = vec![0; length];
        ip[0] = 0x40 | (length / 4) as u8;
        ip[1] = self.draw() as u8;
        let total = length + tcp.len() + payload;
        // Too long for the field, as some that the kernel cuts later.
        let total = if self.one_in(50) { 0 } else { total as u16 };
        ip[2..4].copy_from_slice(&total.to_be_bytes());
        ip[4..6].copy_from_slice(&(self.draw() as u16).to_be_bytes());
        let fragment = match self.below(20) {
            0 => 0x2000,
            1 => 1 + self.below(0x1fff) as u16,
            _ => 0x4000 * self.below(2) as u16,
        };
        ip[6..8].copy_from_slice(&fragment.to_be_bytes());
        ip[8] = 64;
        ip[9] = if self.one_in(12) { [1, 17, 132, 0][self.below(4) as usize] } else { 6 };
        ip[12..16].copy_from_slice(&[10, 0, 0, 1]);
        ip[16..20].copy_from_slice(&[10, 0, 1, flow as u8]);
        let sum = checksum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        frame(0x0800, ip, tcp, payload)
    }

    fn v6(&mut self, flow: usize, tcp: Vec<u8>, payload: usize) -> Vec<u8> {
        let mut ip = vec![0; 40];
        let class = self.draw() as u8;
        ip[0] = 0x60 | class >> 4;
        ip[1] = class << 4 | (self.draw() as u8 & 15);
        ip[7] = 64;
        ip[8..10].copy_from_slice(&[0xfd, 9]);
        ip[24..28].copy_from_slice(&[0xfd, 9, 0, flow as u8]);
        ip[6] = if self.one_in(12) { [17, 58, 44, 50][self.below(4) as usize] } else { 6 };
        let mut before = 6;
        for _ in 0..if self.one_in(6) { 1 + self.below(5) } else { 0 } {
            let length = 8 * (1 + self.below(3) as usize);
            let mut extension = vec![0; length];
            extension[0] = std::mem::replace(&mut ip[before], [0, 43, 60][self.below(3) as usize]);
            extension[1] = (length / 8 - 1) as u8;
            before = ip.len();
            ip.extend(extension);
        }
        let length = ip.len() - 40 + tcp.len() + payload;
        let length = if self.one_in(50) { 0 } else { length as u16 };
        ip[4..6].copy_from_slice(&length.to_be_bytes());
        frame(0x86dd, ip, tcp, payload)
    }

    pub fn plain(v4: bool, payload: usize) -> Vec<u8> {
        let mut frames = Frames::new(3);
        let mut tcp = vec![0; 32];
        (tcp[12], tcp[13]) = (8 << 4, ACK);
        loop {
            let tcp = tcp.clone();
            let frame = if v4 { frames.v4(1, tcp, payload) } else { frames.v6(1, tcp, payload) };
            let expected = ETHERNET + if v4 { 52 } else { 72 } + payload;
            let plain = parse(&frame).is_some_and(|found| found.payload == payload);
            if plain && frame.len() == expected {
                return frame;
            }
        }
    }

    pub fn not_tcp() -> Vec<u8> {
        let mut frame = Self::plain(true, 1_448);
        frame[ETHERNET + 9] = 17;
        frame
    }
}

fn frame(kind: u16, ip: Vec<u8>, tcp: Vec<u8>, payload: usize) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend(kind.to_be_bytes());
    frame.extend(ip);
    frame.extend(tcp);
    frame.extend(vec![9; payload]);
    frame
}

/// RFC 1071.
pub fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// A frame without what programs in the kernel may write: class, ECN and checksum of the packet, flags, window, checksum and urgent
/// pointer of the segment. `None` if there is no segment in one piece in it.
pub fn without_marks(frame: &[u8]) -> Option<Vec<u8>> {
    let tcp = ETHERNET + parse(frame)?.offset;
    let mut frame = frame.to_vec();
    if frame[ETHERNET] >> 4 == 4 {
        frame[ETHERNET + 1] = 0;
        frame[ETHERNET + 10..ETHERNET + 12].fill(0);
    } else {
        frame[ETHERNET] &= 0xf0;
        frame[ETHERNET + 1] &= 15;
    }
    frame[tcp + 12] &= 0xf0;
    frame[tcp + 13..tcp + 20].fill(0);
    Some(frame)
}

/// A TCP segment in a frame.
struct Found {
    /// Where it begins in the packet.
    offset: usize,
    flow: (Vec<u8>, [u8; 4]),
    sequence: u32,
    payload: usize,
    flags: u8,
}

/// The segment of a frame, if it is one in one piece.
fn parse(frame: &[u8]) -> Option<Found> {
    let ip = frame.get(ETHERNET..)?;
    let (addresses, offset, end) = match frame.get(12..14)? {
        [0x08, 0x00] => {
            let header = ip.get(..20)?;
            let (length, total) = (usize::from(header[0] & 15) * 4, u16_at(header, 2));
            let end = if total == 0 { ip.len() } else { total };
            let whole = u16_at(header, 6) & 0x3fff == 0 && header[9] == 6;
            if header[0] >> 4 != 4 || length < 20 || !whole || end > ip.len() || end < length {
                return None;
            }
            (header[12..20].to_vec(), length, end)
        }
        [0x86, 0xdd] => {
            let header = ip.get(..40)?;
            let length = u16_at(header, 4);
            let end = if length == 0 { ip.len() } else { 40 + length };
            if header[0] >> 4 != 6 || end > ip.len() {
                return None;
            }
            let (mut next, mut offset) = (header[6], 40);
            for _ in 0..4 {
                if [0, 43, 60].contains(&next) {
                    let extension = ip.get(offset..offset + 2)?;
                    next = extension[0];
                    offset += (usize::from(extension[1]) + 1) * 8;
                }
            }
            if next != 6 || offset > end {
                return None;
            }
            (header[8..40].to_vec(), offset, end)
        }
        _ => return None,
    };
    let tcp = ip.get(offset..offset + 20)?;
    let length = usize::from(tcp[12] >> 4) * 4;
    if length < 20 || offset + length > end {
        return None;
    }
    Some(Found {
        offset,
        flow: (addresses, tcp[..4].try_into().unwrap()),
        sequence: u32::from_be_bytes(tcp[4..8].try_into().unwrap()),
        payload: end - offset - length,
        flags: tcp[13],
    })
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(bytes[at]) << 8 | usize::from(bytes[at + 1])
}

/// What tags should be, by the table and by what has been sent before.
#[derive(Default)]
pub struct Model {
    /// The sequence number at which a flow began, and how far it is.
    flows: BTreeMap<(Vec<u8>, [u8; 4]), (u64, u64)>,
    pub counts: Counts,
    pub priorities: [u64; 8],
}

impl Model {
    /// The frame with its tag: by the directive for a flow with this port at its near end, which all begin with.
    pub fn tagged(&mut self, frame: &[u8], directive: impl Fn(u16) -> Directive) -> Vec<u8> {
        let mut frame = frame.to_vec();
        let Some(found) = parse(&frame) else {
            self.counts.untouched += 1;
            return frame;
        };
        self.counts.tagged += 1;
        let port = u16::from_be_bytes([found.flow.1[0], found.flow.1[1]]);
        // Of a flow that has not begun, acknowledgements are those of one of which nothing is known.
        let known =
            found.payload > 0 || found.flags & (SYN | FIN | RST) != 0 || self.flows.contains_key(&found.flow);
        let Directive { tags, acks, .. } = directive(if known { port } else { 0 });
        let priority = match found.payload == 0 && found.flags & (SYN | FIN | RST) == 0 {
            true => acks,
            false => tags.priority(self.before(&found)),
        };
        self.priorities[usize::from(priority)] += 1;
        let class = dscp_of(priority.into()) << 2;
        let ip = &mut frame[ETHERNET..];
        if ip[0] >> 4 == 4 {
            let length = usize::from(ip[0] & 15) * 4;
            // What was wrong before stays as wrong as it was: a checksum that is right is right afterwards.
            let right = length <= ip.len() && checksum(&ip[..length]) == 0;
            let was = u32::from(ip[1]);
            ip[1] = class | ip[1] & 3;
            if right {
                ip[10..12].fill(0);
                let sum = checksum(&ip[..length]);
                ip[10..12].copy_from_slice(&sum.to_be_bytes());
            } else {
                let old = !(u32::from(ip[10]) << 8 | u32::from(ip[11])) & 0xffff;
                let sum = old + (!was & 0xffff) + u32::from(ip[1]);
                let sum = (sum & 0xffff) + (sum >> 16);
                let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
                if was != u32::from(ip[1]) {
                    ip[10..12].copy_from_slice(&sum.to_be_bytes());
                }
            }
        } else {
            let ecn = ip[1] >> 4 & 3;
            ip[0] = ip[0] & 0xf0 | class >> 4;
            ip[1] = (class | ecn) << 4 | ip[1] & 15;
        }
        frame
    }

    /// Bytes of its flow before a segment, counted with numbers that do not pass their end.
    fn before(&mut self, found: &Found) -> u64 {
        // Far from 0, so that what is before the flow's beginning is a number, too.
        const FAR: u64 = 1 << 40;
        let first = found.sequence.wrapping_add(u32::from(found.flags & SYN != 0));
        let known = self.flows.get(&found.flow).copied().filter(|_| found.flags & SYN == 0);
        let Some((began, next)) = known else {
            self.counts.flows += 1;
            let began = FAR + u64::from(first);
            self.flows.insert(found.flow.clone(), (began, began + found.payload as u64));
            return 0;
        };
        // Of all numbers with these low bits the one that is nearest.
        let ahead = i64::from(first.wrapping_sub(next as u32) as i32);
        let at = next.wrapping_add_signed(ahead);
        if at < began {
            return 0;
        }
        let last = at + found.payload as u64;
        if (first.wrapping_add(found.payload as u32).wrapping_sub(next as u32) as i32) > 0 {
            self.flows.insert(found.flow.clone(), (began, last));
        }
        at - began
    }
}
