//! Windows that are kept for TCP connections, beside those of their own.

use libbpf_rs::{Link, MapCore, MapFlags, Object};
use tailrace_core::{Directives, Weight, WindowShim};

use super::handover::Handover;
use super::known::{Known, Rule, TOLD_AT};
use super::windows::{DEADLINE_AT, FIRST_AT, FLAGS_AT, HAS_PEER, UNA_AT, WindowTable};
use super::{announcements, flows, load, sys};
use crate::connection::Connection;
use crate::error::BpfError;
use crate::shared::Constants;

static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/window.bpf.o"));

/// What a keeper has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// What programs have said of flows.
    pub told: u64,
    /// What they wanted to say, but must not.
    pub refused: u64,
    /// Connections whose both ends have a keeper.
    pub flows: u64,
    /// Acknowledgements that came with a larger window than was shown.
    pub shown: u64,
    /// Bytes that came to the other end with marks.
    pub marks: u64,
}

/// Keeps a window by DCTCP's law with a weight for each connection whose both ends have a keeper, and shows programs' TCP no larger
/// receive window. ECN is between keepers.
pub struct WindowKeeper {
    // They go first: without them no packet comes, and no program is heard.
    links: Vec<Link>,
    object: Object,
    handover: Handover,
    /// So many flows may have weights of their own.
    given: u32,
}

/// A flow that has a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowFlow {
    /// What is known of it.
    pub known: Known,
    /// When its deadline is, on the clock CLOCK_MONOTONIC; `None` if it has none, or that is past.
    pub deadline_ns: Option<u64>,
    /// How often its program has told of it.
    pub told: u32,
    /// Payload bytes that were acknowledged, modulo 2^32.
    pub delivered: u32,
}

impl WindowKeeper {
    /// One that remembers so many connections of this thread's network namespace, for frames of Ethernet. It is nowhere yet.
    /// `given` of them at most may be given weights of their own.
    pub fn new(
        flows: u32,
        given: u32,
        directives: &Directives,
        rules: &[Rule],
        law: &WindowShim,
    ) -> Result<Self, BpfError> {
        load::check()?;
        let mut object = load::open(PROGRAMS)?;
        let constants = Constants { seed: 0, buckets: 0, network: load::own_network()? };
        load::set_constant(&mut object, ".rodata", &constants.bytes())?;
        load::open_map(&mut object, "windows")?
            .set_max_entries(flows)
            .map_err(load::refused(format!("making room for {flows} connections")))?;
        load::open_map(&mut object, "weights")?
            .set_max_entries(given.max(1))
            .map_err(load::refused(format!("making room for {given} weights")))?;
        let object = load::load(object)?;
        let mut keeper = WindowKeeper { links: Vec::new(), object, handover: Handover::new()?, given };
        keeper.set(directives, rules, law)?;
        keeper.links.extend(announcements::listen(&mut keeper.object, None)?);
        Ok(keeper)
    }

    /// From now on connections over this interface, of this thread's network namespace, that begin have windows.
    pub fn attach(&mut self, interface: u32) -> Result<(), BpfError> {
        for name in ["leaves", "comes"] {
            let program = load::program(&mut self.object, name)?;
            let what = "attaching to the interface (programs beside one another, tcx, need Linux 6.6)";
            self.links.push(sys::attach_tcx(&program, interface).map_err(BpfError::refused(what))?);
        }
        Ok(())
    }

    /// From now on weights are these; windows stay as they are.
    pub fn set(&mut self, directives: &Directives, rules: &[Rule], law: &WindowShim) -> Result<(), BpfError> {
        self.handover.hand_over(&self.object, directives, rules, Some((law, self.given > 0)))
    }

    /// A connection's flow away from here, if it has a window at both ends.
    pub fn flow(&self, connection: &Connection) -> Result<Option<WindowFlow>, BpfError> {
        let key = connection.flow_key().bytes();
        let found = load::map(&self.object, "windows")?.lookup(&key, MapFlags::ANY);
        Ok(found.map_err(load::refused("looking at a window"))?.and_then(|bytes| read(&bytes)))
    }

    /// Gives a connection's flow a weight of its own, or takes it away.
    pub fn give(&self, connection: &Connection, weight: Option<Weight>) -> Result<(), BpfError> {
        let (key, what) = (connection.flow_key().bytes(), || load::refused("giving a flow its weight"));
        let weights = load::map(&self.object, "weights")?;
        match weight {
            Some(weight) => {
                weights.update(&key, &weight.parts().to_ne_bytes(), MapFlags::ANY).map_err(what())
            }
            None if weights.lookup(&key, MapFlags::ANY).map_err(what())?.is_some() => {
                weights.delete(&key).map_err(what())
            }
            None => Ok(()),
        }
    }

    /// What it has done so far.
    pub fn kept(&self) -> Result<Kept, BpfError> {
        let [told, refused, flows, shown, marks] = load::numbers(&self.object, ".bss")?;
        Ok(Kept { told, refused, flows, shown, marks })
    }

    /// The flows whose windows it keeps.
    pub fn flows(&self) -> Result<WindowTable, BpfError> {
        WindowTable::new(&self.object)
    }

    /// What windows take of the kernel's memory.
    pub fn memory_bytes(&self) -> Result<u64, BpfError> {
        flows::memory_of(&load::map(&self.object, "windows")?)
    }

    /// Gives the program for frames that leave, or that come, one, so many times, without any network. Returns what became of it
    /// the last time, and the mean time in nanoseconds.
    pub fn try_on(&mut self, leaves: bool, frame: &[u8], times: u32) -> Result<(Vec<u8>, u32), BpfError> {
        let name = if leaves { "leaves" } else { "comes" };
        load::try_on(&mut self.object, name, frame, times)
    }
}

fn read(window: &[u8]) -> Option<WindowFlow> {
    let number = |at: usize| Some(u32::from_ne_bytes(window.get(at..at + 4)?.try_into().ok()?));
    if number(FLAGS_AT)? & HAS_PEER == 0 {
        return None;
    }
    let deadline = u64::from_ne_bytes(window.get(DEADLINE_AT..DEADLINE_AT + 8)?.try_into().ok()?);
    Some(WindowFlow {
        known: Known::read(window)?,
        deadline_ns: (deadline > 0).then_some(deadline),
        told: number(TOLD_AT)?,
        delivered: number(UNA_AT)?.wrapping_sub(number(FIRST_AT)?),
    })
}
