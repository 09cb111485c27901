//! What each rank has sent over each link, by bundles that are gone: a task may come back to where it was.

use std::collections::VecDeque;

use tailrace_core::Rank;

use crate::lookup::Lookup;
use crate::solver::LinkId;

/// By rank and link. What a rank has sent lies together, as its bundles come and go together.
pub(super) struct Sent {
    of_rank: Lookup<Rank, OnLinks>,
    /// Of so many links it is remembered what ranks without bundles have sent there, and so many times that a rank has left;
    /// of the rank that left last always. Of ranks with bundles all is known.
    most: usize,
    /// Ranks without bundles, in order of leaving. Some have come back, and maybe left again.
    left: VecDeque<Rank>,
    /// Links that ranks without bundles have sent over.
    remembered: usize,
}

/// What a rank has sent.
#[derive(Default)]
struct OnLinks {
    /// Bundles of the rank.
    bundles: u32,
    /// How often it is among those that have left.
    absences: u32,
    /// Bytes of bundles that are gone.
    bytes: Lookup<LinkId, f64>,
}

impl Sent {
    /// Nothing is sent yet. What ranks that are gone have sent is remembered of `most` links, and of as many times that one left.
    pub(super) fn new(most: usize) -> Self {
        Sent { of_rank: Lookup::default(), most, left: VecDeque::new(), remembered: 0 }
    }

    /// A bundle comes.
    pub(super) fn enter(&mut self, rank: Rank) {
        let on_links = self.of_rank.entry(rank).or_default();
        if on_links.bundles == 0 {
            self.remembered -= on_links.bytes.len();
        }
        on_links.bundles += 1;
    }

    /// A bundle that has sent so much over each of its links is gone.
    pub(super) fn leave(&mut self, rank: Rank, links: &[LinkId], sent: f64) {
        let Some(on_links) = self.of_rank.get_mut(&rank) else { return };
        for &link in links {
            *on_links.bytes.entry(link).or_default() += sent;
        }
        on_links.bundles -= 1;
        if on_links.bundles == 0 {
            on_links.absences += 1;
            self.remembered += on_links.bytes.len();
            self.left.push_back(rank);
            self.forget();
        }
    }

    /// Forgets ranks without bundles, those that left first, until no more than `most` are remembered.
    fn forget(&mut self) {
        while self.remembered.max(self.left.len()) > self.most
            && self.left.len() > 1
            && let Some(first) = self.left.pop_front()
        {
            let Some(on_links) = self.of_rank.get_mut(&first) else { continue };
            on_links.absences -= 1;
            if on_links.absences == 0 && on_links.bundles == 0 {
                self.remembered -= on_links.bytes.len();
                self.of_rank.remove(&first);
            }
        }
    }

    /// What bundles of a rank that are gone have sent over a link, in bytes.
    pub(super) fn over(&self, rank: Rank, link: LinkId) -> f64 {
        self.of_rank.get(&rank).and_then(|on_links| on_links.bytes.get(&link)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// A rank, the links of a bundle of it, and whether that comes; if not, the one that came last goes.
    fn visits() -> impl Strategy<Value = Vec<(u64, Vec<LinkId>, bool)>> {
        prop::collection::vec((0..6_u64, prop::collection::vec(0..5_u32, 1..4), any::<bool>()), 1..200)
    }

    proptest! {
        #[test]
        fn it_knows_all_of_who_is_there_and_of_those_that_left_last(visits in visits(), most in 0..20_usize) {
            let mut sent = Sent::new(most);
            let mut all: BTreeMap<(u64, LinkId), f64> = BTreeMap::new();
            let mut there: BTreeMap<u64, Vec<Vec<LinkId>>> = BTreeMap::new();
            let mut last = None;
            for (rank, mut links, comes) in visits {
                links.sort_unstable();
                links.dedup();
                let bundles = there.entry(rank).or_default();
                if comes {
                    sent.enter(Rank(0, rank));
                    // What was forgotten while it was away counts no more.
                    for ((_, link), bytes) in all.iter_mut().filter(|((of, _), _)| *of == rank) {
                        let known = sent.over(Rank(0, rank), *link);
                        prop_assert!(known == *bytes || (bundles.is_empty() && known == 0.0));
                        *bytes = known;
                    }
                    bundles.push(links);
                } else if let Some(links) = bundles.pop() {
                    sent.leave(Rank(0, rank), &links, 7.0);
                    links.iter().for_each(|&link| *all.entry((rank, link)).or_default() += 7.0);
                    last = Some(rank);
                }
                for (&(of, link), &bytes) in &all {
                    let is_known = last == Some(of) || !there[&of].is_empty();
                    let known = sent.over(Rank(0, of), link);
                    prop_assert!(known == bytes || (!is_known && known == 0.0));
                }
                let absent = |of: &u64| there.get(of).is_none_or(Vec::is_empty);
                let known = all.keys().filter(|(of, link)| absent(of) && sent.over(Rank(0, *of), *link) > 0.0);
                prop_assert_eq!(known.count(), sent.remembered);
                prop_assert!(sent.remembered <= most || sent.left.len() == 1);
                prop_assert!(sent.left.len() <= most.max(1));
            }
        }

        #[test]
        fn those_that_left_first_are_forgotten(links in prop::collection::vec(1..4_u32, 1..60), most in 0..60_usize) {
            let mut sent = Sent::new(most);
            for (rank, &links) in (0..).zip(&links) {
                let links: Vec<LinkId> = (0..links).collect();
                sent.enter(Rank(0, rank));
                sent.leave(Rank(0, rank), &links, 7.0);
            }
            let mut room = most;
            for (number, (rank, &links)) in links.iter().enumerate().rev().enumerate() {
                let fits = links as usize <= room && number < most;
                room = if fits { room - links as usize } else { 0 };
                let known = if fits || number == 0 { 7.0 } else { 0.0 };
                prop_assert_eq!(sent.over(Rank(0, rank as u64), 0), known, "rank {}", rank);
            }
        }
    }
}
