//! Tags in the packets that leave an interface.

use libbpf_rs::{Link, MapCore, MapFlags, Object};
use tailrace_core::Directives;

use super::ear::Ear;
use super::known::{Known, Rule};
use super::{handover, load, sys};
use crate::connection::Connection;
use crate::error::AgentError;

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
    /// What programs have said of flows.
    pub told: u64,
    /// What they wanted to say, but must not.
    pub refused: u64,
}

/// Writes priorities into the DSCP of TCP packets, by the bytes of their flow that precede them, and by what rules and programs
/// say of it.
pub struct EgressTagger {
    // They go first: without them no packet comes, and no program is heard.
    link: Option<Link>,
    ear: Ear,
    object: Object,
    generation: u32,
}

impl EgressTagger {
    /// One that remembers so many flows of this thread's network namespace, for frames of Ethernet. It is nowhere yet.
    pub fn new(flows: u32, directives: &Directives, rules: &[Rule]) -> Result<Self, AgentError> {
        load::check()?;
        let mut object = load::open(PROGRAMS)?;
        load::set_constant(&mut object, &u64::from(load::own_network()?).to_ne_bytes())?;
        load::open_map(&mut object, "flows")?
            .set_max_entries(flows)
            .map_err(load::refused(format!("making room for {flows} flows")))?;
        let object = load::load(object)?;
        let mut tagger = EgressTagger { link: None, ear: Ear::default(), object, generation: 0 };
        tagger.set(directives, rules)?;
        Ok(tagger)
    }

    /// From now on packets that leave this interface, of this thread's network namespace, are tagged.
    pub fn attach(&mut self, interface: u32) -> Result<(), AgentError> {
        let program = load::program(&mut self.object, "tag")?;
        let what = "attaching to the interface (programs beside one another, tcx, need Linux 6.6)";
        self.link = Some(sys::attach_tcx(&program, interface).map_err(AgentError::refused(what))?);
        Ok(())
    }

    /// From now on packets are tagged by these: each finds the old ones or these. What flows have sent stays. Programs of
    /// cgroups that a rule names are heard.
    pub fn set(&mut self, directives: &Directives, rules: &[Rule]) -> Result<(), AgentError> {
        self.generation = self.generation.wrapping_add(1);
        handover::hand_over(&self.object, directives, rules, None, self.generation)?;
        self.ear.set(&mut self.object, rules)
    }

    /// What is known of the flow that a connection of this machine sends, if it is remembered.
    pub fn known_of(&self, connection: &Connection) -> Result<Option<Known>, AgentError> {
        let flows = self.object.maps().find(|map| map.name() == "flows");
        let flows = flows
            .ok_or_else(|| AgentError::Kernel("the programs for the kernel have no flows".to_owned()))?;
        let found = flows.lookup(&connection.flow_key(), MapFlags::ANY);
        Ok(found.map_err(load::refused("looking for a flow"))?.and_then(|bytes| Known::read(&bytes)))
    }

    /// What it has done so far.
    pub fn counts(&self) -> Result<Counts, AgentError> {
        let [tagged, untouched, flows, told, refused] = load::numbers(&self.object, ".bss")?;
        Ok(Counts { tagged, untouched, flows, told, refused })
    }

    /// Gives the program a frame so many times, without any network. Returns what became of it the last time, and the mean
    /// time in nanoseconds.
    pub fn try_on(&mut self, frame: &[u8], times: u32) -> Result<(Vec<u8>, u32), AgentError> {
        load::try_on(&mut self.object, "tag", frame, times)
    }
}
