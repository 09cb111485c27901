//! `[plot.NAME]`: what is to be drawn of results. All mistakes are found here; who draws (the Python package) is told
//! what has been checked.

mod check;
mod ground;
mod read;

use serde::{Deserialize, Serialize};
use toml::Table;

pub use ground::Ground;

/// The most curves of a plot: more can no longer be told apart.
const MAX_CURVES: usize = 21;

/// A plot, as an experiment file describes it. Which fields mean something depends on its kind.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Plot {
    /// What is drawn.
    pub kind: Kind,
    /// Line above it; its name if empty.
    pub title: String,
    /// What the axes are called, where that is not what they show.
    pub x_label: String,
    /// See `x_label`.
    pub y_label: String,
    /// Axes with logarithmic scales; the kind's own if left out.
    #[serde(deserialize_with = "read::sides")]
    pub log: Option<Vec<Side>>,
    /// Class of flows or tasks, as in the summary.
    pub class: String,
    /// Axes of the sweep whose values are curves of their own.
    #[serde(deserialize_with = "read::texts")]
    pub group: Vec<String>,
    /// Only runs with these values; several may be listed for an axis.
    pub at: Table,
    /// The axis of the sweep from left to right.
    pub x: String,
    /// What is drawn: columns of the summary, one of flows or tasks, or a series.
    #[serde(deserialize_with = "read::texts")]
    pub y: Vec<String>,
    /// The scheme that others are compared with; none if empty.
    pub relative_to: String,
    /// Places of series; all if empty.
    #[serde(deserialize_with = "read::texts")]
    pub places: Vec<String>,
    /// Indices of series; all if empty.
    #[serde(deserialize_with = "read::numbers")]
    pub index: Vec<u16>,
    /// How several seeds are shown.
    pub spread: Spread,
    /// Unit of times.
    pub unit: Unit,
    /// What a distribution is over.
    pub of: Of,
    /// Published distributions.
    #[serde(deserialize_with = "read::texts")]
    pub names: Vec<String>,
}

impl Default for Plot {
    fn default() -> Self {
        Plot {
            kind: Kind::Line,
            title: String::new(),
            x_label: String::new(),
            y_label: String::new(),
            log: None,
            class: "all".into(),
            group: vec!["scheme".into()],
            at: Table::new(),
            x: String::new(),
            y: Vec::new(),
            relative_to: String::new(),
            places: Vec::new(),
            index: Vec::new(),
            spread: Spread::Range,
            unit: Unit::Us,
            of: Of::Flows,
            names: Vec::new(),
        }
    }
}

/// Kinds of plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Columns of the summary against an axis.
    Line,
    /// The same as bars.
    Bars,
    /// How a column of flows or tasks is distributed.
    Cdf,
    /// A series over time.
    Series,
    /// Published flow-size distributions.
    Workloads,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Line, Kind::Bars, Kind::Cdf, Kind::Series, Kind::Workloads];

    fn name(self) -> &'static str {
        match self {
            Kind::Line => "line",
            Kind::Bars => "bars",
            Kind::Cdf => "cdf",
            Kind::Series => "series",
            Kind::Workloads => "workloads",
        }
    }

    /// The fields that mean something, those of all kinds last.
    fn fields(self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Kind::Line | Kind::Bars => &["x", "y", "relative_to", "places", "spread", "unit"],
            Kind::Cdf => &["of", "y", "unit"],
            Kind::Series => &["y", "index", "places"],
            Kind::Workloads => &["names"],
        };
        let of_runs: &[&str] = if self == Kind::Workloads { &[] } else { &["class", "group", "at"] };
        [own, of_runs, &["title", "x_label", "y_label", "log"]].concat()
    }

    /// The fields that must be there.
    fn needed(self) -> &'static [&'static str] {
        match self {
            Kind::Line | Kind::Bars => &["x", "y"],
            Kind::Cdf => &[],
            Kind::Series => &["y"],
            Kind::Workloads => &["names"],
        }
    }
}

/// An axis of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// From left to right.
    X,
    /// From bottom to top.
    Y,
}

/// What is shown of several seeds beside their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// From the least to the greatest.
    Range,
    /// The 95 % confidence interval of the mean.
    Confidence,
}

/// Units of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

/// What a distribution is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// Measured flows.
    Flows,
    /// Measured tasks.
    Tasks,
}

#[cfg(test)]
mod tests;
