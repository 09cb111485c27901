//! Windows that are kept for TCP connections, beside those of their own.

use libbpf_rs::{Link, Object};
use tailrace_core::{Directives, WindowShim};

use super::handover::Handover;
use super::known::Rule;
use super::{ear, flows, load, sys};
use crate::error::AgentError;
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
}

impl WindowKeeper {
    /// One that remembers so many connections of this thread's network namespace, for frames of Ethernet. It is nowhere yet.
    pub fn new(
        flows: u32,
        directives: &Directives,
        rules: &[Rule],
        law: &WindowShim,
    ) -> Result<Self, AgentError> {
        load::check()?;
        let mut object = load::open(PROGRAMS)?;
        let constants = Constants { seed: 0, buckets: 0, network: load::own_network()? };
        load::set_constant(&mut object, ".rodata", &constants.bytes())?;
        load::open_map(&mut object, "windows")?
            .set_max_entries(flows)
            .map_err(load::refused(format!("making room for {flows} connections")))?;
        let object = load::load(object)?;
        let mut keeper = WindowKeeper { links: Vec::new(), object, handover: Handover::new()? };
        keeper.set(directives, rules, law)?;
        keeper.links.extend(ear::open(&mut keeper.object, None)?);
        Ok(keeper)
    }

    /// From now on connections over this interface, of this thread's network namespace, that begin have windows.
    pub fn attach(&mut self, interface: u32) -> Result<(), AgentError> {
        for name in ["leaves", "comes"] {
            let program = load::program(&mut self.object, name)?;
            let what = "attaching to the interface (programs beside one another, tcx, need Linux 6.6)";
            self.links.push(sys::attach_tcx(&program, interface).map_err(AgentError::refused(what))?);
        }
        Ok(())
    }

    /// From now on weights are these; windows stay as they are.
    pub fn set(
        &mut self,
        directives: &Directives,
        rules: &[Rule],
        law: &WindowShim,
    ) -> Result<(), AgentError> {
        self.handover.hand_over(&self.object, directives, rules, Some(law))
    }

    /// What it has done so far.
    pub fn kept(&self) -> Result<Kept, AgentError> {
        let [told, refused, flows, shown, marks] = load::numbers(&self.object, ".bss")?;
        Ok(Kept { told, refused, flows, shown, marks })
    }

    /// What windows take of the kernel's memory.
    pub fn memory_bytes(&self) -> Result<u64, AgentError> {
        flows::memory_of(&load::map(&self.object, "windows")?)
    }

    /// Gives the program for frames that leave, or that come, one, so many times, without any network. Returns what became of it
    /// the last time, and the mean time in nanoseconds.
    pub fn try_on(&mut self, leaves: bool, frame: &[u8], times: u32) -> Result<(Vec<u8>, u32), AgentError> {
        let name = if leaves { "leaves" } else { "comes" };
        load::try_on(&mut self.object, name, frame, times)
    }
}
