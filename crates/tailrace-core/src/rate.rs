//! What a scheme says of flows where rates are all there is.

/// A flow's place in the order of service. Flows of lower rank go first wherever they meet others, those of equal
/// rank share. Compared by the first number, then by the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub u64, pub u64);
