//! From a file's table to its runs: all schemes at all points of the sweep, each with its scenario, checked.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use tailrace_config::ScenarioError;
use tailrace_config::suggest::unknown;
use tailrace_scenario::Scenario;
use toml::{Table, Value};

use crate::output::flow_list;
use crate::spec::name;
use crate::spec::path;
use crate::spec::sweep::{Point, Sweep};

/// Tables and fields that belong to the experiment; all others belong to the scenario.
const OWN_FIELDS: [&str; 10] =
    ["title", "source", "about", "scheme", "sweep", "stop", "scale", "plot", "claim", "expect"];

/// One run to be made: a scheme at a point of the sweep.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The scheme's label.
    pub scheme: String,
    /// Where in the sweep.
    pub point: Point,
    /// The scenario of this run, but for the seed.
    shared: Arc<Scenario>,
    seed: u64,
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

impl Planned {
    fn new(point: Point, shared: Arc<Scenario>, seed: u64) -> Self {
        Planned { scheme: shared.scheme.label().to_owned(), point, shared, seed }
    }

    /// All that the run needs.
    pub fn scenario(&self) -> Scenario {
        Scenario { seed: self.seed, ..Scenario::clone(&self.shared) }
    }

    /// Its seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Its scenario with another seed; runs that differ in nothing else share one.
    pub fn but_for_seed(&self) -> &Scenario {
        &self.shared
    }
}

/// All chosen schemes at all points of the sweep. What differs in the seed only is built once.
pub(crate) fn plan(table: &Table, base: &Path, choice: &Choice) -> Result<Vec<Planned>, ScenarioError> {
    let schemes = choice.chosen.len();
    let sweep = Sweep::of(table)?;
    let own = |key: &str| OWN_FIELDS.contains(&key) && key != "scheme";
    let unvaried: Table =
        table.iter().filter(|(key, _)| !own(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut runs: Vec<Planned> = Vec::new();
    for point in sweep.points() {
        // The first of the points that differ from this one in the seed only, if it is another.
        let alike = point.seed().filter(|(first, _)| *first < point.number());
        let built = |index: usize| {
            let mut varied = unvaried.clone();
            point.vary(&mut varied)?;
            planned(&varied, index, base).map_err(|e| {
                let everywhere = planned(&unvaried, index, base).err().as_ref() == Some(&e);
                if everywhere { e } else { at_point(e, &point) }
            })
        };
        for (place, &index) in choice.chosen.iter().enumerate() {
            let run = if let Some((first, seed)) = alike {
                let shared = runs[first * schemes + place].shared.clone();
                // What is drawn may fit at one seed and not at another.
                if shared.workload.draws_from_seed() {
                    built(index)?;
                }
                Planned::new(point.clone(), shared, seed as u64)
            } else {
                let scenario = built(index)?;
                let seed = scenario.seed;
                Planned::new(point.clone(), Arc::new(scenario), seed)
            };
            runs.push(run);
        }
        check_labels(&runs[runs.len() - schemes..])?;
    }
    Ok(runs)
}

/// Schemes at a point differ in their labels.
fn check_labels(runs: &[Planned]) -> Result<(), ScenarioError> {
    for run in runs {
        name::check_title(&run.scheme).map_err(|message| ScenarioError::new("scheme.label", message))?;
    }
    let mut labels = BTreeSet::new();
    match runs.iter().find(|run| !labels.insert(run.scheme.as_str())) {
        Some(run) => {
            let message = format!("two schemes are called \"{}\": give each its own label", run.scheme);
            Err(ScenarioError::new("scheme", message))
        }
        None => Ok(()),
    }
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
        check(&scenario)?;
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
        if !["fabric", "transport", "measure", "level", "flow", "live"].contains(&path.root()) {
            return wrong(format!(
                "\"{field}\": only fabric, transport, measure, level, flow and live may differ between schemes"
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
    let axes: Vec<String> = point.axes().map(|(axis, value)| format!("{axis} = {value}")).collect();
    error.message = format!("{} (in the sweep, at {})", error.message, axes.join(", "));
    error
}

/// A scenario with the files that it names read in.
pub(crate) fn read_scenario(table: Table, base: &Path) -> Result<Scenario, ScenarioError> {
    let mut scenario = Scenario::in_folder(table, base)?;
    flow_list::read_offered(&mut scenario)?;
    Ok(scenario)
}

/// An error in a scenario's `scheme` table is in the file's `index`-th `[[scheme]]`.
pub fn place(mut error: ScenarioError, index: usize) -> ScenarioError {
    if let Some(rest) = error.field.strip_prefix("scheme")
        && (rest.is_empty() || rest.starts_with('.'))
    {
        error.field = format!("scheme[{index}]{rest}");
    }
    error
}

/// Finds out now whether the scheme can run there, and whether there are flows for it.
fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    tailrace_run::check(scenario)?;
    // A list has been read already.
    if scenario.workload.flow_list.is_none() {
        tailrace_run::feed(scenario)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "[fabric]\npreset = \"micro4\"\n[[scheme]]\nname = \"dctcp\"\n[[scheme]]\nname = \"pias\"\n";

    fn planned_runs(text: &str) -> Result<Vec<Planned>, ScenarioError> {
        let table = format!("{HEAD}{text}").parse().unwrap();
        plan(&table, Path::new("."), &Choice::of(&table, &[])?)
    }

    /// What is shared between seeds is what each run would have had for itself.
    #[test]
    fn every_run_has_the_scenario_of_its_own_point() {
        let workload =
            "[workload]\nsizes = \"web-search\"\npattern = \"permutation\"\nload = 0.5\nflows = 20\n";
        let text = format!("{workload}[sweep]\n\"workload.load\" = [0.3, 0.6]\nseed = [4, 9, -1]\n");
        for text in [text.clone(), text.replace("seed", "\"measure.horizon\" = [\"1s\", \"2s\"]\nseed")] {
            let table: Table = format!("{HEAD}{text}").parse().unwrap();
            let runs = planned_runs(&text).unwrap();
            let sweep = Sweep::of(&table).unwrap();
            let alone = sweep.points().flat_map(|point| {
                let mut varied = table.clone();
                point.vary(&mut varied).unwrap();
                [0, 1].map(|index| planned(&varied, index, Path::new(".")).unwrap())
            });
            assert!(alone.eq(runs.iter().map(Planned::scenario)));
            let shared: BTreeSet<_> = runs.iter().map(|run| Arc::as_ptr(&run.shared)).collect();
            assert_eq!(shared.len() * 3, runs.len());
        }
    }

    /// Two rules that draw their destinations may put both flows of a host on one link or on two, so that the load
    /// depends on the seed.
    #[test]
    fn seeds_at_which_a_draw_asks_too_much_are_found() {
        let rule = "[[workload.rule]]\nsizes = \"web-search\"\npattern = \"pairs\"\nfrom = [1]\nto = [0]\nload = 0.6\n\
                    [[workload.rule]]\nsizes = \"web-search\"\npattern = \"all-to-all\"\ndestinations = 1\nload = 0.5\n";
        let text = |seeds: &str| format!("[workload]\nflows = 20\n{rule}[sweep]\nseed = [{seeds}]\n");
        let one = |seed: &u32| planned_runs(&text(&seed.to_string())).is_ok();
        let fits: Vec<u32> = (1..40).filter(one).collect();
        let (good, bad) = (fits[0], (1..40).find(|seed| !fits.contains(seed)).unwrap());
        let error = planned_runs(&text(&format!("{good}, {bad}"))).unwrap_err().to_string();
        assert!(error.contains("busiest host") && error.contains(&format!("at seed = {bad}")), "{error}");
    }

    #[test]
    fn a_seed_that_is_no_number_is_found_wherever_it_stands() {
        let text =
            "[workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 20\n[sweep]\nseed = [1, 2, \"x\"]\n";
        let error = planned_runs(text).unwrap_err();
        assert_eq!(error.field, "seed");
        assert!(error.message.contains("at seed = \"x\""), "{error}");
    }

    #[test]
    fn labels_differ_at_each_point() {
        let text = "[workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 20\n[sweep]\n\
                    \"scheme.pias.label\" = [\"a\", \"dctcp\"]\n";
        let error = planned_runs(text).unwrap_err().to_string();
        assert!(error.contains("two schemes are called \"dctcp\""), "{error}");
    }
}
