//! `pattern = …`: who sends to whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{HostId, Time};

/// Who sends to whom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Every host to every other, all pairs alike.
    #[default]
    AllToAll,
    /// Every host (of `from`) to every one (of `to`) in another rack, all pairs alike.
    OtherRacks,
    /// Every host to one other that nobody else sends to, drawn once from the seed.
    Permutation,
    /// Every host of `from` to every other of `to`, all pairs alike.
    Pairs,
    /// Bursts of flows from several senders to one receiver.
    Incast(Incast),
}

/// Bursts of flows from several senders to one receiver, as of a query and its answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// Hosts that a burst may go to, all alike; every host if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receivers: Option<Vec<HostId>>,
    /// Senders of a burst, drawn anew among the other hosts for each.
    pub fan_in: u16,
    /// Each flow of a burst starts up to this much later.
    #[serde(default)]
    pub jitter: Time,
}

/// Which pairs of the pattern send. Each does so at the rate that it has in the whole pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PairFilter {
    /// All.
    #[default]
    All,
    /// Those with the lower host number as source.
    Ascending,
    /// Those with the higher host number as source.
    Descending,
}

impl PairFilter {
    /// Whether a pair sends.
    pub(super) fn keeps(self, src: HostId, dst: HostId) -> bool {
        match self {
            PairFilter::All => true,
            PairFilter::Ascending => src < dst,
            PairFilter::Descending => src > dst,
        }
    }
}
