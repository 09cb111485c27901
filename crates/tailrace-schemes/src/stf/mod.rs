//! Shortest task first, with sizes known in advance (Baraat §3.2, §5.2.1).

use tailrace_core::{Facts, FlowScheme, Knowledge, NoParams, ParamError, Prospect, Rank, RateRule};

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct Stf;

impl RateRule for Stf {
    fn rank(&self, prospect: &Prospect<'_>) -> Rank {
        // Tasks of one size one after the other, and flows of no task after them.
        let Rank(none, number) = Rank::of_task(prospect.flow);
        Rank(prospect.task_size.map_or(u64::MAX, |size| size.get()), none << 32 | number)
    }
}

impl FlowScheme for Stf {
    const NAME: &'static str = "stf";
    const SUMMARY: &'static str = "smallest task first, by its size on arrival";
    const SOURCE: &'static str = "Dogar et al., SIGCOMM 2014, section 5.2.1";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: false };
    type Params = NoParams;

    fn new(_: NoParams, _: &Facts) -> Result<Self, ParamError> {
        Ok(Stf)
    }
}
