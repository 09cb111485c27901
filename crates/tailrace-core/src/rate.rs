//! What a scheme says of flows where rates are all there is: in which order a network would serve them.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Cap, Facts, FlowInfo, HostPolicy, Knowledge, ParamError, Time};

/// A flow's place in the order of service. Flows of lower rank go first wherever they meet others, those of equal
/// rank share. Compared by the first number, then by the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u64, pub u64);

impl Rank {
    /// That of all flows which nothing sets apart.
    pub const SAME: Rank = Rank(0, 0);

    /// First come, first served: flows of a task share, lower task numbers go first. A flow of no task is one of its
    /// own, 2³¹ plus its number: among the background tasks (Baraat §4.1).
    pub fn of_task(flow: &FlowInfo) -> Rank {
        match flow.task {
            0 => Rank(0, u64::from(flow.id) | 1 << 31),
            task => Rank(0, task.into()),
        }
    }
}

/// A flow that is to be ranked, as far as its scheme may know it.
#[derive(Clone, Copy, Debug)]
pub struct Prospect<'a> {
    /// The flow.
    pub flow: &'a FlowInfo,
    /// Payload bytes that it has sent.
    pub sent: Bytes,
    /// Payload bytes of its task over all stages, if flow sizes are known; those of the flow if it is of no task.
    pub task_size: Option<Bytes>,
    /// Payload bytes that are yet to be sent, if flow sizes are known.
    pub left: Option<Bytes>,
}

/// How a scheme shares links, in the limit of instant and exact feedback: strict priority by rank, (weighted) max–min
/// between equals.
pub trait RateRule {
    /// The flow's place in the order of service.
    fn rank(&self, prospect: &Prospect<'_>) -> Rank;

    /// Whether ranks change as flows progress. They are asked for anew whenever a flow comes that meets others.
    fn follows_progress(&self) -> bool {
        false
    }

    /// Payload bytes sent, up to which the flow keeps its rank. Then it is asked for anew.
    fn stays_until(&self, _: &Prospect<'_>) -> Bytes {
        Bytes::MAX
    }

    /// How much the flow counts beside others of its rank, until a controller says otherwise.
    fn weight(&self, _: &Prospect<'_>) -> f64 {
        1.0
    }

    /// When the flow is to end: as long as that is to come, it gets no more than it needs for it.
    fn due(&self, _: &Prospect<'_>) -> Option<Time> {
        None
    }

    /// What the flow's host lets it send, together with others of its group there. A flow that is due has no cap.
    fn cap(&self, _: &Prospect<'_>) -> Option<Cap> {
        None
    }

    /// What the scheme does to flows that its rule cannot say, in words for its user: a sentence each.
    fn leaves_out(&self) -> &'static [&'static str] {
        &[]
    }

    /// Bytes of one rank on a link beyond which the next one there joins it (limited multiplexing, Baraat §3.3).
    fn heavy(&self) -> Option<Bytes> {
        None
    }
}

/// The rule of a scheme that is all in its hosts' directives: strict priority between the queues that packets are
/// tagged for, and their weights.
pub struct Queues<H>(pub H);

impl<H: HostPolicy> RateRule for Queues<H> {
    fn rank(&self, prospect: &Prospect<'_>) -> Rank {
        Rank(self.0.directive(prospect.flow).tags.priority(prospect.sent.get()).into(), 0)
    }

    fn stays_until(&self, prospect: &Prospect<'_>) -> Bytes {
        let tags = self.0.directive(prospect.flow).tags;
        let (_, limit) = tags.range(tags.priority(prospect.sent.get()).into());
        Bytes::new(limit)
    }

    fn weight(&self, prospect: &Prospect<'_>) -> f64 {
        self.0.directive(prospect.flow).weight.get()
    }

    fn cap(&self, prospect: &Prospect<'_>) -> Option<Cap> {
        if H::CAPS { self.0.directive(prospect.flow).cap } else { None }
    }

    fn leaves_out(&self) -> &'static [&'static str] {
        let caps: &[&str] =
            &["Under a cap of its host a flow's first packet leaves at once; here it takes as long as \
                               its bytes take at that rate."];
        if H::CAPS { caps } else { &[] }
    }
}

/// A scheme that is nothing but a rule: it exists at flow level only, where a published scheme's ideal is wanted, or
/// where it needs to know of the whole network at once.
pub trait FlowScheme: RateRule + Sized + 'static {
    /// The name in files and on the command line.
    const NAME: &'static str;
    /// One line: what it does.
    const SUMMARY: &'static str;
    /// Where it was published.
    const SOURCE: &'static str;
    /// What it may know of flows.
    const KNOWS: Knowledge;
    /// Its parameters; doc comments become help, schema and web page.
    type Params: DeserializeOwned + Serialize + JsonSchema + Default;

    /// Checks the parameters against where the scheme will run.
    fn new(params: Self::Params, facts: &Facts) -> Result<Self, ParamError>;
}

/// No parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}
