//! What SPC adds to packets: what a flow asks for, and what each port tells it (Baraat §4.4).

use tailrace_core::{Header, TaskId};
use tailrace_queues::Epoch;
use tailrace_transport::Message;

use super::scale::{Grains, Scale};

/// Ports that a header has room for.
pub const HOPS: usize = 6;
/// In the byte of the switch index: the bits of the index; the message lies above.
const INDEX: u8 = 0x0F;

/// A port's part of the header. Rates are in the header's scale once the port was passed, before that in the
/// scale of the request before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// The nominal rate, NR: what the flow's class leaves it.
    pub nominal: u8,
    /// The actual rate, AR: what is allocated. Before the port was passed, what it allocated last.
    pub actual: u8,
    /// When the port counted that.
    pub counted: Epoch,
}

/// A rate request, its answer, or the end of a flow.
///
/// Each port replaces the AR that it gave last by the one that it gives now. So the six bytes which the paper
/// has for ARs that are sent back hold the epochs in which ports counted them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaraatHeader {
    /// The flow's task.
    pub task: TaskId,
    /// What it is for.
    pub message: Message,
    /// Switch index: ports passed so far, [`HOPS`] at most.
    pub index: u8,
    /// The scale of rates asked for and told now.
    pub scale: Scale,
    /// The scale of the request before.
    pub scale_before: Scale,
    /// The rate that the flow demands.
    pub demand: u8,
    /// The rate that it demanded with its last request.
    pub demand_before: u8,
    /// By port.
    pub hops: [Hop; HOPS],
}

impl BaraatHeader {
    /// What the flow demands.
    #[inline]
    pub fn demanded(&self) -> Grains {
        self.scale.grains(self.demand)
    }

    fn least(&self, rate: impl Fn(&Hop) -> u8) -> Grains {
        let passed = &self.hops[..usize::from(self.index)];
        self.scale.grains(passed.iter().map(rate).min().unwrap_or_default())
    }

    /// The rate to send at: the least AR of the way; nothing if no port was passed.
    pub fn actual(&self) -> Grains {
        self.least(|hop| hop.actual)
    }

    /// The share of the bottleneck: the least NR of the way.
    pub fn nominal(&self) -> Grains {
        self.least(|hop| hop.nominal)
    }

    /// The request that follows this answer, with a demand that is rounded up.
    pub fn next_request(&self, demand: Grains) -> Self {
        let scale = Scale::of(demand);
        let demand = scale.at_least(demand);
        let (scale_before, demand_before) = (self.scale, self.demand);
        BaraatHeader {
            message: Message::Request,
            index: 0,
            scale,
            scale_before,
            demand,
            demand_before,
            ..*self
        }
    }

    /// The end of a flow of which this was the last answer.
    pub fn farewell(&self) -> Self {
        BaraatHeader { message: Message::End, ..self.next_request(0) }
    }
}

impl Header for BaraatHeader {
    const NONE: BaraatHeader = BaraatHeader {
        task: 0,
        message: Message::None,
        index: 0,
        scale: Scale::FINEST,
        scale_before: Scale::FINEST,
        demand: 0,
        demand_before: 0,
        hops: [Hop { nominal: 0, actual: 0, counted: Epoch::NEVER }; HOPS],
    };
    /// 4 of task, 1 of scales, 12 of feedback, 6 of epochs, 1 of index and message, 2 of demands.
    const WIRE_BYTES: u16 = 26;

    fn encode(&self, out: &mut [u8]) {
        out[0..4].copy_from_slice(&self.task.to_be_bytes());
        out[4] = self.scale.to_byte(self.scale_before);
        for (i, hop) in self.hops.iter().enumerate() {
            (out[5 + 2 * i], out[6 + 2 * i], out[17 + i]) = (hop.nominal, hop.actual, hop.counted.to_byte());
        }
        out[23] = (self.message as u8) << 4 | self.index;
        (out[24], out[25]) = (self.demand, self.demand_before);
    }

    fn decode(raw: &[u8]) -> Option<Self> {
        let raw: &[u8; 26] = raw.first_chunk()?;
        let (scale, scale_before) = Scale::from_byte(raw[4]);
        let index = raw[23] & INDEX;
        (usize::from(index) <= HOPS).then_some(BaraatHeader {
            task: u32::from_be_bytes([raw[0], raw[1], raw[2], raw[3]]),
            message: Message::from_byte(raw[23] >> 4)?,
            index,
            scale,
            scale_before,
            demand: raw[24],
            demand_before: raw[25],
            hops: std::array::from_fn(|i| Hop {
                nominal: raw[5 + 2 * i],
                actual: raw[6 + 2 * i],
                counted: Epoch::from_byte(raw[17 + i]),
            }),
        })
    }

    #[inline]
    fn wire_bytes(&self) -> u16 {
        if self.message == Message::None { 0 } else { Self::WIRE_BYTES }
    }

    #[inline]
    fn returned(&self) -> Self {
        match self.message {
            Message::Request => BaraatHeader { message: Message::Answer, ..*self },
            _ => Self::NONE,
        }
    }
}
