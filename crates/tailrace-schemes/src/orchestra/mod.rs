//! Tasks first come, first served, in one order for the whole network (Orchestra; Baraat §5.2.1).

use tailrace_core::{Facts, FlowScheme, Knowledge, NoParams, ParamError, Prospect, Rank, RateRule};

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct Orchestra;

impl RateRule for Orchestra {
    fn rank(&self, prospect: &Prospect<'_>) -> Rank {
        Rank::of_task(prospect.flow)
    }
}

impl FlowScheme for Orchestra {
    const NAME: &'static str = "orchestra";
    const SUMMARY: &'static str = "tasks in order of arrival, one at a time, centrally";
    const SOURCE: &'static str =
        "Chowdhury et al., SIGCOMM 2011; as compared with in Dogar et al., SIGCOMM 2014";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = NoParams;

    fn new(_: NoParams, _: &Facts) -> Result<Self, ParamError> {
        Ok(Orchestra)
    }
}
