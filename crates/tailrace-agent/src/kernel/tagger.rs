//! Tags in the packets that leave an interface.

use std::cell::Cell;
use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, MapType, Object, ProgramInput};
use tailrace_core::TagTable;

use super::flows::{FlowTable, make_room};
use super::pins::Pins;
use super::{load, sys};
use crate::error::AgentError;
use crate::shared::Table;

static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tag.bpf.o"));

/// What a tagger has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets whose DSCP is its own.
    pub tagged: u64,
    /// Packets that are not TCP, or are in pieces: they leave as they came.
    pub untouched: u64,
    /// Flows that it began to count.
    pub flows: u64,
    /// Packets of flows for which there was no room: they have the last priority, as those that nobody tags.
    pub crowded: u64,
}

/// Writes priorities into the DSCP of TCP packets, by the bytes of their flow that precede them.
pub struct EgressTagger {
    // Goes first: without it no packet comes.
    link: Option<Link>,
    object: Object,
    /// Made once, for that takes rights which an agent gives up: the one that packets find, and the next one.
    tables: [MapHandle; 2],
    next: Cell<usize>,
}

impl EgressTagger {
    /// One that remembers so many flows, for frames of Ethernet. It is nowhere yet.
    pub fn new(flows: u32, tags: &TagTable, acks: u8) -> Result<Self, AgentError> {
        Self::going_on(None, flows, tags, acks)
    }

    /// The same, with the flows that are pinned, if there are such.
    pub fn going_on(pins: Option<&Pins>, flows: u32, tags: &TagTable, acks: u8) -> Result<Self, AgentError> {
        load::check()?;
        let mut object = load::open(PROGRAMS)?;
        let seed = make_room(&mut object, flows)?;
        let pinned = pins.map(|pins| pins.reuse_flows(&mut object, flows)).transpose()?.flatten();
        let object = load::load(object)?;
        let tables = [empty_table()?, empty_table()?];
        let tagger = EgressTagger { link: None, object, tables, next: Cell::new(0) };
        tagger.flows()?.keep_seed(pinned.unwrap_or(seed))?;
        tagger.set(tags, acks)?;
        Ok(tagger)
    }

    /// From now on packets that leave this interface, of this thread's network namespace, are tagged.
    pub fn attach(&mut self, interface: u32) -> Result<(), AgentError> {
        self.attach_keeping(None, interface)
    }

    /// The same, in the place of the program that is pinned: a packet finds that one or this one. What is pinned stays when
    /// this value goes.
    pub fn attach_keeping(&mut self, pins: Option<&Pins>, interface: u32) -> Result<(), AgentError> {
        let flows = self.flows()?;
        let program = load::program(&mut self.object, "tag")?;
        let what = "attaching to the interface (programs beside one another, tcx, need Linux 6.6)";
        let mut link = match pins.map(Pins::open_link).transpose()?.flatten() {
            Some(mut link) => {
                link.update_prog(&program)
                    .map_err(load::refused("taking the place of the program that is pinned"))?;
                link
            }
            None => sys::attach_tcx(&program, interface).map_err(AgentError::refused(what))?,
        };
        pins.map_or(Ok(()), |pins| pins.keep(&mut link, flows.map()))?;
        self.link = Some(link);
        Ok(())
    }

    /// From now on packets are tagged by this table: each finds the old one or this one. What flows have sent stays.
    pub fn set(&self, tags: &TagTable, acks: u8) -> Result<(), AgentError> {
        let limits = std::array::from_fn(|priority| tags.range(priority).1);
        let table = Table { limits, acks: u32::from(acks), unused: 0 };
        let what = || load::refused("handing the kernel a table of tags");
        let first = 0u32.to_ne_bytes();
        // Nobody reads it any more: the kernel waited for those who did when the other one took its place.
        let inner = &self.tables[self.next.get()];
        inner.update(&first, &table.bytes(), MapFlags::ANY).map_err(what())?;
        let tables = self.object.maps().find(|map| map.name() == "tables");
        let tables = tables
            .ok_or_else(|| AgentError::Kernel("the programs for the kernel have no tables".to_owned()))?;
        tables.update(&first, &inner.as_fd().as_raw_fd().to_ne_bytes(), MapFlags::ANY).map_err(what())?;
        self.next.set(1 - self.next.get());
        Ok(())
    }

    /// The flows that it remembers, for whoever wants to look at them, on any thread.
    pub fn flows(&self) -> Result<FlowTable, AgentError> {
        FlowTable::new(&self.object)
    }

    /// What it has done so far.
    pub fn counts(&self) -> Result<Counts, AgentError> {
        let [tagged, untouched, flows, crowded] = load::numbers(&self.object, ".bss")?;
        Ok(Counts { tagged, untouched, flows, crowded })
    }

    /// Gives the program a frame so many times, without any network. Returns what became of it the last time, and the mean
    /// time in nanoseconds.
    pub fn try_on(&mut self, frame: &[u8], times: u32) -> Result<(Vec<u8>, u32), AgentError> {
        let mut out = vec![0; frame.len() + 256];
        let input = ProgramInput {
            data_in: Some(frame),
            data_out: Some(&mut out),
            repeat: times,
            ..ProgramInput::default()
        };
        let output = load::program(&mut self.object, "tag")?.test_run(input);
        let output = output.map_err(load::refused("trying the program on a frame"))?;
        let nanoseconds = output.duration.as_nanos() as u32;
        let length = output.data.map_or(0, |data| data.len());
        out.truncate(length);
        Ok((out, nanoseconds))
    }
}

fn empty_table() -> Result<MapHandle, AgentError> {
    let options = bpf_map_create_opts { sz: size_of::<bpf_map_create_opts>() as _, ..Default::default() };
    MapHandle::create(MapType::Array, Some("table"), 4, size_of::<Table>() as u32, 1, &options)
        .map_err(load::refused("making a table of tags"))
}
