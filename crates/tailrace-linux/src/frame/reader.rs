//! What a frame says: enough to queue, mark and balance it. Anything that is not understood is a frame all the same.

use tailrace_core::random::mix;
use tailrace_core::{Ecn, PacketKind};

use super::ETHERNET_BYTES;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: [u16; 2] = [0x8100, 0x88a8];
/// VLAN tags that are looked through.
const MAX_TAGS: usize = 2;

const TCP: u8 = 6;
const UDP: u8 = 17;
const ECN_BITS: u8 = 3;
const CONGESTION_EXPERIENCED: u8 = 3;

/// An IP header's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V4,
    V6,
}

/// The transport header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// IP's protocol number.
    pub protocol: u8,
    /// Source and destination port; 0 where there are none, as in later fragments.
    pub ports: (u16, u16),
    /// Where what TCP or UDP carries begins, in the frame.
    pub payload_at: usize,
    /// TCP's sequence number, or 0.
    pub seq: u32,
    /// Whether TCP says that this is the last segment.
    pub last: bool,
}

impl Transport {
    /// Whether it is UDP's.
    pub fn is_udp(&self) -> bool {
        self.protocol == UDP
    }
}

/// A frame with an IP packet in it, understood as far as it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    version: Version,
    /// Where the IP header begins.
    ip_at: usize,
    /// Length of the IP packet.
    pub ip_bytes: u16,
    /// DSCP and ECN.
    pub tos: u8,
    /// The transport header, if there is one that is understood and whole.
    pub transport: Option<Transport>,
    /// A number that is the same for all packets of a connection, in both directions.
    pub flow: u32,
}

impl Frame {
    /// Reads a frame; `None` if it holds no whole IP header.
    pub fn read(frame: &[u8]) -> Option<Frame> {
        let mut at = ETHERNET_BYTES;
        let mut kind = u16_at(frame, at - 2)?;
        for _ in 0..MAX_TAGS {
            if VLAN.contains(&kind) {
                at += 4;
                kind = u16_at(frame, at - 2)?;
            }
        }
        match kind {
            IPV4 => read_v4(frame, at),
            IPV6 => read_v6(frame, at),
            _ => None,
        }
    }

    /// Its ECN field.
    pub fn ecn(&self) -> Ecn {
        match self.tos & ECN_BITS {
            0 => Ecn::NotCapable,
            CONGESTION_EXPERIENCED => Ecn::Marked,
            _ => Ecn::Capable,
        }
    }

    /// Its DSCP.
    pub fn dscp(&self) -> u8 {
        self.tos >> 2
    }

    /// What a port policy would call it: an acknowledgement if it is TCP without payload, the last of its flow if TCP
    /// says so, and data otherwise.
    pub fn kind(&self) -> PacketKind {
        match &self.transport {
            Some(tcp) if tcp.protocol == TCP && tcp.last => PacketKind::LastData,
            Some(tcp) if tcp.protocol == TCP && self.ip_at + usize::from(self.ip_bytes) <= tcp.payload_at => {
                PacketKind::Ack
            }
            _ => PacketKind::Data,
        }
    }

    /// Writes another DSCP and ECN into the frame that this was read from, with the header's checksum right.
    pub fn set_tos(&self, frame: &mut [u8], tos: u8) {
        let at = self.ip_at;
        match self.version {
            Version::V4 => {
                let before = u16::from_be_bytes([frame[at], frame[at + 1]]);
                frame[at + 1] = tos;
                let after = u16::from_be_bytes([frame[at], tos]);
                let sum = u16::from_be_bytes([frame[at + 10], frame[at + 11]]);
                frame[at + 10..at + 12].copy_from_slice(&updated(sum, before, after).to_be_bytes());
            }
            Version::V6 => {
                frame[at] = frame[at] & 0xf0 | tos >> 4;
                frame[at + 1] = frame[at + 1] & 0x0f | tos << 4;
            }
        }
    }

    /// Marks "congestion experienced" in the frame that this was read from.
    pub fn mark(&self, frame: &mut [u8]) {
        self.set_tos(frame, self.tos | CONGESTION_EXPERIENCED);
    }
}

/// A checksum after one of the words that it covers has changed (RFC 1624, equation 3).
fn updated(sum: u16, before: u16, after: u16) -> u16 {
    let mut folded = u32::from(!sum) + u32::from(!before) + u32::from(after);
    while folded > 0xffff {
        folded = (folded & 0xffff) + (folded >> 16);
    }
    !(folded as u16)
}

fn u16_at(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?))
}

fn u32_at(frame: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*frame.get(at..)?.first_chunk()?))
}

fn read_v4(frame: &[u8], at: usize) -> Option<Frame> {
    let header = frame.get(at..at + 20)?;
    let length = usize::from(header[0] & 0x0f) * 4;
    let ip_bytes = u16::from_be_bytes([header[2], header[3]]);
    let whole = at + usize::from(ip_bytes) <= frame.len();
    if header[0] >> 4 != 4 || length < 20 || usize::from(ip_bytes) < length || !whole {
        return None;
    }
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
    // Ports are in the first fragment only: all fragments of a packet are told by addresses alone.
    let fragmented = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let (protocol, tos) = (header[9], header[1]);
    let transport = if fragment == 0 { read_transport(frame, at + length, protocol) } else { None };
    let addresses = [&header[12..16], &header[16..20]];
    let flow = flow_of(addresses, protocol, transport.filter(|_| !fragmented));
    Some(Frame { version: Version::V4, ip_at: at, ip_bytes, tos, transport, flow })
}

fn read_v6(frame: &[u8], at: usize) -> Option<Frame> {
    let header = frame.get(at..at + 40)?;
    let payload = u16::from_be_bytes([header[4], header[5]]);
    let ip_bytes = payload.checked_add(40)?;
    let whole = at + usize::from(ip_bytes) <= frame.len();
    if header[0] >> 4 != 6 || !whole {
        return None;
    }
    let tos = header[0] << 4 | header[1] >> 4;
    // Extension headers are not looked through: such packets are told by their addresses.
    let transport = read_transport(frame, at + 40, header[6]);
    let addresses = [&header[8..24], &header[24..40]];
    let flow = flow_of(addresses, header[6], transport);
    Some(Frame { version: Version::V6, ip_at: at, ip_bytes, tos, transport, flow })
}

fn read_transport(frame: &[u8], at: usize, protocol: u8) -> Option<Transport> {
    let ports = (u16_at(frame, at)?, u16_at(frame, at + 2)?);
    match protocol {
        TCP => {
            let seq = u32_at(frame, at + 4)?;
            let flags = u16_at(frame, at + 12)?;
            let length = usize::from(flags >> 12) * 4;
            frame.get(at..at + length.max(20))?;
            let last = flags & 1 != 0;
            (length >= 20).then_some(Transport { protocol, ports, payload_at: at + length, seq, last })
        }
        UDP => {
            frame.get(at..at + 8)?;
            Some(Transport { protocol, ports, payload_at: at + 8, seq: 0, last: false })
        }
        _ => None,
    }
}

/// A hash of what names a connection, whichever end speaks.
fn flow_of(addresses: [&[u8]; 2], protocol: u8, transport: Option<Transport>) -> u32 {
    let (from, to) = transport.map_or((0, 0), |transport| transport.ports);
    let end = |address: &[u8], port: u16| {
        let words =
            address.chunks_exact(4).map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
        words.fold(u64::from(port), |hash, word| mix(hash ^ u64::from(word) << 16))
    };
    let both = end(addresses[0], from).wrapping_add(end(addresses[1], to));
    (mix(both ^ u64::from(protocol)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An IPv4 header's checksum, by its definition (RFC 791).
    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// A TCP segment over IPv4, behind so many VLAN tags.
    fn segment(tags: usize, tos: u8, ends: [([u8; 4], u16); 2], flags: u8, payload: usize) -> Vec<u8> {
        let mut frame = vec![0; 12];
        for _ in 0..tags {
            frame.extend([0x81, 0, 0, 5]);
        }
        frame.extend([0x08, 0]);
        let at = frame.len();
        let length = (40 + payload) as u16;
        frame.extend([0x45, tos]);
        frame.extend(length.to_be_bytes());
        frame.extend([1, 2, 0x40, 0, 64, TCP, 0, 0]);
        frame.extend(ends[0].0);
        frame.extend(ends[1].0);
        let sum = checksum(&frame[at..]);
        frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
        frame.extend(ends[0].1.to_be_bytes());
        frame.extend(ends[1].1.to_be_bytes());
        frame.extend([0, 0, 0, 9, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
        frame.resize(frame.len() + payload, 7);
        frame
    }

    const ENDS: [([u8; 4], u16); 2] = [([10, 77, 0, 1], 1000), ([10, 77, 0, 2], 80)];

    #[test]
    fn a_segment_is_understood_behind_tags_too() {
        for tags in 0..=2 {
            let bytes = segment(tags, 0x1e, ENDS, 0, 100);
            let frame = Frame::read(&bytes).unwrap();
            assert_eq!((frame.dscp(), frame.ecn(), frame.kind()), (7, Ecn::Capable, PacketKind::Data));
            let tcp = frame.transport.unwrap();
            assert_eq!((tcp.ports, tcp.seq, frame.ip_bytes), ((1000, 80), 9, 140));
        }
        assert_eq!(Frame::read(&segment(3, 0, ENDS, 0, 0)), None);
    }

    #[test]
    fn segments_without_payload_acknowledge_and_the_last_one_ends_its_flow() {
        let kind = |flags, payload| Frame::read(&segment(0, 0, ENDS, flags, payload)).unwrap().kind();
        assert_eq!(kind(0x10, 0), PacketKind::Ack);
        assert_eq!(kind(0x11, 0), PacketKind::LastData);
        assert_eq!(kind(0x18, 1), PacketKind::Data);
    }

    #[test]
    fn a_connection_is_one_flow_in_both_directions() {
        let flow = |ends| Frame::read(&segment(0, 0, ends, 0, 0)).unwrap().flow;
        assert_eq!(flow(ENDS), flow([ENDS[1], ENDS[0]]));
        let other = [(ENDS[0].0, 1001), ENDS[1]];
        assert_ne!(flow(ENDS), flow(other));
        // Ports belong to addresses.
        assert_ne!(flow(ENDS), flow([(ENDS[0].0, 80), (ENDS[1].0, 1000)]));
    }

    proptest! {
        #[test]
        fn a_mark_changes_ecn_and_keeps_the_checksum(tos in any::<u8>(), tags in 0usize..3) {
            let mut bytes = segment(tags, tos, ENDS, 0, 10);
            let before = bytes.clone();
            let frame = Frame::read(&bytes).unwrap();
            frame.mark(&mut bytes);
            let at = ETHERNET_BYTES + 4 * tags;
            prop_assert_eq!(checksum(&bytes[at..at + 20]), 0);
            prop_assert_eq!(bytes[at + 1], tos | 3);
            (bytes[at + 1], bytes[at + 10], bytes[at + 11]) = (before[at + 1], before[at + 10], before[at + 11]);
            prop_assert_eq!(bytes, before);
        }

        #[test]
        fn any_bytes_are_a_frame_or_none(bytes in prop::collection::vec(any::<u8>(), 0..120), tos in any::<u8>()) {
            let mut bytes = bytes;
            for kind in [None, Some([0x08, 0x00]), Some([0x86, 0xdd]), Some([0x81, 0x00])] {
                if let (Some(kind), Some(field)) = (kind, bytes.get_mut(12..14)) {
                    field.copy_from_slice(&kind);
                }
                if let Some(frame) = Frame::read(&bytes) {
                    let _ = (frame.kind(), frame.ecn(), frame.dscp());
                    frame.set_tos(&mut bytes, tos);
                    prop_assert_eq!(Frame::read(&bytes).map(|frame| frame.tos), Some(tos));
                }
            }
        }
    }
}
