//! A host policy as data: the directive of each flow by what is known of it, as a table in a kernel can hold it.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Directive, FlowInfo, HostPolicy, Knowledge, MAX_PRIORITIES, SliceId, TaskId, Time};

/// No flow is longer: a petabyte.
const LONGEST: u64 = 1 << 50;
/// More sizes at which directives change than any queues have.
const MAX_EDGES: usize = 31;

/// What all flows of a policy are directed to do, as long as it does not change its mind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawDirectives")]
pub struct Directives {
    slices: SliceId,
    /// Sizes at which directives change: flows of `edges[i - 1]` and more, and less than `edges[i]`, are alike.
    edges: Vec<Bytes>,
    /// In the order of [`Self::place`].
    all: Vec<Directive>,
}

/// Directives as another machine sends them, not checked yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDirectives {
    slices: SliceId,
    edges: Vec<Bytes>,
    all: Vec<Directive>,
}

impl TryFrom<RawDirectives> for Directives {
    type Error = String;

    fn try_from(raw: RawDirectives) -> Result<Self, String> {
        let RawDirectives { slices, edges, all } = raw;
        let kinds = (usize::from(slices) + 1) * (1 + 2 * (edges.len() + 1));
        if all.len() != kinds {
            return Err(format!(
                "{} directives for {kinds} kinds of flows, by slice, size and deadline",
                all.len()
            ));
        }
        if edges.len() > MAX_EDGES || edges.windows(2).any(|two| two[0] >= two[1]) {
            return Err(format!("edges must ascend, and be {MAX_EDGES} at most"));
        }
        let ends = |of: &Directive| (0..MAX_PRIORITIES).map(|priority| of.tags.range(priority)).all(ordered);
        if !all.iter().all(|of| ends(of) && usize::from(of.acks) < MAX_PRIORITIES) {
            return Err("limits must ascend, and there are 8 priorities".to_owned());
        }
        Ok(Directives { slices, edges, all })
    }
}

fn ordered((from, to): (u64, u64)) -> bool {
    from <= to
}

impl Directives {
    /// Asks a policy for the directive of every flow of so many slices. The error says what of it no table can hold.
    pub fn of(policy: &impl HostPolicy, knows: Knowledge, slices: SliceId) -> Result<Self, String> {
        let ask = |slice, size, deadline, task| {
            let (id, src, dst, start) = (0, 0, 1, Time::ZERO);
            let flow = FlowInfo { id, src, dst, size, start, deadline, slice, task };
            policy.directive(&knows.filter(flow))
        };
        let deadlines = [None, Some(SOME_DEADLINE)];
        let kinds = (0..=slices).flat_map(|slice| deadlines.map(|deadline| (slice, deadline)));
        let of_size = |size: u64| -> Vec<Directive> {
            kinds.clone().map(|(slice, deadline)| ask(slice, Some(Bytes::new(size)), deadline, 0)).collect()
        };
        let edges = edges(of_size)?;
        let mut all = Vec::new();
        for slice in 0..=slices {
            all.push(ask(slice, None, None, 0));
            for deadline in deadlines {
                let pieces = std::iter::once(Bytes::ZERO).chain(edges.iter().copied());
                all.extend(pieces.map(|size| ask(slice, Some(size), deadline, 0)));
            }
        }
        let found = Directives { slices, edges, all };
        let other = |task, deadline: Option<Time>| {
            let sizes = std::iter::once(Bytes::ZERO).chain(found.edges.iter().copied());
            let mut known = (0..=slices).flat_map(|slice| sizes.clone().map(move |size| (slice, size)));
            known.any(|(slice, size)| {
                let asked = ask(slice, Some(size), deadline, task);
                asked != *found.get(slice, Some(size), deadline.is_some())
            })
        };
        if OTHER_DEADLINES.into_iter().any(|deadline| other(0, Some(deadline))) {
            return Err("tags depend on how far away deadlines are".into());
        }
        if other(SOME_TASK, None) {
            return Err("tags depend on tasks".into());
        }
        Ok(found)
    }

    /// The same for all flows.
    pub fn same(directive: Directive) -> Self {
        Directives { slices: 0, edges: Vec::new(), all: vec![directive; 3] }
    }

    /// The highest number of a slice.
    pub fn slices(&self) -> SliceId {
        self.slices
    }

    /// Sizes at which directives change.
    pub fn edges(&self) -> &[Bytes] {
        &self.edges
    }

    /// By slice: flows of unknown size; of known size without deadline, by size; with deadline, by size.
    pub fn all(&self) -> &[Directive] {
        &self.all
    }

    /// Where in [`Self::all`] a flow's directive is. A deadline without a size says nothing.
    pub fn place(&self, slice: SliceId, size: Option<Bytes>, deadline: bool) -> usize {
        let pieces = self.edges.len() + 1;
        let first = usize::from(slice.min(self.slices)) * (1 + 2 * pieces);
        let Some(size) = size else { return first };
        let piece = self.edges.partition_point(|&edge| edge <= size);
        first + 1 + usize::from(deadline) * pieces + piece
    }

    /// The directive of a flow.
    pub fn get(&self, slice: SliceId, size: Option<Bytes>, deadline: bool) -> &Directive {
        &self.all[self.place(slice, size, deadline)]
    }

    /// Whether all flows are directed alike.
    pub fn are_one(&self) -> bool {
        self.all.windows(2).all(|two| two[0] == two[1])
    }
}

const SOME_DEADLINE: Time = Time::from_ms(10);
const OTHER_DEADLINES: [Time; 3] = [Time::from_us(10), Time::from_ms(1_000), Time::from_ms(1_000_000)];
const SOME_TASK: TaskId = 7;

/// The sizes at which what is asked changes: all of them if it takes no value twice, and others if 1/64 apart.
fn edges(of_size: impl Fn(u64) -> Vec<Directive>) -> Result<Vec<Bytes>, String> {
    let octaves = (0..50u32).map(|power| 1u64 << power);
    let mut probes =
        octaves.flat_map(|from| (0..64.min(from)).map(move |part| from + part * (from / 64).max(1)));
    let (mut edges, mut before) = (Vec::new(), (0, of_size(0)));
    let mut between = |at: u64| {
        let now = (at, of_size(at));
        let result = halve(&of_size, &before, &now, &mut edges);
        before = now;
        result
    };
    let many = || format!("tags depend on sizes in more than {MAX_EDGES} steps");
    if probes.all(&mut between) && between(LONGEST) { Ok(edges) } else { Err(many()) }
}

/// Adds the edges between two sizes; whether they are few.
fn halve(
    of_size: &impl Fn(u64) -> Vec<Directive>,
    low: &(u64, Vec<Directive>),
    high: &(u64, Vec<Directive>),
    edges: &mut Vec<Bytes>,
) -> bool {
    if low.1 == high.1 {
        return true;
    }
    if high.0 - low.0 == 1 {
        edges.push(Bytes::new(high.0));
        return edges.len() <= MAX_EDGES;
    }
    let middle = low.0 + (high.0 - low.0) / 2;
    let middle = (middle, of_size(middle));
    halve(of_size, low, &middle, edges) && halve(of_size, &middle, high, edges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TagTable, Untagged, Weight};

    /// What a closure says.
    struct By<F>(F);

    impl<F: Fn(&FlowInfo) -> u8> HostPolicy for By<F> {
        fn directive(&self, flow: &FlowInfo) -> Directive {
            Directive { weight: Weight::nearest(f64::from(flow.slice) + 1.0), ..tagged((self.0)(flow)) }
        }
    }

    fn tagged(priority: u8) -> Directive {
        Directive::tagged(TagTable::flat(priority))
    }

    const ALL: Knowledge = Knowledge { sizes: true, deadlines: true };

    #[test]
    fn edges_are_found_to_the_byte_and_flows_between_them_are_alike() {
        let limits = [1u64, 2, 999, 1_000, 70_001, (1 << 40) + 3];
        let policy = By(|flow: &FlowInfo| match (flow.size, flow.deadline) {
            (Some(_), Some(_)) => 0,
            (Some(size), None) => 1 + limits.iter().filter(|&&limit| size.get() >= limit).count() as u8,
            (None, _) => 5,
        });
        let found = Directives::of(&policy, ALL, 2).unwrap();
        assert_eq!(found.edges().iter().map(|edge| edge.get()).collect::<Vec<_>>(), limits);
        let mut sizes: Vec<u64> = limits.iter().flat_map(|&limit| [limit - 1, limit, limit + 1]).collect();
        sizes.extend([0, 50_000, u64::MAX]);
        for (size, slice) in sizes.into_iter().flat_map(|size| (0..=2).map(move |slice| (size, slice))) {
            for deadline in [None, Some(Time::from_ms(3))] {
                let size = Some(Bytes::new(size));
                let flow =
                    FlowInfo { id: 4, src: 0, dst: 1, size, start: Time::ZERO, deadline, slice, task: 0 };
                assert_eq!(*found.get(slice, size, deadline.is_some()), policy.directive(&flow), "{flow:?}");
            }
            assert_eq!(found.get(slice, None, true).tags, TagTable::flat(5));
        }
        // As in the kernel, a slice that is not there is the last.
        assert_eq!(found.get(9, None, false), found.get(2, None, false));
    }

    #[test]
    fn what_a_scheme_does_not_know_makes_no_edges() {
        let policy = By(|flow: &FlowInfo| flow.size.map_or(0, |size| u8::from(size.get() > 10)));
        assert_eq!(Directives::of(&policy, ALL, 0).unwrap().edges(), [Bytes::new(11)]);
        assert!(Directives::of(&policy, Knowledge::NOTHING, 0).unwrap().are_one());
        assert_eq!(Directives::of(&Untagged, ALL, 0).unwrap(), Directives::same(tagged(0)));
    }

    #[test]
    fn what_comes_from_elsewhere_must_be_whole() {
        let mut found = Directives::same(Directive::tagged(TagTable::with_limits(&[Bytes::new(10_000)])));
        let read = |of: &Directives| {
            let Directives { slices, edges, all } = of.clone();
            Directives::try_from(RawDirectives { slices, edges, all })
        };
        assert_eq!(read(&found), Ok(found.clone()));
        found.all[1].acks = 8;
        assert!(read(&found).unwrap_err().contains("8 priorities"));
        found.all[1] = Directive::tagged(TagTable::with_limits(&[Bytes::new(2), Bytes::new(1)]));
        assert!(read(&found).unwrap_err().contains("must ascend"));
        found.slices = 1;
        assert!(read(&found).unwrap_err().contains("3 directives for 6 kinds"));
    }

    #[test]
    fn what_no_table_holds_is_said() {
        let said = |policy: &dyn Fn(&FlowInfo) -> u8| Directives::of(&By(policy), ALL, 0).unwrap_err();
        assert!(
            said(&|flow| (flow.size.map_or(0, |size| size.get() / 1_000 % 2)) as u8).contains("31 steps")
        );
        let near = |flow: &FlowInfo| u8::from(flow.deadline.is_some_and(|at| at < Time::from_ms(100)));
        assert!(said(&near).contains("how far away"));
        assert!(said(&|flow| u8::from(flow.task == 7)).contains("on tasks"));
    }
}
