//! How the weights of slices are shared out, in two tiers: a slice's to the aggregates of its flows, an aggregate's
//! to its flows.

use tailrace_core::{FlowInfo, Objective};

/// The number of a rack, or of a host, among which weights are shared.
pub type End = u32;

/// The flows of a slice from one end to another: between racks a rack-flow, between hosts a tunnel. In order, the two
/// directions of a pair are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Aggregate {
    pair: [End; 2],
    from: End,
}

impl Aggregate {
    /// Those that go from one end to the other.
    pub fn new(from: End, to: End) -> Self {
        Aggregate { pair: [from.min(to), from.max(to)], from }
    }

    /// Both ends, the lower number first.
    #[inline]
    pub fn pair(&self) -> [End; 2] {
        self.pair
    }

    /// The end that sends.
    #[inline]
    pub fn from(&self) -> End {
        self.from
    }
}

/// A flow that asks for a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Where it counts.
    pub aggregate: Aggregate,
    /// How much it needs beside the other flows of its slice; above 0.
    pub metric: f64,
    /// What it is multiplied by within its aggregate: the flow's old weight, or 1.
    pub memory: f64,
}

impl Demand {
    /// What its share within its aggregate is proportional to.
    #[inline]
    pub fn claim(&self) -> f64 {
        self.metric * self.memory
    }
}

/// The aggregates of flows that are in order.
pub fn aggregates(flows: &[Demand]) -> impl Iterator<Item = &[Demand]> {
    flows.chunk_by(|a, b| a.aggregate == b.aggregate)
}

/// What a flow is given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Given {
    /// Its weight.
    pub weight: f64,
    /// What its aggregate has in all.
    pub part: f64,
}

/// What urgencies are at most, and one over what they are at least, if nobody chose.
pub const MOST_URGENT: u32 = 16;

/// How the weights of slices are shared out.
pub trait Sharing {
    /// Where a flow counts; `None` if it has no part in this.
    fn aggregate(&self, flow: &FlowInfo) -> Option<Aggregate>;
    /// Whether flows of such slices keep their old weight as a factor ([`Demand::memory`]).
    fn remembers(&self, objective: Objective) -> bool;
    /// Whether a flow that cannot meet its deadline any more, with all of a host's link, has the least urgency.
    fn gives_up(&self) -> bool {
        false
    }
    /// Urgencies of flows with deadlines lie between this and one over this: they may be off by a slot's measurement.
    fn most_urgent(&self) -> f64 {
        f64::from(MOST_URGENT)
    }
    /// First tier: fills `parts` with what each of the [`aggregates`] of `flows` has of their slice's `weight`.
    fn divide(&mut self, weight: f64, flows: &[Demand], parts: &mut Vec<f64>);
    /// Second tier: fills `weights` with what each of `flows`, which are an aggregate, has of its `part`.
    fn share(&self, part: f64, flows: &[Demand], weights: &mut Vec<f64>);
    /// What weights are measured by, if it is for a slice of this `weight` to say, which has so many aggregates and
    /// gives a flow `most` at most.
    fn scale(&self, weight: f64, aggregates: usize, most: f64) -> f64;
    /// The weight that a host is told, which has a range; `scale` is the largest of all slices'.
    fn fit(&self, given: Given, scale: f64) -> f64;
}
