//! An experiment file: a scenario, the schemes to compare, what is swept, and what is claimed and expected.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tailrace_config::{ScenarioError, read_text, table};
use tailrace_scenario::{Level, Scenario};
use toml::{Table, Value};

use crate::claims::claim::Claim;
use crate::claims::expectation::Expectation;
use crate::claims::stop::Stop;
use crate::claims::vet::vet;
use crate::plot::{Ground, Plot};
use crate::spec::name;
use crate::spec::path;
use crate::spec::plan::{Choice, Planned, plan};
use crate::spec::scale::{self, ScaledField};
use crate::spec::sweep;

/// An experiment as read, with overrides and scale applied.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Where it was read from.
    pub file: PathBuf,
    /// What it is called: the file's name without its ending.
    pub name: String,
    /// One line.
    pub title: String,
    /// The paper's section and figures.
    pub source: String,
    /// What it shows, in prose.
    pub about: String,
    /// The scale that it was read at.
    pub scale: f64,
    /// What gave way.
    pub scaled_fields: Vec<ScaledField>,
    /// All runs, in order.
    pub runs: Vec<Planned>,
    /// When the seeds of a point are enough, if not all are run.
    pub stop: Option<Stop>,
    /// The paper's figures.
    pub claims: Vec<Claim>,
    /// What must hold.
    pub expectations: Vec<Expectation>,
    /// The whole table after overrides and scale, with what gave way under `scaled` and overrides under `set`.
    pub resolved: Table,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Own {
    pub title: String,
    source: String,
    about: String,
    pub claim: Vec<Claim>,
    expect: Vec<Expectation>,
}

/// An override from the command line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Override {
    /// Dotted path.
    pub field: String,
    /// Its new value.
    pub value: String,
}

impl Experiment {
    /// Reads a file.
    pub fn read(file: &Path, overrides: &[Override], scale: f64) -> Result<Self, ScenarioError> {
        Self::read_only(file, &[], overrides, scale)
    }

    /// Reads a file without all schemes but these; no label stands for all schemes. Nothing of the others is checked,
    /// and what claims and plots need of them is not there.
    pub fn read_only(
        file: &Path,
        labels: &[String],
        overrides: &[Override],
        scale: f64,
    ) -> Result<Self, ScenarioError> {
        let text = read_text(file)
            .map_err(|e| ScenarioError::new("", format!("cannot be read: {e}")).in_file(file))?;
        Self::from_text(&text, file, labels, overrides, scale).map_err(|e| match e.field.starts_with("--") {
            true => e,
            false => e.locate(&text).in_file(file),
        })
    }

    /// Reads a text as [`Self::read_only`] does, as if it were that of `file`.
    pub fn from_text(
        text: &str,
        file: &Path,
        only: &[String],
        overrides: &[Override],
        scale: f64,
    ) -> Result<Self, ScenarioError> {
        let mut table = text.parse::<Table>().map_err(|e| ScenarioError::syntax(&e, text))?;
        for change in overrides {
            apply_override(&mut table, change)?;
        }
        // What is set by hand is set, at any scale.
        let set: Vec<path::Path> =
            overrides.iter().filter_map(|c| path::Path::parse(&c.field).ok()).collect();
        let scaled_fields = scale::apply(&mut table, scale, &set)?;
        let own = Own::of(&table)?;
        let base = file.parent().unwrap_or(Path::new("."));
        let choice = Choice::of(&table, only)?;
        let runs = plan(&table, base, &choice)?;
        vet(&own.claim, &own.expect, &runs, &choice.left_out, scale)?;
        let stop = Stop::read(&table, runs.iter().map(|run| &run.point), scale)?;
        let plots = Plot::all(&table)?;
        let ground = Ground::planned(&runs, choice.left_out, scale);
        plots.iter().try_for_each(|(name, plot)| plot.on(name, &ground).map(drop))?;
        Ok(Experiment {
            file: file.to_owned(),
            name: name::of_file(file, "experiment"),
            title: own.title,
            source: own.source,
            about: own.about,
            scale,
            resolved: with_changes(table, overrides, scale, &scaled_fields),
            scaled_fields,
            runs,
            stop,
            claims: own.claim,
            expectations: own.expect,
        })
    }

    /// Whether any of its runs is live.
    pub fn is_live(&self) -> bool {
        self.but_for_seeds().iter().any(|(scenario, _)| scenario.level == Level::Live)
    }

    /// The scenarios of all runs but for their seeds, and how many runs have each.
    pub fn but_for_seeds(&self) -> Vec<(&Scenario, usize)> {
        let mut scenarios: Vec<(&Scenario, usize)> = Vec::new();
        let mut places = BTreeMap::new();
        for scenario in self.runs.iter().map(Planned::but_for_seed) {
            let place = *places.entry(std::ptr::from_ref(scenario)).or_insert(scenarios.len());
            if place == scenarios.len() {
                scenarios.push((scenario, 0));
            }
            scenarios[place].1 += 1;
        }
        scenarios
    }

    /// Where its results are, unless somebody wants them elsewhere.
    pub fn default_dir(&self) -> PathBuf {
        Path::new("out").join(&self.name)
    }

    /// Names of the sweep's axes.
    pub fn axes(&self) -> Vec<String> {
        self.runs.first().map(|run| run.point.names()).unwrap_or_default()
    }
}

/// The value of `--set field=value` is TOML where it reads as TOML, else text: `10Gbps` needs no quotes.
fn apply_override(table: &mut Table, change: &Override) -> Result<(), ScenarioError> {
    let here = |message: String| ScenarioError::new(format!("--set {}", change.field), message);
    let path = path::Path::parse(&change.field).map_err(here)?;
    if let Some(axis) =
        sweep::swept(table).into_iter().find(|axis| path::Path::parse(axis).as_ref() == Ok(&path))
    {
        let message =
            format!("is swept, so this would change nothing: set the list of \"{axis}\" under sweep");
        return Err(here(message));
    }
    let value = format!("v = {}", change.value)
        .parse::<Table>()
        .ok()
        .and_then(|mut t| t.remove("v"))
        .unwrap_or_else(|| Value::String(change.value.clone()));
    path::set(table, &path, &value).map_err(here)
}

impl Own {
    /// What a file's table says of the experiment itself.
    pub fn of(table: &Table) -> Result<Self, ScenarioError> {
        let mut own = Table::new();
        for key in ["title", "source", "about", "claim", "expect"] {
            if let Some(value) = table.get(key) {
                own.insert(key.into(), value.clone());
            }
        }
        let own: Own = table::read(own)?;
        for (field, text) in [("title", &own.title), ("source", &own.source)] {
            name::check_title(text).map_err(|message| ScenarioError::new(field, message))?;
        }
        Ok(own)
    }
}

fn with_changes(mut table: Table, set: &[Override], scale: f64, scaled_fields: &[ScaledField]) -> Table {
    let mut scaled = Table::new();
    scaled.insert("scale".into(), Value::Float(scale));
    for change in scaled_fields {
        scaled.insert(change.field.clone(), Value::String(format!("{} → {}", change.from, change.to)));
    }
    table.insert("scaled".into(), Value::Table(scaled));
    if !set.is_empty() {
        let set = set.iter().map(|change| (change.field.clone(), Value::String(change.value.clone())));
        table.insert("set".into(), Value::Table(set.collect()));
    }
    table
}
