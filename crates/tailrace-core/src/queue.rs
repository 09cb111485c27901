//! How ports count what they hold, and when they mark: facts of a switch, whatever the scheme.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Bytes, Header, MTU_BYTES, PortPolicy};

/// A queue length, written in packets of 1500 bytes ("65pkt") or in bytes ("30KB").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLength {
    /// So many packets of 1500 bytes.
    Packets(u32),
    /// So many bytes.
    Bytes(Bytes),
}

impl QueueLength {
    /// In bytes.
    pub fn bytes(self) -> Bytes {
        match self {
            QueueLength::Packets(n) => Bytes::new(u64::from(n) * u64::from(MTU_BYTES)),
            QueueLength::Bytes(bytes) => bytes,
        }
    }
}

impl FromStr for QueueLength {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().strip_suffix("pkt") {
            Some(number) => number.trim().parse().map(QueueLength::Packets).ok(),
            None => text.parse().map(QueueLength::Bytes).ok(),
        }
        .ok_or_else(|| {
            format!("cannot read \"{text}\" as a queue length: expected for example \"65pkt\" or \"30KB\"")
        })
    }
}

impl fmt::Display for QueueLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLength::Packets(n) => write!(f, "{n}pkt"),
            QueueLength::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for QueueLength {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for QueueLength {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl JsonSchema for QueueLength {
    fn schema_name() -> Cow<'static, str> {
        "QueueLength".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "a queue length, for example \"65pkt\" or \"30KB\"" })
    }
}

/// What buffers and marking thresholds count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueUnit {
    /// Bytes on the wire, as switches do.
    #[default]
    Bytes,
    /// Packets of any size, acknowledgements too (ns-3's queue discs by default, many papers): each counts as
    /// 1500 bytes, so that lengths in bytes and in packets keep their meaning.
    Packets,
}

impl QueueUnit {
    /// What a packet counts: its part of a port's room, and of a length that is compared with a threshold.
    pub fn scales(self) -> Scales {
        match self {
            QueueUnit::Bytes => Scales { own: u16::MAX, every: 0 },
            QueueUnit::Packets => Scales { own: 0, every: MTU_BYTES },
        }
    }

    /// What everything that a port holds counts.
    #[inline]
    pub fn held<H: Header>(self, port: &impl PortPolicy<H>) -> Bytes {
        match self {
            QueueUnit::Bytes => port.backlog(),
            QueueUnit::Packets => Bytes::new(port.backlog_packets() as u64 * u64::from(MTU_BYTES)),
        }
    }

    /// The least room that holds a packet of so many bytes.
    pub fn one_packet(self, bytes: u16) -> Bytes {
        Bytes::new(self.scales().weigh(bytes))
    }
}

/// Weighs packets in a [`QueueUnit`], without a branch.
#[derive(Clone, Copy, Debug)]
pub struct Scales {
    /// The bits of a packet's own length that count.
    own: u16,
    /// What every packet counts.
    every: u16,
}

impl Scales {
    /// What a packet of so many bytes on the wire counts.
    #[inline]
    pub fn weigh(self, bytes: u16) -> u64 {
        u64::from(bytes & self.own | self.every)
    }

    /// The bytes of packets that count so much together, if that tells.
    #[inline]
    pub fn bytes_in(self, length: u64) -> Option<Bytes> {
        (self.every == 0).then_some(Bytes::new(length))
    }
}

/// When a port marks "congestion experienced".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkingAt {
    /// When a packet joins the queue: by the length with it.
    #[default]
    Enqueue,
    /// When a packet leaves the queue: by the length with it, which tells of the queue a wait sooner.
    Dequeue,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_in_packets_and_bytes() {
        assert_eq!("65pkt".parse::<QueueLength>().map(QueueLength::bytes), Ok(Bytes::new(97_500)));
        assert_eq!("30KB".parse::<QueueLength>().map(QueueLength::bytes), Ok(Bytes::new(30_000)));
        assert!("65".parse::<QueueLength>().unwrap_err().contains("65pkt"));
        assert!("-1pkt".parse::<QueueLength>().is_err());
    }

    #[test]
    fn a_packet_counts_its_bytes_or_one() {
        for bytes in [0, 1, 40, 1500, 1508, 9000, u16::MAX] {
            assert_eq!(QueueUnit::Bytes.scales().weigh(bytes), u64::from(bytes));
            assert_eq!(QueueUnit::Packets.scales().weigh(bytes), 1500);
        }
    }
}
