//! What RCP adds to packets: the lowest fair rate on their way, and the sender's round-trip time.

use tailrace_core::Header;
use tailrace_queues::Epoch;
use tailrace_transport::{Message, WireRate};

/// Ports that may count a flow.
pub const HOPS: usize = 6;
/// Set in the first byte if the header carries epochs.
const COUNTS: u8 = 0x80;

/// On data: what the flow may have so far. Once a round trip it also has itself counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RcpHeader {
    /// What it is for.
    pub message: Message,
    /// Whether ports count its flow with it.
    pub counts: bool,
    /// Ports passed so far, [`HOPS`] at most.
    pub hop: u8,
    /// The least that a port allows.
    pub rate: WireRate,
    /// The sender's round-trip time in ns.
    pub rtt_ns: u32,
    /// When each port counted the flow; before it was passed, when it did so last.
    pub counted: [Epoch; HOPS],
}

impl Header for RcpHeader {
    const NONE: RcpHeader = RcpHeader {
        message: Message::None,
        counts: false,
        hop: 0,
        rate: WireRate::ZERO,
        rtt_ns: 0,
        counted: [Epoch::NEVER; HOPS],
    };
    /// 1 of message, 1 of hop, 2 of rate, 4 of round-trip time; if it counts, 6 of epochs.
    const WIRE_BYTES: u16 = 14;

    fn encode(&self, out: &mut [u8]) {
        out[0] = self.message as u8 | if self.counts { COUNTS } else { 0 };
        out[1] = self.hop;
        out[2..4].copy_from_slice(&self.rate.to_be_bytes());
        out[4..8].copy_from_slice(&self.rtt_ns.to_be_bytes());
        if self.counts {
            for (raw, epoch) in out[8..].iter_mut().zip(self.counted) {
                *raw = epoch.to_byte();
            }
        }
    }

    fn decode(raw: &[u8]) -> Option<Self> {
        let (&[first, hop, r0, r1, t0, t1, t2, t3], rest) = raw.split_first_chunk()?;
        let counts = first & COUNTS != 0;
        let epochs = if counts { *rest.first_chunk()? } else { [0; HOPS] };
        (usize::from(hop) <= HOPS).then_some(RcpHeader {
            message: Message::from_byte(first & !COUNTS)?,
            counts,
            hop,
            rate: WireRate::from_be_bytes([r0, r1]),
            rtt_ns: u32::from_be_bytes([t0, t1, t2, t3]),
            counted: epochs.map(Epoch::from_byte),
        })
    }

    #[inline]
    fn wire_bytes(&self) -> u16 {
        match (self.message, self.counts) {
            (Message::None, _) => 0,
            (_, true) => Self::WIRE_BYTES,
            (_, false) => Self::WIRE_BYTES - HOPS as u16,
        }
    }

    #[inline]
    fn returned(&self) -> Self {
        match self.message {
            Message::Request => RcpHeader { message: Message::Answer, ..*self },
            _ => Self::NONE,
        }
    }
}
