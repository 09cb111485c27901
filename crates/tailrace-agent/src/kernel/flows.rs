//! The flows that a tagger remembers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv6Addr};

use libbpf_rs::{MapCore, MapFlags, MapHandle, Object};

use super::load;
use crate::error::AgentError;
use crate::shared::FlowKey;

/// So many are read with a system call.
const AT_ONCE: u32 = 1024;

/// A flow that a tagger remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowRow {
    /// Payload bytes that it has sent.
    pub sent: u64,
    /// Where they come from: address and port.
    pub source: (IpAddr, u16),
    /// Where they go.
    pub destination: (IpAddr, u16),
}

/// The table in which a tagger remembers flows.
pub struct FlowTable(MapHandle);

impl FlowTable {
    pub(super) fn new(object: &Object) -> Result<Self, AgentError> {
        let map = object.maps().find(|map| map.name() == "flows");
        let map =
            map.ok_or_else(|| AgentError::Kernel("the programs for the kernel lack flows".to_owned()))?;
        Ok(FlowTable(MapHandle::try_from(&map).map_err(load::refused("looking at the flows"))?))
    }

    pub(super) fn map(&self) -> &MapHandle {
        &self.0
    }

    /// How many there are, and those that have sent most, from the most on; flows come and go meanwhile.
    pub fn largest(&self, most: usize) -> Result<(u64, Vec<FlowRow>), AgentError> {
        let what = || load::refused("looking at the flows");
        let (mut count, mut heap) = (0, BinaryHeap::new());
        for (key, value) in self.0.lookup_batch(AT_ONCE, MapFlags::ANY, MapFlags::ANY).map_err(what())? {
            let (Some(key), Some(sent)) = (FlowKey::read(&key), value.first_chunk()) else { continue };
            count += 1;
            heap.push(Reverse(row(&key, u64::from_ne_bytes(*sent))));
            if heap.len() > most {
                heap.pop();
            }
        }
        Ok((count, heap.into_sorted_vec().into_iter().map(|Reverse(row)| row).collect()))
    }
}

fn row(key: &FlowKey, sent: u64) -> FlowRow {
    let address = |bytes: [u8; 16]| Ipv6Addr::from(bytes).to_canonical();
    FlowRow {
        sent,
        source: (address(key.source), key.source_port),
        destination: (address(key.destination), key.destination_port),
    }
}
