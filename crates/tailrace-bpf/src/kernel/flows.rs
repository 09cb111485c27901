//! The flows that a tagger remembers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::Read;
use std::net::IpAddr;
use std::os::fd::AsRawFd;

use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, OpenObject};

use super::known::Known;
use super::load;
use crate::error::BpfError;
use crate::shared::{Constants, FlowKey, FlowSlot, GOES_ON, PLACES};

/// So many are read with a system call.
pub(super) const AT_ONCE: u32 = 256;
/// Of so many flows it is remembered what is known, where there are rules; of others it is found again and again.
const MAX_KNOWN: u32 = 1 << 15;
/// A table of the least recently used forgets too early if it is smaller.
const MIN_KNOWN: u32 = 1 << 10;

/// A flow that a tagger remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowRow {
    /// Payload bytes that it has sent.
    pub sent: u64,
    /// Where they come from: address and port.
    pub source: (IpAddr, u16),
    /// Where they go.
    pub destination: (IpAddr, u16),
    /// Which of all directives is its own.
    pub directive: usize,
}

/// The tables in which a tagger remembers flows, and what is known of them.
pub struct FlowTable {
    flows: MapHandle,
    known: MapHandle,
}

impl FlowTable {
    pub(super) fn new(object: &Object) -> Result<Self, BpfError> {
        let map = |name| {
            MapHandle::try_from(&load::map(object, name)?).map_err(load::refused("looking at the flows"))
        };
        Ok(FlowTable { flows: map("flows")?, known: map("known_flows")? })
    }

    /// What it takes of the kernel's memory.
    pub fn memory_bytes(&self) -> Result<u64, BpfError> {
        Ok(memory_of(&self.flows)? + memory_of(&self.known)?)
    }

    /// How many there are, and those that have sent most, from the most on; flows come and go meanwhile.
    pub fn largest(&self, most: usize) -> Result<(u64, Vec<FlowRow>), BpfError> {
        let what = || load::refused("looking at the flows");
        let (mut count, mut heap) = (0, BinaryHeap::new());
        for (_, bucket) in self.flows.lookup_batch(AT_ONCE, MapFlags::ANY, MapFlags::ANY).map_err(what())? {
            let places = bucket.chunks_exact(FlowSlot::BYTES).filter_map(FlowSlot::read);
            for place in places.filter(|place| place.state == GOES_ON) {
                count += 1;
                heap.push(Reverse((row(&place.key, place.sent), place.key.bytes())));
                if heap.len() > most {
                    heap.pop();
                }
            }
        }
        let known = |key: [u8; FlowKey::BYTES]| {
            let found = self.known.lookup(&key, MapFlags::ANY).map_err(what())?;
            Ok(found.and_then(|bytes| Known::read(&bytes)).unwrap_or_default().directive)
        };
        let rows = heap.into_sorted_vec().into_iter();
        let rows = rows.map(|Reverse((row, key))| Ok(FlowRow { directive: known(key)?, ..row }));
        Ok((count, rows.collect::<Result<_, BpfError>>()?))
    }
}

/// What a map takes of the kernel's memory.
pub(super) fn memory_of(map: &impl MapCore) -> Result<u64, BpfError> {
    let path = format!("/proc/self/fdinfo/{}", map.as_fd().as_raw_fd());
    let told = fs::read_to_string(path).map_err(BpfError::refused("asking for the memory of the flows"))?;
    // The library has no room for numbers of more than 4 GiB.
    let memory = told.lines().find_map(|line| line.strip_prefix("memlock:")?.trim().parse().ok());
    Ok(memory.unwrap_or(0))
}

fn row(key: &FlowKey, sent: u64) -> FlowRow {
    let [source, destination] = key.ends();
    FlowRow { sent, source, destination, directive: 0 }
}

/// Gives programs that are not loaded yet room for so many flows. Places are found by a seed that nobody outside knows, so that
/// nobody can fill those of others.
pub(super) fn make_room(object: &mut OpenObject, flows: u32) -> Result<u64, BpfError> {
    load::open_map(object, "flows")?
        .set_max_entries(flows.div_ceil(PLACES) + 1)
        .map_err(load::refused(format!("making room for {flows} flows")))?;
    load::open_map(object, "known_flows")?
        .set_max_entries(flows.clamp(MIN_KNOWN, MAX_KNOWN))
        .map_err(load::refused(format!("making room for what is known of {flows} flows")))?;
    let seed = random()?;
    set_seed(object, flows, seed)?;
    Ok(seed)
}

/// A number that nobody outside knows.
pub(super) fn random() -> Result<u64, BpfError> {
    let mut bytes = [0; 8];
    let drawn = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    drawn.map_err(BpfError::refused("drawing a seed"))?;
    Ok(u64::from_ne_bytes(bytes))
}

/// By which seed programs that are not loaded yet find places.
pub(super) fn set_seed(object: &mut OpenObject, flows: u32, seed: u64) -> Result<(), BpfError> {
    let (buckets, network) = (flows.div_ceil(PLACES), load::own_network()?);
    load::set_constant(object, ".rodata", &Constants { seed, buckets, network }.bytes())
}

impl FlowTable {
    /// Writes the seed behind all buckets, where no flow is, for agents that go on with this table.
    pub(super) fn keep_seed(&self, seed: u64) -> Result<(), BpfError> {
        let mut value = vec![0; self.flows.value_size() as usize];
        value[..8].copy_from_slice(&seed.to_ne_bytes());
        self.flows
            .update(&last(&self.flows), &value, MapFlags::ANY)
            .map_err(load::refused("keeping the seed"))
    }
}

/// The seed of a table that was kept.
pub(super) fn seed_of(table: &MapHandle) -> Result<u64, BpfError> {
    let value = table.lookup(&last(table), MapFlags::ANY).map_err(load::refused("reading the seed"))?;
    Ok(value.as_deref().and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_ne_bytes(*bytes)))
}

fn last(table: &MapHandle) -> [u8; 4] {
    (table.max_entries() - 1).to_ne_bytes()
}
