//! Tables in which things are looked up, and never gone through: so their order cannot show in results. One miss of the
//! cache finds an entry, where a tree of as many takes one a level.

use foldhash::fast::FixedState;

/// A hash table that hashes alike in every run.
pub(crate) type Lookup<K, V> = hashbrown::HashMap<K, V, FixedState>;
