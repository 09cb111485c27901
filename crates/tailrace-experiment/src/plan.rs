//! From a file's table to its runs: all schemes at all points of the sweep, each with its scenario, checked.

use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_config::suggest::unknown;
use tailrace_scenario::Scenario;
use toml::{Table, Value};

use crate::error::Error;
use crate::sweep::{self, Point};
use crate::{flow_list, path};

/// Tables and fields that belong to the experiment; all others belong to the scenario.
const OWN_FIELDS: [&str; 9] =
    ["title", "source", "about", "scheme", "sweep", "scale", "plot", "claim", "expect"];

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

/// Which schemes of a file are run.
pub(crate) struct Choice {
    /// Their numbers in the file.
    chosen: Vec<usize>,
    /// The labels of the others.
    pub left_out: Vec<String>,
}

impl Choice {
    /// The schemes with these labels; all if there are none.
    pub fn of(table: &Table, labels: &[String]) -> Result<Self, ScenarioError> {
        let schemes = match table.get("scheme") {
            Some(Value::Array(schemes)) if !schemes.is_empty() => schemes,
            _ => return Err(ScenarioError::new("scheme", "at least one [[scheme]] with a name is needed")),
        };
        let label = |scheme: &Value| {
            let label = scheme.get("label").or_else(|| scheme.get("name")).and_then(Value::as_str);
            label.unwrap_or_default().to_owned()
        };
        let known: Vec<String> = schemes.iter().map(label).collect();
        if let Some(label) = labels.iter().find(|label| !known.contains(label) || label.is_empty()) {
            let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
            known.sort_unstable();
            known.dedup();
            return Err(ScenarioError::new("--only", unknown("scheme of this experiment", label, known)));
        }
        let is_chosen = |index: &usize| labels.is_empty() || labels.contains(&known[*index]);
        let (chosen, others): (Vec<usize>, Vec<usize>) = (0..known.len()).partition(is_chosen);
        Ok(Choice { chosen, left_out: others.into_iter().map(|index| known[index].clone()).collect() })
    }
}

/// All chosen schemes at all points of the sweep.
pub(crate) fn plan(table: &Table, base: &Path, choice: &Choice) -> Result<Vec<Planned>, ScenarioError> {
    let mut runs = Vec::new();
    for (point, varied) in sweep::expand(table)? {
        for &index in &choice.chosen {
            let scenario = planned(&varied, index, base).map_err(|e| {
                let unvaried = planned(table, index, base).err();
                if unvaried.as_ref() == Some(&e) { e } else { at_point(e, &point) }
            })?;
            runs.push(Planned { scheme: scenario.scheme.label().to_owned(), point: point.clone(), scenario });
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
        tailrace_run::check(&scenario)?;
        check_flows(&scenario)?;
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

/// Finds out now whether the flow list can be read.
fn check_flows(scenario: &Scenario) -> Result<(), ScenarioError> {
    match flow_list::flows(scenario) {
        Ok(_) => Ok(()),
        Err(Error::Input(error)) => Err(error),
        Err(error) => Err(ScenarioError::new("workload.flow_list", error.to_string())),
    }
}
