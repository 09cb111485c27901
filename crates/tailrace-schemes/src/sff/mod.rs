//! Shortest flow first, by original sizes (Baraat §2.2).

use tailrace_core::{Facts, FlowScheme, Knowledge, NoParams, ParamError, Prospect, Rank, RateRule};

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct Sff;

impl RateRule for Sff {
    fn rank(&self, prospect: &Prospect<'_>) -> Rank {
        Rank(prospect.flow.size.map_or(u64::MAX, |size| size.get()), prospect.flow.id.into())
    }
}

impl FlowScheme for Sff {
    const NAME: &'static str = "sff";
    const SUMMARY: &'static str = "smallest flow first, by its original size";
    const SOURCE: &'static str = "Dogar et al., SIGCOMM 2014, section 2.2";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: false };
    type Params = NoParams;

    fn new(_: NoParams, _: &Facts) -> Result<Self, ParamError> {
        Ok(Sff)
    }
}
