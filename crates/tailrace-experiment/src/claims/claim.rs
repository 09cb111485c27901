//! Claims: numbers of a paper, compared with those of a finished experiment.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use crate::claims::quantity::Quantity;
use crate::stats::numbers::rounded;

/// A figure of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What it is called.
    pub id: String,
    /// The sentence, figure or table that says it.
    #[serde(default)]
    pub source: String,
    /// In words.
    #[serde(default)]
    pub text: String,
    /// What the paper says.
    pub paper: Figure,
    /// How far from `paper` a number may be and hold: as precise as the paper's figure is. In the unit of the number;
    /// of changes 0.05 is five points of percentage. 0 for ranges if missing; directions have none.
    pub tolerance: Option<f64>,
    /// The same number here.
    pub number: Quantity,
    /// What is wrong: for it the claim must not hold, or it would judge nothing. Without it a change must not hold
    /// for one of 0, which says little of a claim that does not hold.
    pub wrong: Option<Wrong>,
    /// What was measured here.
    pub measured: Option<Record>,
    /// How it is known not to hold here, if it is.
    pub deviation: Option<Deviation>,
}

/// In what a number for which a claim must not hold differs from the claim's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "must be a scheme's label, or fields of number that are otherwise: of, against, class, \
                               at, against_at, less_at or place"
)]
pub enum Wrong {
    /// It is of this scheme (label).
    Scheme(String),
    /// Its number has these fields instead.
    Number(Box<NumberOverrides>),
}

/// Fields of a number that a wrong claim replaces: both schemes exchanged, say, or another point of the sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NumberOverrides {
    /// Another scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Compared with another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Another class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Other points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Table>,
    /// Compared with other points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_at: Option<Table>,
    /// Less the change at other points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub less_at: Option<Table>,
    /// Another place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl Wrong {
    /// The number of which this is the wrong one.
    pub(crate) fn instead_of(&self, number: &Quantity) -> Quantity {
        let NumberOverrides { of, against, class, at, against_at, less_at, place } = match self {
            Wrong::Scheme(label) => NumberOverrides { of: Some(label.clone()), ..NumberOverrides::default() },
            Wrong::Number(overrides) => overrides.as_ref().clone(),
        };
        let own = number.clone();
        Quantity {
            of: of.unwrap_or(own.of),
            against: against.or(own.against),
            class: class.unwrap_or(own.class),
            at: at.unwrap_or(own.at),
            against_at: against_at.or(own.against_at),
            less_at: less_at.or(own.less_at),
            place: place.or(own.place),
            ..own
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Scheme(label) => out.write_str(label),
            Wrong::Number(_) => out.write_str("what its file calls wrong"),
        }
    }
}

/// What a claim's number was in a run that is not at hand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The number.
    pub value: f64,
    /// How far chance moves it; see [`Quantity::spread`].
    pub spread: Option<f64>,
    /// The wrong number.
    pub wrong: Option<f64>,
    /// The `--scale` of the run. From here on the claim is judged.
    pub scale: f64,
    /// The number of the model that gave it, of `experiments/digests.toml`; none before models had numbers.
    pub model: Option<u32>,
}

/// A claim that is known not to hold, or not to be decided by seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// Where the number is instead: it cannot get worse unseen.
    pub within: [f64; 2],
    /// Why.
    pub reason: String,
}

/// What a paper says of a number: itself, or no more than its direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    /// A number. Changes are fractions: −0.2 is 20 % less.
    One(f64),
    /// The two ends of a range: bounds, if the claim has no tolerance.
    Range([f64; 2]),
    /// "lower" or "higher" than what it is compared with.
    Direction(Direction),
}

impl fmt::Display for Figure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figure::One(number) => out.write_str(&rounded(*number)),
            Figure::Range([low, high]) => write!(out, "{} to {}", rounded(*low), rounded(*high)),
            Figure::Direction(Direction::Lower) => out.write_str("lower"),
            Figure::Direction(Direction::Higher) => out.write_str("higher"),
        }
    }
}

/// What a paper says of a change that it gives no number for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Less than what it is compared with.
    Lower,
    /// More.
    Higher,
}
