//! An experiment file: a scenario, the schemes to compare, what is swept, and what is claimed and expected.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tailrace_config::{ScenarioError, suggest::unknown, table};
use tailrace_scenario::{Level, Scenario};
use toml::{Table, Value};

use crate::error::Error;
use crate::judge::{Claim, Expectation};
use crate::path;
use crate::scale::{self, GaveWay};
use crate::sweep::{self, Point};
use crate::vet::vet;

/// Tables and fields that belong to the experiment; all others belong to the scenario.
const OWN_FIELDS: [&str; 9] =
    ["title", "source", "about", "scheme", "sweep", "scale", "plot", "claim", "expect"];

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
    pub gave_way: Vec<GaveWay>,
    /// All runs, in order.
    pub runs: Vec<Planned>,
    /// The paper's figures.
    pub claims: Vec<Claim>,
    /// What must hold.
    pub expectations: Vec<Expectation>,
    /// The whole table after overrides and scale, with what gave way under `scaled` and overrides under `set`.
    pub resolved: Table,
}

/// One run to be made: a scheme at a point of the sweep.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The scheme's label.
    pub scheme: String,
    /// Where in the sweep.
    pub point: Point,
    /// All that the run needs.
    pub scenario: Scenario,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Own {
    title: String,
    source: String,
    about: String,
    claim: Vec<Claim>,
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
        let text = std::fs::read_to_string(file)
            .map_err(|e| ScenarioError::new("", format!("cannot be read: {e}")).in_file(file))?;
        Self::from_text(&text, file, overrides, scale).map_err(|e| e.locate(&text).in_file(file))
    }

    /// Reads a text as if it came from `file`.
    pub fn from_text(
        text: &str,
        file: &Path,
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
        let gave_way = scale::apply(&mut table, scale, &set)?;
        let own = own_fields(&table)?;
        let base = file.parent().unwrap_or(Path::new("."));
        let runs = plan(&table, base)?;
        check_labels(&runs)?;
        vet(&own.claim, &own.expect, &runs, scale)?;
        let name = file.file_stem().map_or_else(|| "experiment".into(), |s| s.to_string_lossy().into_owned());
        Ok(Experiment {
            file: file.to_owned(),
            name,
            title: own.title,
            source: own.source,
            about: own.about,
            scale,
            resolved: with_changes(table, overrides, scale, &gave_way),
            gave_way,
            runs,
            claims: own.claim,
            expectations: own.expect,
        })
    }

    /// Leaves out the runs of all schemes but these. What claims and plots need of the others is then not there.
    pub fn only(mut self, labels: &[String]) -> Result<Self, ScenarioError> {
        let mut known: Vec<&str> = self.runs.iter().map(|run| run.scheme.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        if let Some(label) = labels.iter().find(|label| !known.contains(&label.as_str())) {
            return Err(ScenarioError::new("--only", unknown("scheme of this experiment", label, known)));
        }
        self.runs.retain(|run| labels.is_empty() || labels.contains(&run.scheme));
        Ok(self)
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

fn own_fields(table: &Table) -> Result<Own, ScenarioError> {
    let mut own = Table::new();
    for key in ["title", "source", "about", "claim", "expect"] {
        if let Some(value) = table.get(key) {
            own.insert(key.into(), value.clone());
        }
    }
    table::read(own)
}

/// All schemes at all points of the sweep.
fn plan(table: &Table, base: &Path) -> Result<Vec<Planned>, ScenarioError> {
    let schemes = match table.get("scheme") {
        Some(Value::Array(schemes)) if !schemes.is_empty() => schemes.len(),
        _ => return Err(ScenarioError::new("scheme", "at least one [[scheme]] with a name is needed")),
    };
    let mut runs = Vec::new();
    for (point, varied) in sweep::expand(table)? {
        for index in 0..schemes {
            let scenario = planned(&varied, index, base).map_err(|e| {
                let unvaried = planned(table, index, base).err();
                if unvaried.as_ref() == Some(&e) { e } else { at_point(e, &point) }
            })?;
            runs.push(Planned { scheme: label(&scenario).to_owned(), point: point.clone(), scenario });
        }
    }
    Ok(runs)
}

/// The scenario of the `index`-th scheme of a file, checked.
fn planned(table: &Table, index: usize, base: &Path) -> Result<Scenario, ScenarioError> {
    let mut scenario: Table = table
        .iter()
        .filter(|(key, _)| !OWN_FIELDS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let mut scheme = table["scheme"][index].clone();
    let own = scheme.as_table_mut().and_then(|fields| fields.remove("with"));
    scenario.insert("scheme".into(), scheme);
    let own = own_settings(own).map_err(|e| place(e, index))?;
    let checked = || {
        own.iter().try_for_each(|(field, value)| set_own(&mut scenario, field, value))?;
        let scenario = read_scenario(scenario, base)?;
        check_scheme(&scenario)?;
        check_places(&scenario)?;
        Ok(scenario)
    };
    checked().map_err(|e| place(within_own(e, &own), index))
}

/// What one scheme wants otherwise than the others, as dotted field and value; sections are taken apart.
fn own_settings(own: Option<Value>) -> Result<Vec<(String, Value)>, ScenarioError> {
    let wrong = |message: String| Err(ScenarioError::new("scheme.with", message));
    let own = match own {
        None => return Ok(Vec::new()),
        Some(Value::Table(own)) => own,
        Some(_) => return wrong("must be a table such as { \"fabric.load_balancing\" = \"ecmp\" }".into()),
    };
    let mut settings = Vec::new();
    for (field, value) in own {
        let path = match path::Path::parse(&field) {
            Ok(path) => path,
            Err(message) => return wrong(message),
        };
        if !["fabric", "transport", "measure", "level", "flow"].contains(&path.root()) {
            return wrong(format!(
                "\"{field}\": only fabric, transport, measure, level and flow may differ between schemes"
            ));
        }
        match value {
            Value::Table(fields) if path.root() == field => {
                settings.extend(fields.into_iter().map(|(inner, value)| (format!("{field}.{inner}"), value)));
            }
            value => settings.push((field, value)),
        }
    }
    Ok(settings)
}

fn set_own(scenario: &mut Table, field: &str, value: &Value) -> Result<(), ScenarioError> {
    let here = |message| ScenarioError::new(field, message);
    path::set(scenario, &path::Path::parse(field).map_err(here)?, value).map_err(here)
}

/// An error in a field that the scheme sets for itself is in its `with`.
fn within_own(error: ScenarioError, own: &[(String, Value)]) -> ScenarioError {
    let inside = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    if own.iter().any(|(field, _)| inside(field, &error.field) || inside(&error.field, field)) {
        error.within("scheme.with")
    } else {
        error
    }
}

/// Says at which point of the sweep an error is.
fn at_point(mut error: ScenarioError, point: &Point) -> ScenarioError {
    let axes: Vec<String> = point.axes.iter().map(|(axis, value)| format!("{axis} = {value}")).collect();
    error.message = format!("{} (in the sweep, at {})", error.message, axes.join(", "));
    error
}

/// What results call a scenario's scheme.
pub(crate) fn label(scenario: &Scenario) -> &str {
    scenario.scheme.label.as_ref().unwrap_or(&scenario.scheme.name)
}

/// A scenario with the files that it names read in.
pub(crate) fn read_scenario(table: Table, base: &Path) -> Result<Scenario, ScenarioError> {
    let mut scenario = Scenario::from_table(table)?;
    scenario.read_files(base)?;
    Ok(scenario)
}

/// An error in a scenario's `scheme` table is in the file's `index`-th `[[scheme]]`.
fn place(mut error: ScenarioError, index: usize) -> ScenarioError {
    if let Some(rest) = error.field.strip_prefix("scheme")
        && (rest.is_empty() || rest.starts_with('.'))
    {
        error.field = format!("scheme[{index}]{rest}");
    }
    error
}

/// Finds out now, before anything runs, whether the scheme exists and takes its parameters.
fn check_scheme(scenario: &Scenario) -> Result<(), ScenarioError> {
    struct Check<'a>(&'a Scenario);
    impl tailrace_schemes::SchemeVisitor for Check<'_> {
        type Output = Result<(), ScenarioError>;
        fn visit<S: tailrace_core::Scheme>(self) -> Self::Output {
            crate::run::scheme::<S>(self.0, &self.0.fabric.build()).map(drop)
        }
    }
    if scenario.level == Level::Flow {
        return crate::flow_level::check(scenario);
    }
    let name = &scenario.scheme.name;
    tailrace_schemes::with_scheme(name, Check(scenario)).unwrap_or_else(|_| {
        if tailrace_schemes::FLOW_NAMES.contains(&name.as_str()) {
            let message = format!(
                "is {name}, which exists at flow level only: write level = \"flow\" (or --level flow), or with = \
                 {{ level = \"flow\" }} into its [[scheme]]"
            );
            return Err(ScenarioError::new("scheme.name", message));
        }
        Err(ScenarioError::new(
            "scheme.name",
            unknown("scheme", name, tailrace_schemes::NAMES.iter().copied()),
        ))
    })
}

/// Finds out now whether the flow list and the sampled ports exist.
fn check_places(scenario: &Scenario) -> Result<(), ScenarioError> {
    crate::run::watch(scenario, &scenario.fabric.build())?;
    match crate::flow_list::flows(scenario) {
        Ok(_) => Ok(()),
        Err(Error::Input(error)) => Err(error),
        Err(error) => Err(ScenarioError::new("workload.flow_list", error.to_string())),
    }
}

fn check_labels(runs: &[Planned]) -> Result<(), ScenarioError> {
    for (index, run) in runs.iter().enumerate() {
        let same = |other: &&Planned| other.scheme == run.scheme && other.point == run.point;
        if runs[..index].iter().any(|other| same(&other)) {
            let message = format!("two schemes are called \"{}\": give each its own label", run.scheme);
            return Err(ScenarioError::new("scheme", message));
        }
    }
    Ok(())
}

fn with_changes(mut table: Table, set: &[Override], scale: f64, gave_way: &[GaveWay]) -> Table {
    let mut scaled = Table::new();
    scaled.insert("scale".into(), Value::Float(scale));
    for change in gave_way {
        scaled.insert(change.field.clone(), Value::String(format!("{} → {}", change.from, change.to)));
    }
    table.insert("scaled".into(), Value::Table(scaled));
    if !set.is_empty() {
        let set = set.iter().map(|change| (change.field.clone(), Value::String(change.value.clone())));
        table.insert("set".into(), Value::Table(set.collect()));
    }
    table
}
