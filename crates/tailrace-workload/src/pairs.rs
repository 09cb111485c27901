//! Sets of (source, destination) pairs that can be counted, listed and drawn from without being stored.

use std::ops::Range;

use tailrace_core::HostId;
use tailrace_core::random::Stream;
use tailrace_fabric::Racks;

use super::pattern::PairFilter;

/// Which pairs of a product belong to the set.
#[derive(Clone, Debug)]
pub(super) struct Keep {
    pub(super) filter: PairFilter,
    /// Only those between two of these racks, if given.
    pub(super) between: Option<Racks>,
}

/// A set of pairs of different hosts.
#[derive(Clone, Debug)]
pub struct Pairs(Set);

#[derive(Clone, Debug)]
enum Set {
    /// Every host of `from` with every other host of `to`, as far as they are kept; both lists ascend.
    Product {
        from: Vec<HostId>,
        to: Vec<HostId>,
        keep: Keep,
        /// Pairs up to and including each source.
        up_to: Vec<u64>,
    },
    /// These.
    List(Vec<(HostId, HostId)>),
}

impl Pairs {
    /// Every host of `from` with every other host of `to`, as far as they are kept; both lists must ascend.
    pub(super) fn product(from: Vec<HostId>, to: Vec<HostId>, keep: Keep) -> Self {
        let mut sum = 0;
        let mut up_to = Vec::with_capacity(from.len());
        for &src in &from {
            sum += to.len() as u64 - excluded(&to, src, &keep).len() as u64;
            up_to.push(sum);
        }
        Pairs(Set::Product { from, to, keep, up_to })
    }

    /// These.
    pub(super) fn list(pairs: Vec<(HostId, HostId)>) -> Self {
        Pairs(Set::List(pairs))
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Set::Product { up_to, .. } => up_to.last().copied().unwrap_or(0),
            Set::List(list) => list.len() as u64,
        }
    }

    /// The pair of a number below [`Self::count`].
    pub fn get(&self, number: u64) -> (HostId, HostId) {
        match &self.0 {
            Set::Product { from, to, keep, up_to } => {
                let i = up_to.partition_point(|&sum| sum <= number);
                let within = (number - if i == 0 { 0 } else { up_to[i - 1] }) as usize;
                let gap = excluded(to, from[i], keep);
                (from[i], to[if within < gap.start { within } else { within + gap.len() }])
            }
            Set::List(list) => list[number as usize],
        }
    }

    /// The numbers of each source's pairs, source by source.
    pub(super) fn by_source(&self) -> impl Iterator<Item = Range<u64>> {
        let ends: &[u64] = match &self.0 {
            Set::Product { up_to, .. } => up_to,
            Set::List(_) => &[],
        };
        std::iter::once(&0).chain(ends).zip(ends).map(|(&start, &end)| start..end)
    }

    /// A random pair, all alike.
    pub fn draw(&self, stream: &mut Stream) -> (HostId, HostId) {
        let number = (u128::from(stream.bits()) * u128::from(self.count())) >> 64;
        self.get(number as u64)
    }

    /// In how many pairs each host is the source, and in how many the destination.
    pub(super) fn degrees(&self, hosts: u32) -> (Vec<u64>, Vec<u64>) {
        let (mut sends, mut receives) = (vec![0; hosts as usize], vec![0; hosts as usize]);
        match &self.0 {
            Set::Product { from, to, keep, .. } => {
                for &src in from {
                    sends[src as usize] = to.len() as u64 - excluded(to, src, keep).len() as u64;
                }
                for &dst in to {
                    receives[dst as usize] =
                        from.len() as u64 - excluded(from, dst, &keep.mirrored()).len() as u64;
                }
            }
            Set::List(list) => {
                for &(src, dst) in list {
                    sends[src as usize] += 1;
                    receives[dst as usize] += 1;
                }
            }
        }
        (sends, receives)
    }
}

/// The places in the ascending list `to` of hosts that `src` does not send to.
fn excluded(to: &[HostId], src: HostId, keep: &Keep) -> Range<usize> {
    let own = keep.between.as_ref().map_or(src..src + 1, |racks| racks.hosts(racks.of(src)));
    let below = to.partition_point(|&dst| dst < own.start);
    let past = to.partition_point(|&dst| dst < own.end);
    match keep.filter {
        PairFilter::All => below..past,
        PairFilter::Ascending => 0..past,
        PairFilter::Descending => below..to.len(),
    }
}

impl Keep {
    /// What keeps (a, b) where this keeps (b, a).
    fn mirrored(&self) -> Self {
        let filter = match self.filter {
            PairFilter::All => PairFilter::All,
            PairFilter::Ascending => PairFilter::Descending,
            PairFilter::Descending => PairFilter::Ascending,
        };
        Keep { filter, between: self.between.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const ALL: Keep = Keep { filter: PairFilter::All, between: None };

    fn any_filter() -> impl Strategy<Value = PairFilter> {
        prop::sample::select(vec![PairFilter::All, PairFilter::Ascending, PairFilter::Descending])
    }

    proptest! {
        #[test]
        fn a_product_is_what_it_says(
            from in prop::collection::btree_set(0u32..12, 1..8),
            to in prop::collection::btree_set(0u32..12, 1..8),
            filter in any_filter(),
            racks in prop::option::of(prop::collection::vec(1u32..6, 12)),
        ) {
            let between = racks.map(Racks::of_sizes);
            let apart = |src, dst| between.as_ref().is_none_or(|racks| racks.of(src) != racks.of(dst));
            let expected: Vec<(HostId, HostId)> = from
                .iter()
                .flat_map(|&src| to.iter().map(move |&dst| (src, dst)))
                .filter(|&(src, dst)| src != dst && filter.keeps(src, dst) && apart(src, dst))
                .collect();
            let pairs = Pairs::product(from.into_iter().collect(), to.into_iter().collect(), Keep { filter, between });
            let found: Vec<_> = (0..pairs.count()).map(|number| pairs.get(number)).collect();
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(pairs.degrees(12), Pairs::list(expected).degrees(12));
        }
    }

    #[test]
    fn all_pairs_are_drawn_alike() {
        let pairs = Pairs::product((0..4).collect(), (0..4).collect(), ALL);
        let mut stream = Stream::new(1, "test", 0);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..120_000 {
            *counts.entry(pairs.draw(&mut stream)).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 12);
        assert!(counts.values().all(|&n| n.abs_diff(10_000) < 500), "{counts:?}");
    }

    #[test]
    fn the_largest_fabric_fits() {
        let pairs = Pairs::product((0..65_535).collect(), (0..65_535).collect(), ALL);
        assert_eq!(pairs.count(), 65_535 * 65_534);
        let last: BTreeSet<_> = [pairs.get(pairs.count() - 1), pairs.get(0)].into();
        assert_eq!(last, [(65_534, 65_533), (0, 1)].into());
    }
}
