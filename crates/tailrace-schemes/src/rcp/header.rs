//! What RCP adds to packets: the lowest fair rate on their way, and the sender's round-trip time.

use tailrace_core::Header;
use tailrace_queues::Epoch;
use tailrace_transport::{Message, WireRate};

/// Ports that may count a flow.
pub const HOPS: usize = 6;
/// Of a header that does not count its flow.
const PLAIN_BYTES: u16 = 8;
/// Set in the first byte if the header carries epochs.
const COUNTS: u8 = 0x80;

/// No port.
pub const NOWHERE: u8 = 0xFF;

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
    /// The port, counted from the sender, that `rate` is of; [`NOWHERE`] if it is the sender's own.
    pub rate_of: u8,
    /// What the last answer to a header that counts allowed, and whose that was; [`WireRate::MAX`] without one.
    pub limit: WireRate,
    /// As `rate_of`, of `limit`.
    pub limit_of: u8,
    /// When each port counted the flow; before it was passed, when it did so last.
    pub counted: [Epoch; HOPS],
    /// As what: with the rate that another port limits it to, or with [`WireRate::MAX`] as one of those that share.
    pub held: [WireRate; HOPS],
}

impl RcpHeader {
    /// Ends what ports have counted with this answer.
    pub fn farewell(&self) -> Self {
        let RcpHeader { counted, held, .. } = *self;
        RcpHeader { message: Message::End, counts: true, counted, held, ..RcpHeader::NONE }
    }
}

impl Header for RcpHeader {
    const NONE: RcpHeader = RcpHeader {
        message: Message::None,
        counts: false,
        hop: 0,
        rate: WireRate::ZERO,
        rtt_ns: 0,
        rate_of: NOWHERE,
        limit: WireRate::MAX,
        limit_of: NOWHERE,
        counted: [Epoch::NEVER; HOPS],
        held: [WireRate::MAX; HOPS],
    };
    /// 1 of message, 1 of hop, 2 of rate, 4 of round-trip time; if it counts, 1 and 3 of whose rate and limit these
    /// are, 6 of epochs and 12 of rates.
    const WIRE_BYTES: u16 = PLAIN_BYTES + 4 + 3 * HOPS as u16;

    fn encode(&self, out: &mut [u8]) {
        out[0] = self.message as u8 | if self.counts { COUNTS } else { 0 };
        out[1] = self.hop;
        out[2..4].copy_from_slice(&self.rate.to_be_bytes());
        out[4..8].copy_from_slice(&self.rtt_ns.to_be_bytes());
        if self.counts {
            out[8] = self.rate_of;
            out[9..11].copy_from_slice(&self.limit.to_be_bytes());
            out[11] = self.limit_of;
            let hops = out[12..].chunks_exact_mut(3).zip(self.counted.iter().zip(&self.held));
            for (raw, (epoch, held)) in hops {
                raw[0] = epoch.to_byte();
                raw[1..].copy_from_slice(&held.to_be_bytes());
            }
        }
    }

    fn decode(raw: &[u8]) -> Option<Self> {
        let (&[first, hop, r0, r1, t0, t1, t2, t3], rest) = raw.split_first_chunk()?;
        let counts = first & COUNTS != 0;
        let mut header = RcpHeader {
            message: Message::from_byte(first & !COUNTS)?,
            counts,
            hop,
            rate: WireRate::from_be_bytes([r0, r1]),
            rtt_ns: u32::from_be_bytes([t0, t1, t2, t3]),
            ..RcpHeader::NONE
        };
        if counts {
            let (&[rate_of, l0, l1, limit_of], rest) = rest.split_first_chunk()?;
            (header.rate_of, header.limit_of) = (rate_of, limit_of);
            header.limit = WireRate::from_be_bytes([l0, l1]);
            let raw = rest.get(..3 * HOPS)?.chunks_exact(3);
            for (raw, (epoch, held)) in raw.zip(header.counted.iter_mut().zip(&mut header.held)) {
                *epoch = Epoch::from_byte(raw[0]);
                *held = WireRate::from_be_bytes([raw[1], raw[2]]);
            }
        }
        (usize::from(hop) <= HOPS).then_some(header)
    }

    #[inline]
    fn wire_bytes(&self) -> u16 {
        match (self.message, self.counts) {
            (Message::None, _) => 0,
            (_, true) => Self::WIRE_BYTES,
            (_, false) => PLAIN_BYTES,
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
