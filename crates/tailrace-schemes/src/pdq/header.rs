//! PDQ's scheduling header (PDQ §3.1).

use tailrace_core::Header;
use tailrace_transport::{Message, WireRate};

/// What a flow tells ports of itself, and what they make of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdqHeader {
    /// What it is for.
    pub message: Message,
    /// The flow's place in the longest list that it waits in; with it grows the time between its probes.
    pub place: u8,
    /// The rate that is granted so far.
    pub rate: WireRate,
    /// The port that pauses the flow, by number from 1; 0 for none.
    pub paused_by: u32,
    /// The deadline in µs from the start of the run; [`u32::MAX`] for none.
    pub deadline_us: u32,
    /// Time in ns that what is left would take at the sender's full rate; [`u32::MAX`] if it is not known.
    pub expected_ns: u32,
    /// The sender's round-trip time in ns.
    pub rtt_ns: u32,
}

impl Header for PdqHeader {
    const NONE: PdqHeader = PdqHeader {
        message: Message::None,
        place: 0,
        rate: WireRate::ZERO,
        paused_by: 0,
        deadline_us: u32::MAX,
        expected_ns: u32::MAX,
        rtt_ns: 0,
    };
    /// 1 of message, 1 of place, 2 of rate, 4 each of port, deadline, expected time and round-trip time.
    const WIRE_BYTES: u16 = 20;

    fn encode(&self, out: &mut [u8]) {
        out[0] = self.message as u8;
        out[1] = self.place;
        out[2..4].copy_from_slice(&self.rate.to_be_bytes());
        let words = [self.paused_by, self.deadline_us, self.expected_ns, self.rtt_ns];
        for (raw, word) in out[4..20].chunks_exact_mut(4).zip(words) {
            raw.copy_from_slice(&word.to_be_bytes());
        }
    }

    fn decode(raw: &[u8]) -> Option<Self> {
        let raw: &[u8; 20] = raw.first_chunk()?;
        let word = |at: usize| u32::from_be_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]);
        Some(PdqHeader {
            message: Message::from_byte(raw[0])?,
            place: raw[1],
            rate: WireRate::from_be_bytes([raw[2], raw[3]]),
            paused_by: word(4),
            deadline_us: word(8),
            expected_ns: word(12),
            rtt_ns: word(16),
        })
    }

    #[inline]
    fn wire_bytes(&self) -> u16 {
        if self.message == Message::None { 0 } else { Self::WIRE_BYTES }
    }

    #[inline]
    fn returned(&self) -> Self {
        match self.message {
            Message::Request => PdqHeader { message: Message::Answer, ..*self },
            _ => Self::NONE,
        }
    }
}
