//! Earliest deadline first.

use tailrace_core::{Facts, FlowScheme, Knowledge, NoParams, ParamError, Prospect, Rank, RateRule};

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct Edf;

impl RateRule for Edf {
    fn rank(&self, prospect: &Prospect<'_>) -> Rank {
        Rank(prospect.flow.deadline.map_or(u64::MAX, |deadline| deadline.as_ps()), prospect.flow.id.into())
    }
}

impl FlowScheme for Edf {
    const NAME: &'static str = "edf";
    const SUMMARY: &'static str = "flow with the earliest deadline first, flows without one last";
    const SOURCE: &'static str = "Liu and Layland, JACM 1973";
    const KNOWS: Knowledge = Knowledge { sizes: false, deadlines: true };
    type Params = NoParams;

    fn new(_: NoParams, _: &Facts) -> Result<Self, ParamError> {
        Ok(Edf)
    }
}
