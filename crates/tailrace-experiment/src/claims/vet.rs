//! Finds mistakes in claims and expectations before anything runs.

use tailrace_config::{ScenarioError, suggest::unknown};
use tailrace_core::Time;
use toml::Table;

use crate::claims::claim::{Claim, Deviation, Figure, Wrong};
use crate::claims::expectation::Expectation;
use crate::claims::quantity::Quantity;
use crate::spec::plan::Planned;
use crate::stats::class_summary::METRICS;
use crate::stats::groups::{Group, SIZE_CLASSES};
use crate::stats::numbers::STATISTICS;
use crate::stats::run_summary::RUN_METRICS;
use crate::stats::task_stats::TASK_METRICS;

/// Checks that all numbers that are asked for can be there. Below full scale points of the sweep may be
/// missing; of the schemes that are left out nothing is there.
pub(crate) fn vet(
    claims: &[Claim],
    expectations: &[Expectation],
    runs: &[Planned],
    left_out: &[String],
    scale: f64,
) -> Result<(), ScenarioError> {
    let vetter = Vetter { runs, left_out, whole: scale >= 1.0 };
    for (index, claim) in claims.iter().enumerate() {
        let here = format!("claim[{index}]");
        judgeable(claim).map_err(|e| e.within(&here))?;
        vetter.quantity(&claim.number).map_err(|e| e.within(&format!("{here}.number")))?;
        if let Some(wrong) = &claim.wrong {
            match wrong {
                Wrong::Scheme(label) => vetter
                    .scheme("wrong", label, "number.at", &claim.number.at)
                    .map_err(|e| e.within(&here))?,
                Wrong::Number(_) => vetter
                    .quantity(&wrong.instead_of(&claim.number))
                    .map_err(|e| e.within(&format!("{here}.wrong")))?,
            }
        }
    }
    for (index, expectation) in expectations.iter().enumerate() {
        let here = format!("expect[{index}]");
        if expectation.min.is_none() && expectation.max.is_none() {
            return Err(ScenarioError::new(here, "has neither min nor max, so it would always hold"));
        }
        vetter.quantity(&expectation.number).map_err(|e| e.within(&format!("{here}.number")))?;
    }
    Ok(())
}

/// Checks that a claim says how near to the paper is near enough, and that its numbers are numbers.
fn judgeable(claim: &Claim) -> Result<(), ScenarioError> {
    let fails = |field: &str, message: &str| Err(ScenarioError::new(field, message));
    match (&claim.paper, claim.tolerance) {
        (Figure::Direction(_), _) if claim.number.against.is_none() => {
            return fails("paper", "is a direction, which needs a number with against");
        }
        (Figure::Direction(_), Some(_)) => {
            return fails("tolerance", "means nothing for a direction: leave it out");
        }
        (Figure::One(_), None) => {
            let message = "is missing: how far from paper the number may be, in its unit (of changes 0.05 is five \
                           points of percentage)";
            return fails("tolerance", message);
        }
        (_, Some(tolerance)) if !(tolerance >= 0.0 && tolerance.is_finite()) => {
            return fails("tolerance", &format!("must be at least 0, not {tolerance}"));
        }
        _ => {}
    }
    if let Some(Deviation { within, .. }) = &claim.deviation
        && !within.iter().all(|bound| bound.is_finite())
    {
        return fails("deviation.within", &format!("must be two numbers, not {within:?}"));
    }
    let Some(record) = claim.measured else { return Ok(()) };
    if !(record.scale > 0.0 && record.scale <= 1.0) {
        return fails("measured.scale", &format!("must be above 0 and at most 1, not {}", record.scale));
    }
    if !(record.value.is_finite() && record.wrong.is_none_or(f64::is_finite)) {
        return fails("measured", "must have numbers that are finite");
    }
    match record.spread {
        Some(spread) if !(spread >= 0.0 && spread.is_finite()) => {
            fails("measured.spread", &format!("must be at least 0, not {spread}"))
        }
        _ => Ok(()),
    }
}

struct Vetter<'a> {
    runs: &'a [Planned],
    left_out: &'a [String],
    whole: bool,
}

impl Vetter<'_> {
    fn quantity(&self, number: &Quantity) -> Result<(), ScenarioError> {
        if !number.metric.starts_with("series:") {
            known("metric", &number.metric, METRICS.into_iter().chain(TASK_METRICS).chain(RUN_METRICS))?;
        }
        let (size_class, group) = number.class.split_once('@').unwrap_or((&number.class, "0"));
        if !number.class.is_empty() {
            class_exists(&number.class)?;
        }
        if RUN_METRICS.contains(&number.metric.as_str()) && !["", "all"].contains(&number.class.as_str()) {
            let message =
                format!("means nothing for {}, which is of the whole run: leave it out", number.metric);
            return Err(ScenarioError::new("class", message));
        }
        let whole = ["", "all"].contains(&size_class) && group.parse::<u8>().is_ok();
        if TASK_METRICS.contains(&number.metric.as_str()) && !whole {
            let message = format!(
                "\"{}\" is of flows, but {} is of tasks: leave it out, or give \"all@\" and a traffic class",
                number.class, number.metric
            );
            return Err(ScenarioError::new("class", message));
        }
        self.scheme("of", &number.of, "at", &number.at)?;
        if let Some(other) = &number.against {
            let (field, at) = match &number.against_at {
                Some(at) => ("against_at", at),
                None => ("at", &number.at),
            };
            self.scheme("against", other, field, at)?;
        }
        for (field, name) in [("stat", &number.stat), ("points", &number.points)] {
            if let Some(name) = name {
                known_as("statistic", field, name, STATISTICS)?;
            }
        }
        if number.points.is_some() && number.against_at.is_some() {
            let message = "compares each point with itself, so that against_at means nothing: leave one out";
            return Err(ScenarioError::new("points", message));
        }
        if let Some(at) = &number.less_at {
            if number.against.is_none() || number.points.is_some() || number.against_at.is_some() {
                let message = "compares two changes: needs against, and neither points nor against_at";
                return Err(ScenarioError::new("less_at", message));
            }
            self.scheme("of", &number.of, "less_at", at)?;
        }
        for (field, time) in [("from", &number.from), ("to", &number.to)] {
            if let Some(Err(error)) = time.as_ref().map(|text| text.parse::<Time>()) {
                return Err(ScenarioError::new(field, error.to_string()));
            }
        }
        Ok(())
    }

    /// Whether a scheme is there, and was run at the points that `at` asks for.
    fn scheme(&self, field: &str, name: &str, at_field: &str, at: &Table) -> Result<(), ScenarioError> {
        let left_out = self.left_out.iter().map(String::as_str);
        known_as("scheme", field, name, self.runs.iter().map(|run| run.scheme.as_str()).chain(left_out))?;
        let axes = || self.runs.first().into_iter().flat_map(|run| run.point.axes().map(|(axis, _)| axis));
        at.keys().try_for_each(|axis| known_as("axis", at_field, axis, axes()))?;
        let matches = |run: &Planned| run.scheme == name && run.point.matches(at);
        let is_left_out = self.left_out.iter().any(|label| label == name);
        if self.whole && !is_left_out && !self.runs.iter().any(matches) {
            return Err(ScenarioError::new(at_field, format!("{name} is not run at {at}")));
        }
        Ok(())
    }
}

/// Checks that there can be a class of this name.
pub(crate) fn class_exists(class: &str) -> Result<(), ScenarioError> {
    let (size_class, group) = class.split_once('@').unwrap_or((class, "0"));
    known("class", size_class, SIZE_CLASSES)?;
    if Group::is_named(group) {
        return Ok(());
    }
    let message = format!("\"@{group}\" is neither a traffic class, 0 to 255, nor @deadline or @no-deadline");
    Err(ScenarioError::new("class", message))
}

fn known<'a>(field: &str, name: &str, names: impl IntoIterator<Item = &'a str>) -> Result<(), ScenarioError> {
    known_as(field, field, name, names)
}

/// As [`known`], where the message calls it otherwise than the field.
fn known_as<'a>(
    what: &str,
    field: &str,
    name: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<(), ScenarioError> {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_unstable();
    names.dedup();
    if names.contains(&name) { Ok(()) } else { Err(ScenarioError::new(field, unknown(what, name, names))) }
}
