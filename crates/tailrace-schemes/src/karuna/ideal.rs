//! Karuna where feedback is instant: flows with deadlines first, at just the rate that meets them (MCP's aim, §4), all
//! others in the queues that they are split and sieved into. A flow whose deadline has passed goes on, unlike under
//! MCP, which by default gives it up.

use tailrace_core::{Bytes, Prospect, Queues, Rank, RateRule, Time};

use super::KarunaHost;

/// The rule.
pub(super) struct Ideal(pub(super) Queues<KarunaHost>);

impl RateRule for Ideal {
    fn rank(&self, prospect: &Prospect<'_>) -> Rank {
        self.0.rank(prospect)
    }
    fn stays_until(&self, prospect: &Prospect<'_>) -> Bytes {
        self.0.stays_until(prospect)
    }
    fn due(&self, prospect: &Prospect<'_>) -> Option<Time> {
        prospect.flow.size.and(prospect.flow.deadline)
    }
}
