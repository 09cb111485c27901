//! The pairs that send under a rule: what its pattern, a filter, and what is drawn from the seed leave of all pairs.

use std::collections::BTreeSet;
use std::ops::Range;

use tailrace_core::HostId;
use tailrace_core::random::Stream;

use super::hosts::Hosts;
use super::pairs::{Keep, Pairs};
use super::pattern::{PairFilter, Pattern};
use super::{Rule, Setting};

impl Rule {
    /// The pairs of the rule's pattern, of which `filter` keeps some. The seed and the rule's number choose a
    /// permutation, and destinations where sources have only so many.
    pub(super) fn pairs(&self, filter: PairFilter, setting: &Setting, seed: u64, number: usize) -> Pairs {
        let Some(destinations) = self.destinations else {
            return self.whole(filter, setting, seed, number);
        };
        let mut stream = Stream::new(seed, "destinations", number as u64);
        let whole = self.whole(PairFilter::All, setting, seed, number);
        let some = whole.by_source().flat_map(|own| choose(own, destinations, &mut stream));
        Pairs::list(
            some.map(|number| whole.get(number)).filter(|&(src, dst)| filter.keeps(src, dst)).collect(),
        )
    }

    /// All pairs of the pattern that `filter` keeps.
    pub(super) fn whole(&self, filter: PairFilter, setting: &Setting, seed: u64, number: usize) -> Pairs {
        let racks = &setting.racks;
        let all = || setting.host_ids().collect::<Vec<HostId>>();
        let keep = Keep { filter, between: None };
        let sorted = |hosts: &Option<Hosts>| hosts.as_ref().map_or_else(all, |hosts| hosts.sorted(racks));
        match &self.pattern {
            Pattern::AllToAll => Pairs::product(all(), all(), keep),
            Pattern::OtherRacks => {
                let keep = Keep { between: Some(racks.clone()), ..keep };
                Pairs::product(sorted(&self.from), sorted(&self.to), keep)
            }
            Pattern::Pairs => Pairs::product(sorted(&self.from), sorted(&self.to), keep),
            Pattern::Incast(incast) => {
                let mut receivers = incast.receivers.clone().unwrap_or_else(all);
                receivers.sort_unstable();
                Pairs::product(all(), receivers, keep)
            }
            Pattern::Permutation => {
                let mut stream = Stream::new(seed, "permutation", number as u64);
                Pairs::list(cycle(all(), &mut stream).filter(|&(src, dst)| filter.keeps(src, dst)).collect())
            }
        }
    }
}

/// Some of the numbers of a range, all sets of so many alike, in ascending order (Floyd's algorithm).
fn choose(numbers: Range<u64>, some: u16, stream: &mut Stream) -> Vec<u64> {
    let count = numbers.end - numbers.start;
    let mut chosen = BTreeSet::new();
    for last in count - u64::from(some)..count {
        let number = u64::from(stream.below(last as u32 + 1));
        chosen.insert(if chosen.contains(&number) { last } else { number });
    }
    chosen.into_iter().map(|number| numbers.start + number).collect()
}

/// A random cycle through hosts, as `(host, next)` (Sattolo's algorithm): a permutation in which nobody
/// sends to itself.
fn cycle(hosts: Vec<HostId>, stream: &mut Stream) -> impl Iterator<Item = (HostId, HostId)> {
    let mut next = hosts.clone();
    for i in (1..hosts.len()).rev() {
        next.swap(i, stream.below(i as u32) as usize);
    }
    hosts.into_iter().zip(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_sends_from_and_to_everyone_once() {
        for hosts in [2, 3, 16, 144] {
            for seed in 0..20 {
                let pairs: Vec<_> = cycle((0..hosts).collect(), &mut Stream::new(seed, "test", 0)).collect();
                let mut to: Vec<HostId> = pairs.iter().map(|&(_, dst)| dst).collect();
                to.sort_unstable();
                assert_eq!(to, (0..hosts).collect::<Vec<_>>());
                assert!(pairs.iter().all(|(src, dst)| src != dst));
            }
        }
    }
}
