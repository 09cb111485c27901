//! Expectations: numbers of a finished experiment that must lie within bounds for Tailrace to be right.

use serde::{Deserialize, Serialize};

use crate::claims::quantity::Quantity;
use crate::error::Error;
use crate::runs::results::Results;

/// Something that must hold for Tailrace to be right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// In words.
    pub text: String,
    /// The number.
    pub number: Quantity,
    /// It is at least this.
    pub min: Option<f64>,
    /// It is at most this.
    pub max: Option<f64>,
}

impl Expectation {
    /// The number, and whether it lies within the bounds. A number that is not there does not. Fails if a series
    /// cannot be read.
    pub fn judge(&self, results: &Results) -> Result<(Option<f64>, bool), Error> {
        let value = self.number.value(results)?;
        let holds =
            value.is_some_and(|v| self.min.is_none_or(|min| v >= min) && self.max.is_none_or(|max| v <= max));
        Ok((value, holds))
    }

    /// The bounds in words.
    pub fn bounds(&self) -> String {
        match (self.min, self.max) {
            (Some(min), Some(max)) => format!("{min} to {max}"),
            (Some(min), None) => format!("at least {min}"),
            (None, Some(max)) => format!("at most {max}"),
            (None, None) => "to be there".into(),
        }
    }
}
