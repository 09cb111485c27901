//! ECN marking: a step at a threshold on the instantaneous queue (DCTCP, SIGCOMM 2010, §3.1).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tailrace_core::{Bytes, MTU_BYTES};

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

/// Which queue is compared with the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkingScope {
    /// All queues of the port together (PIAS §IV-A; used in all AWAFS experiments).
    #[default]
    Port,
    /// The packet's own queue.
    Queue,
    /// All queues together, but for packets of the first queue that queue alone: deadline flows must not slow
    /// down for others' backlog (Karuna, which keeps the first queue to them).
    PortExceptFirst,
    /// No marking.
    None,
}

/// A marking rule ready to use: everything above the threshold is marked.
#[derive(Clone, Copy, Debug)]
pub struct Marking {
    threshold: u64,
    /// A bit for each queue whose own length counts; for the others the port's does.
    own: u8,
}

impl Marking {
    /// Marks when the queue in `scope`, the arriving packet included, is longer than `threshold`.
    pub fn new(threshold: QueueLength, scope: MarkingScope) -> Self {
        let threshold = if scope == MarkingScope::None { u64::MAX } else { threshold.bytes().get() };
        let own = match scope {
            MarkingScope::Port | MarkingScope::None => 0,
            MarkingScope::Queue => u8::MAX,
            MarkingScope::PortExceptFirst => 1,
        };
        Marking { threshold, own }
    }

    /// No marking.
    pub fn none() -> Self {
        Marking { threshold: u64::MAX, own: 0 }
    }

    /// Whether a packet that makes the port `port` bytes and its own queue, number `queue`, `own` bytes long
    /// is marked.
    #[inline]
    pub fn applies(&self, queue: usize, port: u64, own: u64) -> bool {
        (if self.own & (1 << queue) != 0 { own } else { port }) > self.threshold
    }
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
    fn scope_chooses_the_queue() {
        let k = QueueLength::Packets(2);
        for queue in 0..8 {
            let applies = |scope, port, own| Marking::new(k, scope).applies(queue, port, own);
            assert!(applies(MarkingScope::Port, 3_001, 0));
            assert!(!applies(MarkingScope::Port, 3_000, 3_000));
            assert!(!applies(MarkingScope::Queue, 9_000, 3_000));
            assert!(applies(MarkingScope::Queue, 9_000, 3_001));
            assert_eq!(applies(MarkingScope::PortExceptFirst, 9_000, 3_000), queue > 0);
            assert!(applies(MarkingScope::PortExceptFirst, 9_000, 3_001));
            assert!(!applies(MarkingScope::None, u64::MAX - 1, u64::MAX - 1));
        }
    }
}
