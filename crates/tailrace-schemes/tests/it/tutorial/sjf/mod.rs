//! Shortest job first: of the packets at a port, the one whose flow is the smallest leaves first. Flows run
//! DCTCP.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Adds, Bytes, Facts, FlowInfo, FlowView, Header, Knowledge, Packet, ParamError, PortFacts, PortPolicy,
    QueueLength, Reason, Scales, Scheme, Segment, Time, Untagged, Wrapper,
};
use tailrace_queues::{Marking, MarkingScope};

use crate::dctcp::{DctcpLaw, LawParams};

/// Parameters of `sjf`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The congestion law.
    pub law: LawParams,
    /// A packet is marked if the port holds more than this, the packet included.
    pub marking_threshold: QueueLength,
}

impl Default for Params {
    fn default() -> Self {
        Params { law: LawParams::default(), marking_threshold: QueueLength::Packets(65) }
    }
}

/// Payload bytes of a packet's flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(u64);

impl Header for Size {
    const NONE: Size = Size(0);
    const WIRE_BYTES: u16 = 8;
    fn encode(&self, out: &mut [u8]) {
        out[..8].copy_from_slice(&self.0.to_be_bytes());
    }
    fn decode(raw: &[u8]) -> Option<Self> {
        raw.first_chunk().map(|bytes| Size(u64::from_be_bytes(*bytes)))
    }
    fn wire_bytes(&self) -> u16 {
        0 // Metadata: packets stay as long as under the schemes that this one is compared with.
    }
}

/// DCTCP that stamps its packets with the size of the flow.
pub struct SjfLaw {
    dctcp: DctcpLaw,
    size: Size,
}

impl Wrapper for SjfLaw {
    type Law = DctcpLaw;
    type Headers = Adds<Size>;

    fn law(&self) -> &DctcpLaw {
        &self.dctcp
    }
    fn law_mut(&mut self) -> &mut DctcpLaw {
        &mut self.dctcp
    }
    fn stamp(&mut self, _: Time, _: &Segment, _: &FlowView) -> Size {
        self.size
    }
}

/// A queue in order of flow size, then of arrival.
pub struct SjfPort {
    waiting: BTreeMap<(u64, u64), Packet<Size>>,
    arrivals: u64,
    scales: Scales,
    /// What the packets weigh, which room and marking compare.
    length: u64,
    bytes: u64,
    marked: u64,
    marking: Marking,
}

impl SjfPort {
    fn forget(&mut self, packet: &Packet<Size>) {
        self.length -= self.scales.weigh(packet.bytes);
        self.bytes -= u64::from(packet.bytes);
    }
}

impl PortPolicy<Size> for SjfPort {
    fn enqueue(
        &mut self,
        _: Time,
        mut packet: Packet<Size>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<Size>, Reason),
    ) {
        self.length += self.scales.weigh(packet.bytes);
        self.bytes += u64::from(packet.bytes);
        if self.marking.arriving(0, self.length, self.length) {
            self.marked += u64::from(packet.mark());
        }
        self.arrivals += 1;
        // Acknowledgements carry no size, `Size::NONE`, and so are never held back.
        let newcomer = (packet.header.0, self.arrivals);
        self.waiting.insert(newcomer, packet);
        while self.length > room.get() {
            let Some((rank, worst)) = self.waiting.pop_last() else { return };
            self.forget(&worst);
            drop(worst, if rank == newcomer { Reason::Buffer } else { Reason::Evicted });
        }
    }
    fn dequeue(&mut self, _: Time) -> Option<Packet<Size>> {
        let (_, mut packet) = self.waiting.pop_first()?;
        if self.marking.leaving(0, self.length, self.length) {
            self.marked += u64::from(packet.mark());
        }
        self.forget(&packet);
        Some(packet)
    }
    fn backlog(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    fn backlog_packets(&self) -> usize {
        self.waiting.len()
    }
    fn backlog_of(&self, priority: u8) -> Bytes {
        Bytes::new(if priority == 0 { self.bytes } else { 0 })
    }
    fn marked(&self) -> u64 {
        self.marked
    }
}

/// The scheme.
pub struct Sjf {
    transport: TransportParams,
    params: Params,
}

impl Scheme for Sjf {
    const NAME: &'static str = "sjf";
    const SUMMARY: &'static str = "the packet of the smallest flow leaves first; DCTCP";
    const SOURCE: &'static str = "Phipps, Machine repair as a priority waiting-line problem, 1956";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: false };
    type Params = Params;
    type Header = Size;
    type Law = SjfLaw;
    type Host = Untagged;
    type Port = SjfPort;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.law.check().map_err(|e| e.within("law"))?;
        Ok(Sjf { transport: facts.transport, params })
    }
    fn ecn(&self) -> bool {
        true
    }
    fn law(&self, flow: &FlowInfo) -> SjfLaw {
        SjfLaw {
            dctcp: DctcpLaw::new(&self.params.law, &self.transport),
            // A flow that does not reveal its size goes last.
            size: Size(flow.size.map_or(u64::MAX, Bytes::get)),
        }
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, facts: &PortFacts) -> SjfPort {
        SjfPort {
            waiting: BTreeMap::new(),
            arrivals: 0,
            scales: facts.unit.scales(),
            length: 0,
            bytes: 0,
            marked: 0,
            marking: Marking::new(self.params.marking_threshold, MarkingScope::Port, facts.marking),
        }
    }
}
