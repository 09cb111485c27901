//! Slices: tenants that share the network by weight.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the flows of a slice are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// To be done in time (Uranus: deadline-sensitive).
    Deadline,
    /// To be done soon (Uranus: completion-sensitive).
    #[default]
    Completion,
}

/// A tenant's part of the network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// Its part, in proportion to the other slices' weights.
    pub weight: f64,
    /// What its flows are for.
    #[serde(default)]
    pub objective: Objective,
}

/// How much a flow counts beside others: a fixed-point number with sixteen binary places, as kernels and packet
/// headers can hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Weight(u32);

/// One, with its binary places.
const UNIT: f64 = 65_536.0;

impl Weight {
    /// The weight of one.
    pub const ONE: Weight = Weight(1 << 16);

    /// The nearest weight there is; at least 1/65536, at most just below 65,536.
    pub fn nearest(weight: f64) -> Self {
        Weight((weight * UNIT).round().clamp(1.0, f64::from(u32::MAX)) as u32)
    }

    /// As a number.
    pub fn get(self) -> f64 {
        f64::from(self.0) / UNIT
    }

    /// As kernels hold it: in parts of 1/65536.
    pub fn parts(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_rounded_and_never_nothing() {
        assert_eq!(Weight::nearest(1.0), Weight::ONE);
        for weight in [0.25, 0.5, 3.0, 65_535.0] {
            assert_eq!(Weight::nearest(weight).get(), weight);
        }
        assert!((Weight::nearest(0.3).get() - 0.3).abs() <= 0.5 / UNIT);
        for weight in [0.0, -1.0, 1e-9] {
            assert_eq!(Weight::nearest(weight).get(), 1.0 / UNIT);
        }
        assert_eq!(Weight::nearest(f64::INFINITY), Weight(u32::MAX));
    }
}
