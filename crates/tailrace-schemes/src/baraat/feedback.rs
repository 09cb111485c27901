//! What a port tells a flow (Baraat §4.3.2, algorithm 1), as arithmetic without state.

use super::classifier::Standing;
use super::scale::Grains;

/// The two rates that a port tells a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// NR: what the flow's class leaves it.
    pub nominal: Grains,
    /// AR: what of it is not still allocated to others.
    pub actual: Grains,
}

impl Feedback {
    /// Algorithm 1, lines 3 to 10, for a flow that could use so much of a port with this `capacity`. Higher classes
    /// are served first. What is left is enough for the class, or is shared by max-min fairness: flows of the
    /// class that have all they demand keep it, the others share the rest, and nobody gets less than an equal part
    /// of all.
    ///
    /// Line 8 of the paper gives everybody the equal part, which leaves idle what flows that are limited elsewhere
    /// do not take of theirs. NR is never more than the flow could use.
    pub fn of(most: Grains, capacity: Grains, found: &Standing) -> Self {
        let available = capacity.saturating_sub(found.above);
        let class = &found.class;
        let spare = available.saturating_sub(class.demand);
        let nominal = if spare >= most {
            most
        } else {
            let equal = available / Grains::from(class.flows + 1);
            let rest = available.saturating_sub(class.content_demand);
            let others = class.flows.saturating_sub(class.content);
            most.min(equal.max(rest / Grains::from(others + 1)).max(found.own))
        };
        Feedback { nominal, actual: nominal.min(capacity.saturating_sub(found.allocated + found.owed)) }
    }
}
