//! `deadline = { gamma = … }`: Γ control as it is asked for, and how many bytes get deadlines in the long run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::Time;

use super::deadlines::prototype_round;

/// `{ share = 0.5 }`: Γ control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gamma {
    /// Γ as a share of a host's link.
    pub share: f64,
    /// Expected rates are those of the flows in progress, which depend on the scheme; otherwise those that flows
    /// with deadlines start with count until these pass, and all schemes see the same flows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// Deadlines are multiples of this, rounded up: Karuna's prototype tells them in milliseconds.
    #[serde(default = "prototype_round")]
    pub round: Time,
}

impl Gamma {
    /// Flows with deadlines that use up Γ.
    pub const FLOWS: u32 = 4;

    /// The share of the bytes that get deadlines in the long run, if the payload of all traffic loads hosts with
    /// `payload` and the mean flow needs `alone` seconds of an empty link.
    ///
    /// Each host's link in each direction has room for so many flows at their expected rate; who finds none free
    /// at either end goes without. That is a loss network with links that block independently of each other: the
    /// fixed point of Kelly, Blocking probabilities in large circuit-switched networks, 1986. How long flows stay
    /// matters on average only. Short runs have more deadlines, since they start with none.
    pub(super) fn byte_share(&self, payload: f64, alone: f64) -> f64 {
        // Deadlines are rounded up, by half a unit on average.
        let stay = alone * f64::from(Self::FLOWS) / self.share + self.round.as_secs_f64() / 2.0;
        let offered = payload / alone * stay;
        // The probability that a link has room falls with the traffic that the other one lets through to it.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let room = f64::midpoint(low, high);
            if 1.0 - erlang_b(Self::FLOWS, offered * room) > room { low = room } else { high = room }
        }
        low * low
    }
}

/// The probability that all of so many places are taken, by Erlang's recursion; `offered` is what arrives times
/// how long it stays.
fn erlang_b(places: u32, offered: f64) -> f64 {
    (1..=places).fold(1.0, |taken, n| offered * taken / (f64::from(n) + offered * taken))
}
