//! Uranus: slices share the links between racks by weight, and inside each its flows by what it is for.

mod allocate;
mod controller;
mod guests;
#[cfg(test)]
mod property_tests;
mod ps_n;
mod sharing;
mod slice;
#[cfg(test)]
mod tests;

pub use allocate::Norm;
pub use controller::SliceController;
pub use guests::{Guests, SliceGuests};
pub use ps_n::PsN;
pub use sharing::{Aggregate, Demand, Given, Sharing, aggregates};

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{
    Bytes, Controller, Facts, FlowInfo, Knowledge, ParamError, PortFacts, Queues, Rate, RateRule, Scheme,
    SwitchPlan, TagTable, Time, WindowShim,
};
use tailrace_queues::{MultiQueue, PortParams};

use crate::mlfq::{check_thresholds, sunk};
use crate::wvcc::{Enforced, Guest, ShimParams, SliceWeights, by_growth};

/// Parameters of `uranus`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What the hosts of each kind of slice run behind the shim.
    pub guests: Guests,
    /// The shim.
    pub shim: ShimParams,
    /// When weights are found.
    pub control: ControlParams,
    /// How the weights of slices are shared out.
    pub share: ShareParams,
    /// Inside every slice flows sink through priority queues: a packet is in queue i while fewer than the i-th
    /// threshold's bytes of its flow precede it; ascending, one fewer than `port.queues`.
    pub thresholds: Vec<Bytes>,
    /// How ports queue and mark.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            guests: Guests::default(),
            shim: ShimParams::default(),
            control: ControlParams::default(),
            share: ShareParams::default(),
            thresholds: Vec::new(),
            port: PortParams::one_queue(),
        }
    }
}

/// When a controller of slices finds weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ControlParams {
    /// Time between two decisions.
    pub slot: Time,
    /// What an update takes to the hosts, beside the data path.
    pub delay: Time,
    /// When a flow comes or goes, share out anew at once what its rack-flow has (under `scc` its tunnel); what its
    /// slice has, if it is the first or the last there.
    pub at_once: bool,
}

impl Default for ControlParams {
    fn default() -> Self {
        ControlParams { slot: Time::from_ms(10), delay: Time::from_us(500), at_once: true }
    }
}

/// How the weights of slices are shared out to racks and flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShareParams {
    /// Among which flows a slice's weight is shared out.
    pub norm: Norm,
    /// A flow with a deadline keeps its old weight as a factor: what falls behind gets ever more (Algorithm 1).
    pub deadline_memory: bool,
    /// So do flows of other slices (Algorithm 2 read to the letter: all or nothing within a few slots).
    pub completion_memory: bool,
    /// Between what a slice's weight is shared out.
    pub ends: Ends,
    /// A flow that cannot meet its deadline any more, with all of a host's link, has the least urgency; else the largest
    /// once the deadline has passed.
    pub give_up: bool,
    /// Urgencies (Eq. 4) lie between one over this and this: they may be off by a slot's measurement.
    pub most_urgent: u32,
}

/// The ends of a slice's communications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// Racks (Eq. 2). Flows within one keep the weight 1.
    #[default]
    Racks,
    /// Hosts, as PS-N has it between virtual machines (Eq. 1).
    Hosts,
}

impl Default for ShareParams {
    fn default() -> Self {
        ShareParams {
            norm: Norm::Rackflow,
            deadline_memory: true,
            completion_memory: false,
            ends: Ends::Racks,
            give_up: false,
            most_urgent: sharing::MOST_URGENT,
        }
    }
}

/// Weights are numbers of 64 bits, and a slot multiplies them by it.
const MOST_URGENT: RangeInclusive<u32> = 1..=65_536;

impl ShareParams {
    /// Checks the range.
    pub fn check(&self) -> Result<(), ParamError> {
        if MOST_URGENT.contains(&self.most_urgent) {
            return Ok(());
        }
        let [least, most] = [MOST_URGENT.start(), MOST_URGENT.end()];
        let message = format!(
            "is {}, but must be between {least} and {most}: urgencies lie between one over it and it",
            self.most_urgent
        );
        Err(ParamError::new("most_urgent", message))
    }
}

/// Slots are no shorter: all flows are looked at in each.
const SHORTEST: Time = Time::from_us(10);
/// Slots and delays are no longer.
const LONGEST: Time = Time::from_ms(100_000);

impl ControlParams {
    /// Checks the ranges.
    pub fn check(&self, horizon: Option<Time>) -> Result<(), ParamError> {
        if self.slot < SHORTEST {
            let message =
                format!("is {}, but must be at least {SHORTEST}: all flows are looked at in each", self.slot);
            return Err(ParamError::new("slot", message));
        }
        match [("slot", self.slot), ("delay", self.delay)].into_iter().find(|(_, time)| *time > LONGEST) {
            Some((field, time)) => Err(ParamError::new(
                field,
                format!("is {time}, but must be at most {LONGEST}: no run would see it"),
            )),
            None => self.check_against(horizon),
        }
    }

    /// Some update must arrive before a run is stopped.
    fn check_against(&self, horizon: Option<Time>) -> Result<(), ParamError> {
        let Some(horizon) = horizon else { return Ok(()) };
        let end = format!("but the run ends after {horizon} (measure.horizon): no update would arrive");
        let Self { slot, delay, at_once, .. } = *self;
        if delay >= horizon {
            return Err(ParamError::new("delay", format!("is {delay}, {end}")));
        }
        if !at_once && slot.saturating_add(delay) >= horizon {
            let message = format!("is {slot}, and an update takes {delay} more, {end}");
            return Err(ParamError::new("slot", message));
        }
        Ok(())
    }
}

/// A controller of slices needs some.
pub fn check_slices(facts: &Facts) -> Result<(), ParamError> {
    if facts.slices.is_empty() {
        let message = "cannot be used without slices: give each tenant a [[slice]] with a weight, and the rules of \
                       its flows slice = 1, 2 and so on";
        return Err(ParamError::new("", message));
    }
    Ok(())
}

/// The scheme.
pub struct Uranus {
    facts: Facts,
    params: Params,
    guests: SliceGuests,
}

impl Scheme for Uranus {
    const NAME: &'static str = "uranus";
    const SUMMARY: &'static str = "slices share the links between racks by weight, their flows by objective";
    const SOURCE: &'static str = "Uranus and its weighted virtual congestion control";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: true };
    type Params = Params;
    type Header = ();
    type Law = Enforced<Guest>;
    type Host = SliceWeights;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        check_slices(facts)?;
        params.shim.check().map_err(|e| e.within("shim"))?;
        params.control.check(facts.horizon).map_err(|e| e.within("control"))?;
        params.share.check().map_err(|e| e.within("share"))?;
        params.port.check().map_err(|e| e.within("port"))?;
        check_thresholds(&params.thresholds, params.port.queues)?;
        let guests = SliceGuests::new(params.guests, facts)?;
        Ok(Uranus { facts: facts.clone(), params, guests })
    }
    fn ecn(&self) -> bool {
        true
    }
    fn law(&self, flow: &FlowInfo) -> Self::Law {
        let (shim, transport) = (&self.params.shim, &self.facts.transport);
        Enforced::new(self.guests.law(flow), shim, by_growth, flow, transport)
    }
    /// Until the controller has spoken, a flow has its slice's weight.
    fn host(&self) -> SliceWeights {
        SliceWeights::up_to_one(&self.facts.slices).tagged(self.tags())
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.params.port, port)
    }
    /// Not with thresholds: a datapath that keeps windows tags nothing.
    fn window_shim(&self) -> Option<WindowShim> {
        self.params.shim.in_datapath(&self.facts.transport).filter(|_| self.params.thresholds.is_empty())
    }
    fn controller(&self) -> Option<Box<dyn Controller>> {
        let by_racks = PsN::new(self.params.share, &self.facts);
        Some(Box::new(SliceController::new(self.params.control, by_racks, &self.facts)))
    }
    fn rate_rule(&self) -> Option<Box<dyn RateRule>> {
        self.params.port.is_strict().then(|| Box::new(Queues(self.host())) as Box<dyn RateRule>)
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        let port = &self.params.port;
        if self.params.thresholds.is_empty() {
            return Some(port.untagged_plan(link));
        }
        Some(port.switch_plan(link, |queue| sunk(&self.tags(), queue)))
    }
}

impl Uranus {
    fn tags(&self) -> TagTable {
        TagTable::with_limits(&self.params.thresholds)
    }
}
