//! Bundles that flows may share, by what sets bundles apart. Of a bundle that is kept where it is kept anyway, so that here it
//! is a number.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use tailrace_core::Rank;

use crate::routes::Path;
use crate::solver::BundleId;

/// What sets bundles apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    pub(crate) rank: Rank,
    pub(crate) path: Path,
}

impl Kind {
    fn hash(&self) -> u64 {
        FixedState::default().hash_one(self)
    }
}

/// At most one bundle of each kind.
#[derive(Default)]
pub(crate) struct Kinds(HashTable<BundleId>);

impl Kinds {
    /// The bundle of a kind; `of` tells of what kind a bundle is.
    pub(crate) fn find(&self, kind: &Kind, of: impl Fn(BundleId) -> Kind) -> Option<BundleId> {
        self.0.find(kind.hash(), |&bundle| of(bundle) == *kind).copied()
    }

    /// Adds the bundle of a kind that none is of.
    pub(crate) fn insert(&mut self, kind: &Kind, bundle: BundleId, of: impl Fn(BundleId) -> Kind) {
        self.0.insert_unique(kind.hash(), bundle, |&other| of(other).hash());
    }

    /// Takes a bundle of that kind out, if it is here: others of its kind may be alone.
    pub(crate) fn remove(&mut self, kind: &Kind, bundle: BundleId) {
        if let Ok(entry) = self.0.find_entry(kind.hash(), |&other| other == bundle) {
            entry.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn kinds_are_found_as_in_a_map(calls in prop::collection::vec((0..3_u64, 0..4_u32, any::<bool>()), 1..300)) {
            let (mut kinds, mut map, mut all) = (Kinds::default(), BTreeMap::new(), Vec::new());
            for (rank, link, adds) in calls {
                let kind = Kind { rank: Rank(0, rank), path: Path::from_iter([link]) };
                let bundle = kinds.find(&kind, |id| all[id as usize]);
                prop_assert_eq!(bundle, map.get(&(rank, link)).copied());
                match bundle {
                    None => {
                        let id = all.len() as BundleId;
                        all.push(kind);
                        if adds {
                            map.insert((rank, link), id);
                            kinds.insert(&kind, id, |id| all[id as usize]);
                        } else {
                            // Nobody of its kind is here.
                            kinds.remove(&kind, id);
                        }
                    }
                    Some(id) if id % 2 == 0 => {
                        // One that is alone, of the same kind.
                        let alone = all.len() as BundleId;
                        all.push(kind);
                        kinds.remove(&kind, alone);
                        prop_assert_eq!(kinds.find(&kind, |id| all[id as usize]), Some(id));
                    }
                    Some(id) if !adds => {
                        map.remove(&(rank, link));
                        kinds.remove(&kind, id);
                    }
                    Some(_) => {}
                }
            }
        }
    }
}
