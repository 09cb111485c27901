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
    /// of all, nor than what is left if all others have what they demand.
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
            most.min(equal.max(rest / Grains::from(others + 1)).max(found.own).max(spare))
        };
        Feedback { nominal, actual: nominal.min(capacity.saturating_sub(found.allocated + found.owed)) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::held::Held;
    use super::*;

    /// Max-min by hand: `others` flows of equal demand, and one that could use `most`.
    fn max_min(available: Grains, others: u32, demand: Grains, most: Grains) -> Grains {
        let equal = available / Grains::from(others + 1);
        let level = if demand <= equal { available - demand * Grains::from(others) } else { equal };
        most.min(level)
    }

    proptest! {
        /// Whoever of the others has its demand already. Where they waited and demanded little, a heavy flow was told an equal share.
        #[test]
        fn nominal_rate_is_the_max_min_share(
            (others, content) in (0u32..40).prop_flat_map(|others| (Just(others), 0..=others)),
            demand in 1u64..20_000,
            most in 1u64..200_000,
            above in 0u64..100_000,
        ) {
            let capacity = 128_000;
            let flow = |index| Held::flow(demand, if index < content { demand } else { 0 });
            let class = (0..others).map(flow).fold(Held::default(), |mut sum, one| {
                tailrace_queues::Tally::add(&mut sum, one);
                sum
            });
            let told = Feedback::of(most, capacity, &Standing { above, class, ..Standing::default() });
            prop_assert_eq!(told.nominal, max_min(capacity - above, others, demand, most));
        }
    }
}
