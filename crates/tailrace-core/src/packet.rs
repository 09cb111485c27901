//! Packets: 32-byte `Copy` values that live in exactly one ring at a time.

use std::fmt::Debug;

use crate::HostId;

/// Bytes of TCP/IP header on every packet (MSS 1460, wire packet 1500, as in the PIAS authors' ns-2 scripts).
pub const HEADER_BYTES: u16 = 40;
/// Bytes of a pure acknowledgement on the wire, unless the transport's parameters say otherwise.
pub const ACK_BYTES: u16 = 40;
/// Bytes of a full packet on the wire; thresholds "in packets" mean packets of this size.
pub const MTU_BYTES: u16 = 1500;

/// What a scheme writes into packets beyond the common fields, and how it looks on a wire.
///
/// Most schemes need none: `()`.
pub trait Header: Copy + Debug + Send + 'static {
    /// A header that says nothing, and takes no bytes.
    const NONE: Self;
    /// Bytes on the wire of a header that says something.
    const WIRE_BYTES: u16;
    /// Writes the header into `out`, which is [`Self::WIRE_BYTES`] long.
    fn encode(&self, out: &mut [u8]);
    /// Reads a header; `None` if `raw` is too short or holds no valid one.
    fn decode(raw: &[u8]) -> Option<Self>;
    /// Bytes that this header adds to its packet.
    #[inline]
    fn wire_bytes(&self) -> u16 {
        Self::WIRE_BYTES
    }
    /// What the receiver of this header puts into its acknowledgement: nothing, unless the network's
    /// feedback travels in it.
    #[inline]
    fn returned(&self) -> Self {
        Self::NONE
    }
}

impl Header for () {
    const NONE: Self = ();
    const WIRE_BYTES: u16 = 0;
    fn encode(&self, _: &mut [u8]) {}
    fn decode(_: &[u8]) -> Option<Self> {
        Some(())
    }
}

/// The ECN field (RFC 3168), without the unused ECT(1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable: never marked.
    #[default]
    NotCapable,
    /// ECN-capable, not marked.
    Capable,
    /// Congestion experienced.
    Marked,
}

/// What the transport put into a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketKind {
    /// A segment of a flow.
    #[default]
    Data,
    /// The last segment of a flow: the end-of-flow notice.
    LastData,
    /// An acknowledgement of segments without congestion mark.
    Ack,
    /// An acknowledgement of segments that carried a congestion mark (ECN echo).
    AckMarked,
    /// A scheme's header without payload: a rate request, a probe, the end of a flow.
    Probe,
    /// The answer to a probe; it acknowledges nothing new.
    ProbeAck = 6,
}

/// Bits of [`Packet::kind_ecn`] that hold the kind; the ECN field lies above.
const KIND_BITS: u32 = 3;
const KIND: u8 = (1 << KIND_BITS) - 1;

/// One packet. Ports and switches read the first line of fields only. The second is the driver's to use: the
/// simulator keeps its transport's numbers there, a software switch may keep the slot of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Packet<H = ()> {
    /// The flow, counted from the start of the run.
    pub flow: u32,
    /// Destination host; see [`Packet::address`].
    pub dst: u16,
    /// Source host; its network card writes it.
    pub src: u16,
    /// Bytes on the wire.
    pub bytes: u16,
    /// Priority tag, 0 most urgent.
    pub priority: u8,
    /// [`PacketKind`] and [`Ecn`]; see [`Packet::set`].
    pub kind_ecn: u8,

    /// Data: segment number. Acknowledgement: all segments below this one have arrived.
    pub seq: u32,
    /// Acknowledgement: the contiguous block around the newest segment starts here (as SACK's first block).
    pub block_start: u32,
    /// … and ends before this segment.
    pub block_end: u32,
    /// When the data packet left its sender, in picoseconds; echoed.
    pub sent_ps: u64,

    /// What the scheme adds.
    pub header: H,
}

impl Packet {
    /// Packets know so many hosts. With more, a packet would not fit half a cache line.
    pub const MAX_HOSTS: usize = 1 << 16;

    /// A host's number as packets carry it.
    #[inline]
    pub fn address(host: HostId) -> u16 {
        debug_assert!((host as usize) < Self::MAX_HOSTS, "no packet reaches host {host}");
        host as u16
    }
}

impl<H: Header> Packet<H> {
    /// A packet of nothing, to be filled in.
    pub const EMPTY: Packet<H> = Packet {
        flow: 0,
        dst: 0,
        src: 0,
        bytes: 0,
        priority: 0,
        kind_ecn: 0,
        seq: 0,
        block_start: 0,
        block_end: 0,
        sent_ps: 0,
        header: H::NONE,
    };

    /// The same packet without what its scheme adds.
    pub fn plain(&self) -> Packet {
        let Packet {
            flow, dst, src, bytes, priority, kind_ecn, seq, block_start, block_end, sent_ps, ..
        } = *self;
        Packet { flow, dst, src, bytes, priority, kind_ecn, seq, block_start, block_end, sent_ps, header: () }
    }

    /// What the transport put into it.
    #[inline]
    pub fn kind(&self) -> PacketKind {
        match self.kind_ecn & KIND {
            0 => PacketKind::Data,
            1 => PacketKind::LastData,
            2 => PacketKind::Ack,
            3 => PacketKind::AckMarked,
            4 => PacketKind::Probe,
            _ => PacketKind::ProbeAck,
        }
    }

    /// Whether it is an acknowledgement.
    #[inline]
    pub fn is_ack(&self) -> bool {
        self.kind_ecn & 2 != 0
    }

    /// Its ECN field.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        match self.kind_ecn >> KIND_BITS {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable,
            _ => Ecn::Marked,
        }
    }

    /// Sets kind and ECN field.
    #[inline]
    pub fn set(&mut self, kind: PacketKind, ecn: Ecn) {
        self.kind_ecn = kind as u8 | (ecn as u8) << KIND_BITS;
    }

    /// Marks "congestion experienced" if the packet is ECN-capable; tells whether the mark is new.
    #[inline]
    pub fn mark(&mut self) -> bool {
        let capable = self.kind_ecn & (Ecn::Capable as u8) << KIND_BITS != 0;
        if capable {
            self.kind_ecn = (self.kind_ecn & KIND) | (Ecn::Marked as u8) << KIND_BITS;
        }
        capable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_half_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 32);
    }

    #[test]
    fn kind_and_ecn_do_not_disturb_each_other() {
        use PacketKind::{Ack, AckMarked, Data, LastData, Probe, ProbeAck};
        let kinds = [Data, LastData, Ack, AckMarked, Probe, ProbeAck];
        for kind in kinds {
            for ecn in [Ecn::NotCapable, Ecn::Capable, Ecn::Marked] {
                let mut packet = Packet::<()>::EMPTY;
                packet.set(kind, ecn);
                assert_eq!((packet.kind(), packet.ecn()), (kind, ecn));
                assert_eq!(packet.is_ack(), matches!(kind, Ack | AckMarked | ProbeAck));
                packet.mark();
                let marked = if ecn == Ecn::NotCapable { Ecn::NotCapable } else { Ecn::Marked };
                assert_eq!((packet.kind(), packet.ecn()), (kind, marked));
            }
        }
    }
}
