//! Tailrace's transport on a wire: what a UDP datagram carries of a packet.
//!
//! All numbers are big-endian. The packet's priority and ECN field are the IP header's DSCP and ECN. The scheme's header
//! always has its room, also where it takes no link time, and padding makes the datagram as long as the packet is.
//!
//! ```text
//! 0 version  1 kind  2 link time of the scheme's header, in bytes  4 source  6 destination  8 flow  12 segment
//! 16 block's start  20 block's end  24 time sent, in ps  32 bytes of the packet  34 the scheme's header
//! ```

use tailrace_core::{Ecn, HEADER_BYTES, Header, MAX_PRIORITIES, Packet, PacketKind, Time, dscp_of};

/// The UDP port of every host's transport.
pub const PORT: u16 = 7377;
const VERSION: u8 = 1;
/// Bytes before the scheme's header.
pub const FIXED_BYTES: usize = 34;
/// Bytes of IPv4 and UDP before the datagram.
pub(crate) const BELOW: usize = 28;

/// Length of the datagram of a packet: with the headers below it is as long as the packet, or as it must be.
pub fn datagram_bytes<H: Header>(packet: &Packet<H>) -> usize {
    (FIXED_BYTES + usize::from(H::WIRE_BYTES)).max(usize::from(packet.bytes).saturating_sub(BELOW))
}

/// The longest IP packet that a full packet of `mss` payload bytes under a header may become.
pub fn longest_ip_packet<H: Header>(mss: u16) -> usize {
    let packet = usize::from(mss) + usize::from(HEADER_BYTES) + usize::from(H::WIRE_BYTES);
    packet.max(BELOW + FIXED_BYTES + usize::from(H::WIRE_BYTES))
}

/// Writes a packet into the beginning of `out`; what follows is padding.
///
/// # Panics
///
/// If `out` is shorter than [`FIXED_BYTES`] and the header.
pub fn encode<H: Header>(packet: &Packet<H>, out: &mut [u8]) {
    out[0] = VERSION;
    out[1] = packet.kind() as u8;
    out[4..6].copy_from_slice(&packet.src.to_be_bytes());
    out[6..8].copy_from_slice(&packet.dst.to_be_bytes());
    out[8..12].copy_from_slice(&packet.flow.to_be_bytes());
    out[12..16].copy_from_slice(&packet.seq.to_be_bytes());
    out[16..20].copy_from_slice(&packet.block_start.to_be_bytes());
    out[20..24].copy_from_slice(&packet.block_end.to_be_bytes());
    out[24..32].copy_from_slice(&packet.sent_ps.to_be_bytes());
    out[32..34].copy_from_slice(&packet.bytes.to_be_bytes());
    encode_header(&packet.header, out);
}

/// Writes a scheme's header alone.
pub fn encode_header<H: Header>(header: &H, out: &mut [u8]) {
    out[2..4].copy_from_slice(&header.wire_bytes().to_be_bytes());
    if H::WIRE_BYTES > 0 {
        header.encode(&mut out[FIXED_BYTES..FIXED_BYTES + usize::from(H::WIRE_BYTES)]);
    }
}

/// When the packet in a datagram was sent, by the clock of its host; that is an echo in an acknowledgement.
pub(crate) fn sent(datagram: &[u8]) -> Option<Time> {
    let raw = datagram.get(24..)?.first_chunk()?;
    Some(Time::from_ps(u64::from_be_bytes(*raw)))
}

/// The DSCP and ECN with which a packet travels.
pub fn tos<H: Header>(packet: &Packet<H>) -> u8 {
    let ecn = match packet.ecn() {
        Ecn::NotCapable => 0,
        Ecn::Capable => 2,
        Ecn::Marked => 3,
    };
    dscp_of(usize::from(packet.priority)) << 2 | ecn
}

/// Reads a packet from a datagram that came with this DSCP and ECN; `None` if it holds none.
pub fn decode<H: Header>(datagram: &[u8], tos: u8) -> Option<Packet<H>> {
    let (fixed, rest) = datagram.split_first_chunk::<FIXED_BYTES>()?;
    let u16_at = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let u32_at = |at: usize| u32::from(u16_at(at)) << 16 | u32::from(u16_at(at + 2));
    if fixed[0] != VERSION || rest.len() < usize::from(H::WIRE_BYTES) {
        return None;
    }
    let header = match u16_at(2) {
        // What takes no link time may say something all the same, or nothing.
        0 => H::decode(&rest[..usize::from(H::WIRE_BYTES)]).unwrap_or(H::NONE),
        length if length <= H::WIRE_BYTES => H::decode(&rest[..usize::from(length)])?,
        _ => return None,
    };
    let kind = kind_of(fixed[1])?;
    let ecn = match tos & 3 {
        0 => Ecn::NotCapable,
        3 => Ecn::Marked,
        _ => Ecn::Capable,
    };
    let mut packet = Packet {
        flow: u32_at(8),
        dst: u16_at(6),
        src: u16_at(4),
        bytes: u16_at(32),
        priority: priority_of(tos >> 2),
        seq: u32_at(12),
        block_start: u32_at(16),
        block_end: u32_at(20),
        sent_ps: u64::from(u32_at(24)) << 32 | u64::from(u32_at(28)),
        header,
        ..Packet::EMPTY
    };
    packet.set(kind, ecn);
    Some(packet)
}

/// The priority of a DSCP of Tailrace's own; what has another comes last.
fn priority_of(dscp: u8) -> u8 {
    let last = MAX_PRIORITIES as u8 - 1;
    last.saturating_sub(if dscp > last { 0 } else { dscp })
}

fn kind_of(number: u8) -> Option<PacketKind> {
    use PacketKind::{Ack, AckMarked, Data, LastData, Probe, ProbeAck};
    [Data, LastData, Ack, AckMarked, Probe, ProbeAck].into_iter().find(|kind| *kind as u8 == number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn same(a: &Packet, b: &Packet) -> bool {
        format!("{a:?}") == format!("{b:?}")
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            (flow, seq, block_start, block_end, sent_ps) in any::<(u32, u32, u32, u32, u64)>(),
            (dst, src, bytes, priority, kind, ecn) in (any::<u16>(), any::<u16>(), any::<u16>(), 0u8..8, 0u8..7, 0u8..3),
        ) {
            let Some(kind) = kind_of(kind) else { return Ok(()) };
            let ecn = [Ecn::NotCapable, Ecn::Capable, Ecn::Marked][usize::from(ecn)];
            let mut packet = Packet {
                flow, seq, block_start, block_end, sent_ps, dst, src, bytes, priority, ..Packet::<()>::EMPTY
            };
            packet.set(kind, ecn);
            let mut datagram = vec![0; datagram_bytes(&packet)];
            encode(&packet, &mut datagram);
            let decoded = decode::<()>(&datagram, tos(&packet)).unwrap();
            prop_assert_eq!(sent(&datagram), Some(Time::from_ps(sent_ps)));
            prop_assert!(same(&packet, &decoded), "{:?} {:?}", packet, decoded);
        }

        #[test]
        fn any_bytes_are_a_packet_or_none(bytes in prop::collection::vec(any::<u8>(), 0..60), tos in any::<u8>()) {
            let mut bytes = bytes;
            let _ = decode::<()>(&bytes, tos);
            if let Some(start) = bytes.get_mut(..4) {
                start.copy_from_slice(&[VERSION, 0, 0, 0]);
                let packet = decode::<()>(&bytes, tos);
                prop_assert_eq!(packet.is_some(), bytes.len() >= FIXED_BYTES);
                prop_assert!(packet.is_none_or(|packet| packet.priority < 8));
            }
        }
    }
}
