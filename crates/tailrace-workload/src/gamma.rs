//! `deadline = { gamma = … }`: Γ control as it is asked for, and how many bytes get deadlines in the long run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::ScenarioError;
use tailrace_core::{Bytes, SizeDistribution, Time};

use super::Setting;
use super::multiple::{check_factor, check_round, prototype_base, prototype_round};

/// `{ share = 0.5 }`: Γ control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gamma {
    /// Γ as a share of the links in its scope.
    pub share: f64,
    /// Whose expected rates count: "network" or "host".
    #[serde(default)]
    pub scope: Scope,
    /// Deadlines are so many times what a flow takes alone, 200 us and its bytes at the rate of a host's link; 2, as
    /// in Karuna's prototype, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// Instead of that, deadlines by which a flow is done at this share of what Γ is of one host's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_share: Option<f64>,
    /// Expected rates are those of the flows in progress, which depend on the scheme; otherwise those that flows
    /// with deadlines start with count until these pass, and all schemes see the same flows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// Deadlines are multiples of this, rounded up: Karuna's prototype tells them in milliseconds.
    #[serde(default = "prototype_round")]
    pub round: Time,
}

/// Which flows with deadlines a new one is counted with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// All: Γ is a share of all hosts' links together ("the total expected rates of all active type 1 flows",
    /// Karuna §8.2.1).
    #[default]
    Network,
    /// Those from the same host, and those to the same host: Γ is a share of the link of each.
    Host,
}

/// The prototype's deadlines.
const FACTOR: f64 = 2.0;

impl Gamma {
    /// Γ in bytes a second.
    pub fn limit(&self, setting: &Setting) -> f64 {
        self.share * self.links(setting) * setting.host_rate.bytes_per_sec()
    }

    /// The expected rate of a flow of `size` bytes, in bytes a second: rounded up, its deadline asks for less.
    pub fn rate(&self, size: Bytes, setting: &Setting) -> f64 {
        let link = setting.host_rate.bytes_per_sec();
        match self.flow_share {
            Some(flow_share) => flow_share * self.share * link,
            None => {
                let alone = prototype_base().as_secs_f64() + size.as_f64() / link;
                size.as_f64() / (self.factor.unwrap_or(FACTOR) * alone)
            }
        }
    }

    /// The share of the bytes that get deadlines in the long run, if the payload of all traffic loads hosts with
    /// `payload` and flows have these sizes.
    ///
    /// Γ has room for so many flows at their expected rate; who finds none free goes without. That is Erlang's loss
    /// system, in which how long flows stay matters on average only. Where rates differ, Hayward's approximation takes
    /// all for the one whose square and mean are theirs (Fredericks, Congestion in blocking systems, 1980). Within hosts
    /// it is a loss network, each link in each direction a system that blocks independently of the others: the fixed
    /// point of Kelly, Blocking probabilities in large circuit-switched networks, 1986. Short runs have more deadlines,
    /// since they start with none.
    pub(super) fn byte_share(&self, payload: f64, sizes: &SizeDistribution, setting: &Setting) -> f64 {
        let link = setting.host_rate.bytes_per_sec();
        let (mut rates, mut loads, mut squares) = (0.0, 0.0, 0.0);
        // Deadlines are rounded up, by half a unit on average.
        let longer = link * self.round.as_secs_f64() / 2.0;
        for step in 0..STEPS {
            let size = sizes.quantile((f64::from(step) + 0.5) / f64::from(STEPS));
            let rate = self.rate(Bytes::new(size as u64), setting) / link;
            rates += rate / f64::from(STEPS);
            loads += size + rate * longer;
            squares += (size + rate * longer) * rate;
        }
        let (rate, links) = (squares / loads, self.links(setting));
        let places = self.share * links / rate;
        let offered = links * payload * (1.0 + rates * longer / sizes.mean()) / rate;
        match self.scope {
            Scope::Network => 1.0 - erlang_b(places, offered),
            Scope::Host => {
                // The probability that a link has room falls with the traffic that the other one lets through to it.
                let (mut low, mut high) = (0.0, 1.0);
                for _ in 0..60 {
                    let room = f64::midpoint(low, high);
                    if 1.0 - erlang_b(places, offered * room) > room { low = room } else { high = room }
                }
                low * low
            }
        }
    }

    /// Host links that Γ is a share of.
    fn links(&self, setting: &Setting) -> f64 {
        match self.scope {
            Scope::Network => f64::from(setting.hosts),
            Scope::Host => 1.0,
        }
    }

    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        let wrong = |field: &str, message: String| Err(ScenarioError::new(field, message));
        if !(self.share > 0.0 && self.share < 1.0) {
            let message =
                format!("is {}, but a link carries a share between 0 and 1, both excluded", self.share);
            return wrong("share", message);
        }
        check_round(self.round)?;
        match (self.factor, self.flow_share) {
            (Some(_), Some(_)) => wrong("flow_share", "give factor or flow_share, not both".to_owned()),
            (_, Some(share)) if !(share > 0.0 && share <= 1.0) => {
                let message = format!(
                    "is {share}, but one flow's part of Γ must be above 0 and at most 1, such as 0.25"
                );
                wrong("flow_share", message)
            }
            (Some(factor), None) => check_factor(factor),
            _ => Ok(()),
        }
    }
}

/// The probability that all of so many places are taken, by Erlang's recursion, where a flow may begin as long as
/// less than `places` are; `offered` is what arrives times how long it stays. Of very many places, who finds none is
/// what is too much.
fn erlang_b(places: f64, offered: f64) -> f64 {
    if places > MANY {
        return (1.0 - places / offered).max(0.0);
    }
    let places = (places - SLACK).ceil().max(1.0) as u32;
    (1..=places).fold(1.0, |taken, n| offered * taken / (f64::from(n) + offered * taken))
}

/// From here on chance hardly matters.
const MANY: f64 = 1e5;

/// Quantiles that stand for all sizes.
const STEPS: u32 = 10_000;

/// Places closer than this to a whole number are that many.
const SLACK: f64 = 1e-9;
