//! Shortest remaining flow first: what pFabric approximates (pFabric §3; Baraat §5.2.1).

use tailrace_core::{Facts, FlowScheme, Knowledge, NoParams, ParamError, Prospect, Rank, RateRule};

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct Srpt;

impl RateRule for Srpt {
    fn rank(&self, prospect: &Prospect<'_>) -> Rank {
        Rank(prospect.left.map_or(u64::MAX, |left| left.get()), prospect.flow.id.into())
    }

    fn follows_progress(&self) -> bool {
        true
    }
}

impl FlowScheme for Srpt {
    const NAME: &'static str = "srpt";
    const SUMMARY: &'static str = "flow with the least remaining bytes first";
    const SOURCE: &'static str =
        "Schrage, Operations Research 1968; as pFabric without overhead in Dogar et al., SIGCOMM 2014";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: false };
    type Params = NoParams;

    fn new(_: NoParams, _: &Facts) -> Result<Self, ParamError> {
        Ok(Srpt)
    }
}
