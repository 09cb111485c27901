//! Tags in the packets that leave an interface.

use libbpf_rs::{Link, MapCore, MapFlags, Object};
use tailrace_core::Directives;

use super::announcements::Announcements;
use super::flows::{FlowTable, make_room};
use super::handover::Handover;
use super::known::{Known, Rule};
use super::pins::Pins;
use super::{announcements, load, sys};
use crate::connection::Connection;
use crate::error::BpfError;

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
    listener: Option<Link>,
    object: Object,
    handover: Handover,
    /// Whether something may be known of flows.
    has_rules: bool,
}

impl EgressTagger {
    /// One that remembers so many flows of this thread's network namespace, for frames of Ethernet. It is nowhere yet.
    pub fn new(flows: u32, directives: &Directives, rules: &[Rule]) -> Result<Self, BpfError> {
        Self::going_on(None, flows, directives, rules)
    }

    /// The same, with the flows that are pinned, if there are such.
    pub fn going_on(
        pins: Option<&Pins>,
        flows: u32,
        directives: &Directives,
        rules: &[Rule],
    ) -> Result<Self, BpfError> {
        load::check()?;
        let mut object = load::open(PROGRAMS)?;
        let seed = make_room(&mut object, flows)?;
        let pinned = pins.map(|pins| pins.reuse_flows(&mut object, flows)).transpose()?.flatten();
        let object = load::load(object)?;
        let handover = Handover::new()?;
        let mut tagger = EgressTagger { link: None, listener: None, object, handover, has_rules: false };
        tagger.flows()?.keep_seed(pinned.unwrap_or(seed))?;
        tagger.set(directives, rules)?;
        tagger.listener = announcements::listen(&mut tagger.object, pins)?;
        Ok(tagger)
    }

    /// From now on packets that leave this interface, of this thread's network namespace, are tagged.
    pub fn attach(&mut self, interface: u32) -> Result<(), BpfError> {
        self.attach_keeping(None, interface)
    }

    /// The same, in the place of the program that is pinned: a packet finds that one or this one. What is pinned stays when
    /// this value goes.
    pub fn attach_keeping(&mut self, pins: Option<&Pins>, interface: u32) -> Result<(), BpfError> {
        let program = load::program(&mut self.object, "tag")?;
        let what = "attaching to the interface (programs beside one another, tcx, need Linux 6.6)";
        let mut link = match pins.map(Pins::open_link).transpose()?.flatten() {
            Some(mut link) => {
                link.update_prog(&program)
                    .map_err(load::refused("taking the place of the program that is pinned"))?;
                link
            }
            None => sys::attach_tcx(&program, interface).map_err(BpfError::refused(what))?,
        };
        pins.map_or(Ok(()), |pins| pins.keep(&self.object, &mut link, self.listener.as_mut()))?;
        self.link = Some(link);
        Ok(())
    }

    /// From now on packets are tagged by these: each finds the old ones or these. What flows have sent stays. Programs of
    /// cgroups that a rule names are heard.
    pub fn set(&mut self, directives: &Directives, rules: &[Rule]) -> Result<(), BpfError> {
        self.handover.hand_over(&self.object, directives, rules, None)?;
        self.has_rules = !rules.is_empty();
        Ok(())
    }

    /// What is known of the flow that a connection of this machine sends, if something can be and is remembered.
    pub fn known_of(&self, connection: &Connection) -> Result<Option<Known>, BpfError> {
        if !self.has_rules {
            return Ok(None);
        }
        let found = load::map(&self.object, "known_flows")?
            .lookup(&connection.flow_key().bytes(), MapFlags::ANY)
            .map_err(load::refused("looking for a flow"))?;
        Ok(found.and_then(|bytes| Known::read(&bytes)))
    }

    /// The flows that it remembers, for whoever wants to look at them, on any thread.
    pub fn flows(&self) -> Result<FlowTable, BpfError> {
        FlowTable::new(&self.object)
    }

    /// What programs have announced of their sockets, which a congestion law may share.
    pub fn announcements(&self) -> Result<Announcements, BpfError> {
        Announcements::of(&self.object)
    }

    /// What it has done so far.
    pub fn counts(&self) -> Result<Counts, BpfError> {
        let [tagged, untouched, flows, crowded, told, refused] = load::numbers(&self.object, ".bss")?;
        Ok(Counts { tagged, untouched, flows, crowded, told, refused })
    }

    /// Gives the program a frame so many times, without any network. Returns what became of it the last time, and the mean
    /// time in nanoseconds.
    pub fn try_on(&mut self, frame: &[u8], times: u32) -> Result<(Vec<u8>, u32), BpfError> {
        load::try_on(&mut self.object, "tag", frame, times)
    }
}
