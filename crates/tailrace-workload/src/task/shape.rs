//! What all tasks of a workflow have in common: a directed graph of stages, whose flows run between roles. A task
//! is a shape, a host for each role, and a number of bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use tailrace_core::random::Stream;

/// A part in a workflow that a host plays; its number is its place among a task's hosts.
pub type Role = u16;

/// Stages in an order in which each comes after those that it waits for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// The flows of all stages, stage by stage.
    pub flows: Vec<Hop>,
    /// The stages.
    pub stages: Vec<Stage>,
    sources: Vec<Source>,
}

/// A flow between two roles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// The role that sends.
    pub src: Role,
    /// The role that receives.
    pub dst: Role,
    origin: Origin,
}

/// Flows that start together, once all flows of other stages have ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Its flows' places in the shape.
    pub flows: Range<u32>,
    /// How many stages it waits for.
    pub waits_for: u32,
    /// The stages that wait for it.
    pub then: Vec<u32>,
    /// The sources that its flows draw on.
    sources: Range<u32>,
}

/// Where a flow's bytes come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    /// An uneven share of the task's bytes.
    Share,
    /// One of so many equal parts of a task's bytes.
    Chunk(Chunk),
    /// One of so many equal parts of what a source yields.
    From(u32, Chunk),
}

/// The `k`-th, from 0, of `n` parts that differ by a byte at most and add up to the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Which part, from 0.
    pub k: u32,
    /// How many parts.
    pub n: u32,
}

/// What a host sends on of what it has received: `selectivity` times the bytes of these flows.
#[derive(Clone, Debug, PartialEq)]
struct Source {
    inputs: Vec<u32>,
    selectivity: f64,
}

/// Bounds of the weights by which flows share a task's bytes. Were all flows of a task equal, shortest flow first
/// would serve tasks by size, which Baraat's shortest-flow baseline is not meant to know.
const WEIGHTS: [f64; 2] = [2.0, 50.0];

impl Chunk {
    /// The whole.
    pub const WHOLE: Chunk = Chunk { k: 0, n: 1 };

    /// The part of so many bytes; no flow is empty.
    pub fn of(self, bytes: u64) -> u64 {
        let edge = |k: u32| (u128::from(bytes) * u128::from(k) / u128::from(self.n)) as u64;
        (edge(self.k + 1) - edge(self.k)).max(1)
    }
}

impl Shape {
    /// How many flows have uneven shares.
    pub fn shares(&self) -> usize {
        self.flows.iter().filter(|hop| hop.origin == Origin::Share).count()
    }

    /// The bytes of a task's flows, from those of the task and the uneven shares.
    pub fn sizes(&self, whole: u64, shares: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut shares = shares.into_iter();
        let mut sizes: Vec<u64> = Vec::with_capacity(self.flows.len());
        let mut yields = Vec::with_capacity(self.sources.len());
        for stage in &self.stages {
            for source in &self.sources[places(&stage.sources)] {
                let inputs = total(source.inputs.iter().map(|&flow| sizes[flow as usize]));
                yields.push((inputs as f64 * source.selectivity).round() as u64);
            }
            for hop in &self.flows[places(&stage.flows)] {
                sizes.push(match hop.origin {
                    Origin::Share => shares.next().unwrap_or(1),
                    Origin::Chunk(part) => part.of(whole),
                    Origin::From(source, part) => part.of(yields[source as usize]),
                });
            }
        }
        sizes
    }

    /// The shape of a task with these sizes whose flows of more than `most` bytes are several in equal parts, and their
    /// sizes.
    pub fn split(&self, sizes: &[u64], most: u64) -> (Shape, Vec<u64>) {
        let mut split = Shape { stages: self.stages.clone(), ..Shape::default() };
        let mut parts = Vec::with_capacity(sizes.len());
        for (stage, new) in self.stages.iter().zip(&mut split.stages) {
            let first = split.flows.len() as u32;
            for flow in places(&stage.flows) {
                let n = sizes[flow].div_ceil(most).max(1) as u32;
                split.flows.extend(std::iter::repeat_n(self.flows[flow], n as usize));
                parts.extend((0..n).map(|k| Chunk { k, n }.of(sizes[flow])));
            }
            // Sizes are settled: nothing is drawn from sources any more.
            (new.flows, new.sources) = (first..split.flows.len() as u32, 0..0);
        }
        (split, parts)
    }

    /// Adds a stage that waits for those of `after`; returns its number.
    pub fn stage(&mut self, after: &[u32], flows: impl IntoIterator<Item = (Role, Role, Origin)>) -> u32 {
        let number = self.stages.len() as u32;
        let first = self.flows.len() as u32;
        self.flows.extend(flows.into_iter().map(|(src, dst, origin)| Hop { src, dst, origin }));
        // Sources that were made since the last stage are this one's.
        let known = self.stages.last().map_or(0, |stage| stage.sources.end);
        self.stages.push(Stage {
            flows: first..self.flows.len() as u32,
            waits_for: after.len() as u32,
            then: Vec::new(),
            sources: known..self.sources.len() as u32,
        });
        after.iter().for_each(|&before| self.stages[before as usize].then.push(number));
        number
    }

    /// For the next stage: what each role receives in the stages of `after`, times `selectivity`.
    pub(super) fn received(&mut self, after: &[u32], selectivity: f64) -> BTreeMap<Role, u32> {
        let mut inputs: BTreeMap<Role, Vec<u32>> = BTreeMap::new();
        for &stage in after {
            for flow in self.stages[stage as usize].flows.clone() {
                inputs.entry(self.flows[flow as usize].dst).or_default().push(flow);
            }
        }
        let source = |(role, inputs)| {
            self.sources.push(Source { inputs, selectivity });
            (role, self.sources.len() as u32 - 1)
        };
        inputs.into_iter().map(source).collect()
    }
}

/// The flows by which a role spreads what a source yields evenly.
pub(super) fn spread(src: Role, source: u32, to: &[Role]) -> impl Iterator<Item = (Role, Role, Origin)> {
    let n = to.len() as u32;
    (0..).zip(to).map(move |(k, &dst)| (src, dst, Origin::From(source, Chunk { k, n })))
}

/// Bytes of flows together.
pub fn total(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.fold(0, u64::saturating_add)
}

fn places(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// Parts of `bytes` by random weights, as many as asked for, each at least one byte.
pub fn uneven(bytes: u64, parts: usize, stream: &mut Stream) -> Vec<u64> {
    let [low, high] = WEIGHTS;
    let weights: Vec<f64> = (0..parts).map(|_| low + (high - low) * stream.unit()).collect();
    let total: f64 = weights.iter().sum();
    let (mut sum, mut before) = (0.0, 0);
    let mut next = |weight: f64| {
        sum += weight;
        let edge = (bytes as f64 * (sum / total)).round() as u64;
        let part = edge - before;
        before = edge;
        part.max(1)
    };
    weights.into_iter().map(&mut next).collect()
}

/// The largest share of a task that one of so many flows may have.
pub(super) fn largest_share(parts: usize) -> f64 {
    let [low, high] = WEIGHTS;
    high / (high + low * (parts.max(1) - 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_add_up(bytes in 100u64..u64::MAX, n in 1u32..100) {
            let parts = (0..n).map(|k| Chunk { k, n }.of(bytes));
            prop_assert_eq!(total(parts.clone()), bytes);
            prop_assert!(parts.clone().max().zip(parts.min()).is_some_and(|(most, least)| most - least <= 1));
        }

        #[test]
        fn uneven_shares_add_up_and_none_is_larger_than_it_may_be(
            bytes in 100_000u64..1 << 43,
            parts in 1usize..1000,
            seed in any::<u64>(),
        ) {
            let shares = uneven(bytes, parts, &mut Stream::new(seed, "test", 0));
            prop_assert_eq!((shares.len(), total(shares.iter().copied())), (parts, bytes));
            let most = bytes as f64 * largest_share(parts) + 1.0;
            prop_assert!(shares.iter().all(|&share| share > 0 && share as f64 <= most));
        }

        #[test]
        fn split_flows_have_the_same_bytes_between_the_same_roles_in_the_same_stages(
            sizes in prop::collection::vec(1u64..10_000, 1..20),
            most in 1u64..3_000,
        ) {
            let mut shape = Shape::default();
            let hop = |n: usize| (n as u16, 100, Origin::Share);
            let half = sizes.len() / 2;
            let first = shape.stage(&[], (0..half).map(hop));
            shape.stage(&[first], (half..sizes.len()).map(hop));
            let (split, parts) = shape.split(&sizes, most);
            prop_assert_eq!((split.flows.len(), split.stages.len()), (parts.len(), 2));
            prop_assert!(parts.iter().all(|&part| part > 0 && part <= most));
            for (number, stage) in split.stages.iter().enumerate() {
                let of = |role: usize| {
                    let own = places(&stage.flows).filter(|&flow| split.flows[flow].src == role as u16);
                    total(own.map(|flow| parts[flow]))
                };
                for (role, &size) in sizes.iter().enumerate() {
                    prop_assert_eq!(of(role), if (role >= half) == (number == 1) { size } else { 0 });
                }
            }
        }

        /// What every host sends on is `selectivity` times what it has received.
        #[test]
        fn bytes_are_conserved_through_selectivity(
            sent in prop::collection::vec((0u16..5, 0u16..5, 100u64..1 << 40), 1..20),
            selectivity in 0.01f64..20.0,
            receivers in 1u16..8,
        ) {
            let mut shape = Shape::default();
            let first = shape.stage(&[], sent.iter().map(|&(src, dst, _)| (src, dst, Origin::Share)));
            let received = shape.received(&[first], selectivity);
            let to: Vec<Role> = (10..10 + receivers).collect();
            let flows: Vec<_> = received.iter().flat_map(|(&host, &source)| spread(host, source, &to)).collect();
            shape.stage(&[first], flows);
            let sizes = shape.sizes(0, sent.iter().map(|flow| flow.2));
            let sum = |stage: usize, of: &dyn Fn(&Hop) -> bool| {
                let flows = places(&shape.stages[stage].flows);
                total(flows.filter(|&flow| of(&shape.flows[flow])).map(|flow| sizes[flow]))
            };
            for &host in received.keys() {
                let (came, went) = (sum(0, &|hop| hop.dst == host), sum(1, &|hop| hop.src == host));
                let expected = (came as f64 * selectivity).round() as u64;
                // No flow is empty.
                let rounded_up = if expected < u64::from(receivers) { u64::from(receivers) } else { 0 };
                prop_assert!(went == expected || went <= rounded_up, "{came} {went}");
            }
        }
    }

    #[test]
    fn bytes_beyond_all_bounds_stay_at_the_bound() {
        let mut shape = Shape::default();
        let mut last = shape.stage(&[], [(0, 1, Origin::Share), (2, 1, Origin::Share)]);
        for (src, dst) in [(1, 0), (0, 1), (1, 0)] {
            let source = shape.received(&[last], 1e6)[&src];
            last = shape.stage(&[last], spread(src, source, &[dst, dst]).collect::<Vec<_>>());
        }
        assert!(shape.sizes(0, std::iter::repeat(1 << 60)).iter().all(|&size| size > 0));
    }
}
