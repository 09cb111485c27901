//! What D3 adds to packets: a rate request on its way out, the allocations on its way back (D3 §4.1).

use tailrace_core::Header;
use tailrace_queues::Epoch;
use tailrace_transport::{Message, WireRate};

/// Ports whose allocations a header holds.
pub const HOPS: usize = 6;

/// A rate request, its answer, or the end of a flow. Each port replaces what it allocated last by what it
/// allocates now, so one vector serves both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct D3Header {
    /// What it is for.
    pub message: Message,
    /// Ports passed so far, [`HOPS`] at most.
    pub hop: u8,
    /// The rate that the flow desires now.
    pub desired: WireRate,
    /// The rate that it desired with its last request.
    pub desired_before: WireRate,
    /// What each port allocates; before it was passed, what it allocated last.
    pub allocated: [WireRate; HOPS],
    /// When each port counted that.
    pub counted: [Epoch; HOPS],
}

impl D3Header {
    /// What the port that allocates least allocates; nothing if no port was passed.
    pub fn granted(&self) -> WireRate {
        self.allocated[..usize::from(self.hop)].iter().copied().min().unwrap_or_default()
    }

    /// Ends what ports have counted with this answer.
    pub fn farewell(&self) -> Self {
        D3Header { message: Message::End, hop: 0, desired_before: self.desired, ..*self }
    }
}

impl Header for D3Header {
    const NONE: D3Header = D3Header {
        message: Message::None,
        hop: 0,
        desired: WireRate::ZERO,
        desired_before: WireRate::ZERO,
        allocated: [WireRate::ZERO; HOPS],
        counted: [Epoch::NEVER; HOPS],
    };
    /// 1 of message, 1 of hop, 2 and 2 of rates desired, 12 of allocations, 6 of epochs.
    const WIRE_BYTES: u16 = 24;

    fn encode(&self, out: &mut [u8]) {
        out[0] = self.message as u8;
        out[1] = self.hop;
        out[2..4].copy_from_slice(&self.desired.to_be_bytes());
        out[4..6].copy_from_slice(&self.desired_before.to_be_bytes());
        for (raw, rate) in out[6..18].chunks_exact_mut(2).zip(self.allocated) {
            raw.copy_from_slice(&rate.to_be_bytes());
        }
        for (raw, epoch) in out[18..24].iter_mut().zip(self.counted) {
            *raw = epoch.to_byte();
        }
    }

    fn decode(raw: &[u8]) -> Option<Self> {
        let raw: &[u8; 24] = raw.first_chunk()?;
        let rate = |at: usize| WireRate::from_be_bytes([raw[at], raw[at + 1]]);
        let hop = raw[1];
        (usize::from(hop) <= HOPS).then_some(D3Header {
            message: Message::from_byte(raw[0])?,
            hop,
            desired: rate(2),
            desired_before: rate(4),
            allocated: std::array::from_fn(|i| rate(6 + 2 * i)),
            counted: std::array::from_fn(|i| Epoch::from_byte(raw[18 + i])),
        })
    }

    #[inline]
    fn wire_bytes(&self) -> u16 {
        if self.message == Message::None { 0 } else { Self::WIRE_BYTES }
    }

    #[inline]
    fn returned(&self) -> Self {
        match self.message {
            Message::Request => D3Header { message: Message::Answer, ..*self },
            _ => Self::NONE,
        }
    }
}
