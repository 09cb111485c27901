//! Deadlines as multiples: of what a flow takes alone, and of a unit of time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::ScenarioError;
use tailrace_core::{Bytes, Time};

use super::Setting;

/// `factor × (base + size / host rate)`, rounded up to whole `round`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Multiple {
    /// How many times.
    #[serde(default = "two")]
    pub factor: f64,
    /// What a flow takes besides its bytes.
    #[serde(default = "prototype_base")]
    pub base: Time,
    /// Deadlines are multiples of this.
    #[serde(default = "prototype_round")]
    pub round: Time,
}

fn two() -> f64 {
    2.0
}
pub(super) fn prototype_base() -> Time {
    Time::from_us(200)
}
pub(super) fn prototype_round() -> Time {
    Time::from_ms(1)
}

impl Multiple {
    pub(super) fn of(&self, size: Bytes, setting: &Setting) -> Time {
        let alone = self.base.saturating_add(setting.slowest().time_for(size));
        rounded_up(alone.as_ps() as f64 * self.factor, self.round)
    }
}

/// So many picoseconds, rounded up to a multiple of `round`.
pub fn rounded_up(ps: f64, round: Time) -> Time {
    Time::from_ps(((ps / round.as_ps() as f64).ceil() as u64).saturating_mul(round.as_ps()))
}

/// Checks how many times what a flow takes alone a deadline is.
pub(super) fn check_factor(factor: f64) -> Result<(), ScenarioError> {
    if (1.0..=1e6).contains(&factor) {
        return Ok(());
    }
    let message = format!("is {factor:?}, but must be from 1 to 1000000: no flow is faster than alone");
    Err(ScenarioError::new("factor", message))
}

/// Checks what deadlines are multiples of.
pub(super) fn check_round(round: Time) -> Result<(), ScenarioError> {
    if round > Time::ZERO {
        return Ok(());
    }
    Err(ScenarioError::new("round", "is 0, but must be a positive time, such as \"1ms\""))
}
