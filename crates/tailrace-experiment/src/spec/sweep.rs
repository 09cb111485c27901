//! `[sweep]`: the points at which an experiment is run.
//!
//! ```toml
//! [sweep]
//! "workload.load" = [0.5, 0.7, 0.9]        # an axis: a dotted field
//! seed = [1, 2, 3]                         # all combinations of the axes are run
//! [[sweep.together]]                       # fields that vary together; the first names the axis
//! queues = [2, 4]                          # (a name that is no field only labels the points)
//! "scheme.mlfq.params.port.queues" = [2, 4]
//! "scheme.mlfq.params.thresholds" = [["7KB"], ["7KB", "14KB", "21KB"]]
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use tailrace_config::ScenarioError;
use toml::{Table, Value};

use crate::spec::path::{self, Path};
use crate::stats::class_summary::METRICS;
use crate::stats::task_stats::TASK_METRICS;

/// The axis of repetitions by chance.
pub const SEED: &str = "seed";

/// The most points that a sweep may have.
const MAX_POINTS: usize = 250_000;

/// The axes of an experiment, in the order of the file. Its points are all combinations; the last axis changes
/// first.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sweep {
    axes: Vec<Axis>,
}

/// An axis: its name, and the fields that it sets at each of its steps.
#[derive(Clone, Debug, PartialEq)]
struct Axis {
    name: String,
    fields: Vec<(String, Vec<Value>)>,
}

/// A point of the sweep: a value of each axis.
#[derive(Clone, Debug, Default)]
pub struct Point {
    sweep: Arc<Sweep>,
    number: usize,
}

impl Point {
    /// Axes and their values, in the order of the file.
    pub fn axes(&self) -> impl Iterator<Item = (&str, &Value)> {
        let steps = self.sweep.steps(self.number);
        std::iter::zip(&self.sweep.axes, steps).map(|(axis, step)| (axis.name.as_str(), axis.value(step)))
    }

    /// Names of the axes.
    pub fn names(&self) -> Vec<String> {
        self.axes().map(|(name, _)| name.to_owned()).collect()
    }

    /// The value on an axis.
    pub fn get(&self, axis: &str) -> Option<&Value> {
        self.axes().find(|(name, _)| *name == axis).map(|(_, value)| value)
    }

    /// Whether its axes have the values that `at` asks for; numbers compare as numbers.
    pub fn matches(&self, at: &Table) -> bool {
        at.iter().all(|(name, wanted)| self.get(name).is_some_and(|value| same(value, wanted)))
    }

    /// The first of the points that differ from this one in the seed only, and the seed here, if that is an axis of
    /// its own with a number.
    pub(crate) fn seed(&self) -> Option<(usize, i64)> {
        let place = self.sweep.axes.iter().position(Axis::is_seed)?;
        let step = self.sweep.steps(self.number).nth(place)?;
        let seed = self.sweep.axes[place].value(step).as_integer()?;
        Some((self.number - step * self.sweep.stride(place), seed))
    }

    /// Its number among the points of the sweep.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Sets what the point sets.
    pub(crate) fn vary(&self, table: &mut Table) -> Result<(), ScenarioError> {
        for (axis, step) in std::iter::zip(&self.sweep.axes, self.sweep.steps(self.number)) {
            for (field, values) in &axis.fields {
                vary(table, field, &values[step])?;
            }
        }
        Ok(())
    }
}

impl PartialEq for Point {
    fn eq(&self, other: &Self) -> bool {
        let same_sweep = Arc::ptr_eq(&self.sweep, &other.sweep);
        if same_sweep { self.number == other.number } else { self.axes().eq(other.axes()) }
    }
}

/// A value of an axis as people write it.
pub fn axis_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether two values of an axis are the same; numbers compare as numbers.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    let number = |v: &Value| v.as_float().or_else(|| v.as_integer().map(|n| n as f64));
    match (number(a), number(b)) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9,
        _ => a == b,
    }
}

impl Axis {
    fn steps(&self) -> usize {
        self.fields[0].1.len()
    }

    /// The value that stands for a step: that of the first field.
    fn value(&self, step: usize) -> &Value {
        &self.fields[0].1[step]
    }

    fn is_seed(&self) -> bool {
        self.fields.len() == 1 && self.name == SEED
    }

    /// Each of its values is another.
    fn check(&self) -> Result<(), ScenarioError> {
        let mut seen = BTreeSet::new();
        match self.fields[0].1.iter().find(|value| !seen.insert(value.to_string())) {
            Some(value) => Err(ScenarioError::new(
                format!("sweep.\"{}\"", self.name),
                format!("has {value} twice: the same runs would be made again"),
            )),
            None => Ok(()),
        }
    }
}

impl Sweep {
    /// The sweep of an experiment; one point where there is none.
    pub fn of(table: &Table) -> Result<Arc<Self>, ScenarioError> {
        let axes = axes(table)?;
        axes.iter().try_for_each(Axis::check)?;
        let points = axes.iter().map(|axis| axis.steps() as u128).fold(1, u128::saturating_mul);
        if points > MAX_POINTS as u128 {
            let message = format!(
                "has {points} points, but at most {MAX_POINTS} fit one experiment: leave out values, or make several \
                 files"
            );
            return Err(ScenarioError::new("sweep", message));
        }
        Ok(Arc::new(Sweep { axes }))
    }

    /// The same axes in this order, which a table loses when it is written: groups come last then. `None` if these are
    /// not their names.
    pub fn ordered(&self, names: &[&str]) -> Option<Arc<Self>> {
        let axis = |name: &&str| self.axes.iter().find(|axis| axis.name == **name).cloned();
        let axes: Vec<Axis> = names.iter().map(axis).collect::<Option<_>>()?;
        (axes.len() == self.axes.len()).then(|| Arc::new(Sweep { axes }))
    }

    /// All points.
    pub fn points(self: &Arc<Self>) -> impl Iterator<Item = Point> {
        (0..self.len()).map(|number| Point { sweep: self.clone(), number })
    }

    /// How many points there are.
    fn len(&self) -> usize {
        self.axes.iter().map(Axis::steps).product()
    }

    /// How far apart in number two points are that are next to each other on an axis.
    fn stride(&self, place: usize) -> usize {
        self.axes[place + 1..].iter().map(Axis::steps).product()
    }

    /// Where on each axis a point is.
    fn steps(&self, number: usize) -> impl Iterator<Item = usize> {
        self.axes.iter().enumerate().map(move |(place, axis)| number / self.stride(place) % axis.steps())
    }
}

/// The fields that the sweep of an experiment varies.
pub(crate) fn swept(table: &Table) -> Vec<&str> {
    let sweep = table.get("sweep").and_then(Value::as_table);
    let own =
        sweep.into_iter().flatten().filter(|(name, _)| *name != "together").map(|(name, _)| name.as_str());
    let groups = sweep.and_then(|sweep| sweep.get("together")).and_then(Value::as_array);
    let together = groups.into_iter().flatten().filter_map(Value::as_table).flatten();
    own.chain(together.map(|(name, _)| name.as_str())).collect()
}

/// Fields of a scenario that stand in no section.
const PLAIN_FIELDS: [&str; 2] = ["seed", "level"];

fn vary(table: &mut Table, field: &str, value: &Value) -> Result<(), ScenarioError> {
    let here = |message| ScenarioError::new(format!("sweep.\"{field}\""), message);
    let path = Path::parse(field).map_err(here)?;
    // Another plain word labels the points of fields that vary together.
    if path.root() == field && !PLAIN_FIELDS.contains(&field) {
        return Ok(());
    }
    path::set(table, &path, value).map_err(here)
}

fn axes(table: &Table) -> Result<Vec<Axis>, ScenarioError> {
    let Some(sweep) = table.get("sweep") else { return Ok(Vec::new()) };
    let Some(sweep) = sweep.as_table() else {
        return Err(ScenarioError::new("sweep", "must be a table of fields and lists"));
    };
    let mut axes = Vec::new();
    for (name, values) in sweep {
        if name == "together" {
            for group in values.as_array().into_iter().flatten() {
                axes.push(together(group)?);
            }
        } else if name.contains('.') || PLAIN_FIELDS.contains(&name.as_str()) {
            axes.push(Axis { name: name.clone(), fields: vec![(name.clone(), list(name, values)?)] });
        } else {
            let message = "is no field; sweep a dotted one such as workload.load, or seed or level";
            return Err(ScenarioError::new(format!("sweep.{name}"), message));
        }
    }
    Ok(axes)
}

/// Columns of the summary that are no metrics.
const OTHER_COLUMNS: [&str; 3] = ["scheme", "class", "run"];

fn together(group: &Value) -> Result<Axis, ScenarioError> {
    let fields = group.as_table().into_iter().flatten();
    let fields: Vec<(String, Vec<Value>)> = fields
        .map(|(name, values)| Ok((name.clone(), list(name, values)?)))
        .collect::<Result<_, ScenarioError>>()?;
    let Some((name, first)) = fields.first() else {
        return Err(ScenarioError::new("sweep.together", "needs at least one field with a list"));
    };
    if METRICS.contains(&name.as_str())
        || TASK_METRICS.contains(&name.as_str())
        || OTHER_COLUMNS.contains(&name.as_str())
    {
        let message = format!("\"{name}\" is a column of the summary already: call the axis something else");
        return Err(ScenarioError::new("sweep.together", message));
    }
    if let Some((other, values)) = fields.iter().find(|(_, values)| values.len() != first.len()) {
        let message = format!(
            "{other} has {} values, but {name} has {}: they vary together",
            values.len(),
            first.len()
        );
        return Err(ScenarioError::new("sweep.together", message));
    }
    Ok(Axis { name: name.clone(), fields })
}

fn list(name: &str, values: &Value) -> Result<Vec<Value>, ScenarioError> {
    match values.as_array() {
        Some(values) if !values.is_empty() => Ok(values.clone()),
        _ => Err(ScenarioError::new(format!("sweep.\"{name}\""), "must be a list with at least one value")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<Vec<(Point, Table)>, ScenarioError> {
        let table: Table = text.parse().unwrap();
        let varied = |point: Point| {
            let mut table = table.clone();
            point.vary(&mut table).map(|()| (point, table))
        };
        Sweep::of(&table)?.points().map(varied).collect()
    }

    #[test]
    fn axes_multiply_and_groups_move_together() {
        let points = expanded(
            "[[scheme]]\nname = \"mlfq\"\n[sweep]\nseed = [1, 2]\n\
             [[sweep.together]]\nqueues = [2, 3, 4]\n\"scheme.mlfq.params.queues\" = [2, 3, 4]\n",
        )
        .unwrap();
        assert_eq!(points.len(), 6);
        let (point, table) = &points[4];
        assert_eq!(point.get("seed").and_then(Value::as_integer), Some(2));
        assert_eq!(point.get("queues").and_then(Value::as_integer), Some(3));
        assert_eq!(table["scheme"][0]["params"]["queues"].as_integer(), Some(3));
        assert_eq!(table["seed"].as_integer(), Some(2));
        assert!(!table.contains_key("queues"));
    }

    #[test]
    fn fields_outside_sections_are_set() {
        for (field, values) in [("seed", "[1, 2]"), ("level", "[\"packet\", \"flow\"]")] {
            let points = expanded(&format!("[sweep]\n{field} = {values}")).unwrap();
            assert_eq!(points.len(), 2);
            assert!(points.iter().all(|(point, table)| table.get(field) == point.get(field)), "{field}");
        }
    }

    #[test]
    fn swept_fields_are_known() {
        let text = "[sweep]\n\"workload.load\" = [0.5]\nseed = [1]\n\
                    [[sweep.together]]\nqueues = [2]\n\"a.b\" = [1]\n";
        assert_eq!(swept(&text.parse().unwrap()), ["workload.load", "seed", "queues", "a.b"]);
        assert!(swept(&Table::new()).is_empty());
    }

    #[test]
    fn axes_keep_the_order_of_the_file() {
        let text = "[sweep]\n\"workload.load\" = [0.5]\n\"fabric.leaves\" = [2]\nseed = [1]\n\
                    [[sweep.together]]\nqueues = [2]\n\"a.b\" = [1]\n";
        let points = expanded(text).unwrap();
        assert_eq!(points[0].0.names(), ["workload.load", "fabric.leaves", "seed", "queues"]);
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| expanded(text).unwrap_err().to_string();
        assert!(error("[sweep]\n\"workload.load\" = 0.5").contains("workload.load"));
        assert!(error("[sweep]\nflows = [1]").contains("dotted"));
        assert!(error("[sweep]\nseed = []").contains("at least one"));
        assert!(error("[[sweep.together]]\na = [1, 2]\n\"b.c\" = [1]").contains("vary together"));
        assert!(error("[[sweep.together]]\nflows = [1]\n\"b.c\" = [1]").contains("\"flows\" is a column"));
        assert!(error("[sweep]\n\"workload.load\" = [0.5, 0.7, 0.5]").contains("has 0.5 twice"));
        assert!(error("[[scheme]]\nname = \"y\"\n[sweep]\n\"scheme.x.k\" = [1]").contains("scheme.x.k"));
    }

    #[test]
    fn points_match_by_number() {
        let point = &expanded("[sweep]\n\"workload.load\" = [0.9]\nseed = [1]").unwrap()[0].0;
        let at = |text: &str| text.parse::<Table>().unwrap();
        assert!(point.matches(&at("\"workload.load\" = 0.9")));
        assert!(point.matches(&at("seed = 1.0")));
        assert!(point.matches(&Table::new()));
        assert!(!point.matches(&at("queues = 2")));
    }

    #[test]
    fn points_that_differ_in_the_seed_only_share_the_first_of_them() {
        let text = "[sweep]\n\"workload.load\" = [0.5, 0.7]\nseed = [7, 8, 9]\n\"fabric.leaves\" = [2, 3]";
        let points = expanded(text).unwrap();
        for (number, (point, _)) in points.iter().enumerate() {
            let (first, seed) = point.seed().unwrap();
            assert_eq!((point.number(), Some(seed)), (number, point.get("seed").unwrap().as_integer()));
            assert_eq!(points[first].0.get("seed").unwrap().as_integer(), Some(7));
            for axis in ["workload.load", "fabric.leaves"] {
                assert_eq!(points[first].0.get(axis), point.get(axis));
            }
        }
        assert!(expanded("[sweep]\n\"workload.load\" = [0.5]").unwrap()[0].0.seed().is_none());
        let together = "[[sweep.together]]\nseed = [1, 2]\n\"workload.load\" = [0.5, 0.7]";
        assert!(expanded(together).unwrap()[1].0.seed().is_none());
    }

    #[test]
    fn too_many_points_are_refused_with_their_number() {
        let hundred: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let axis = |name: &str| format!("\"{name}\" = [{}]\n", hundred.join(", "));
        let text = format!("[sweep]\n{}{}{}", axis("a.a"), axis("a.b"), axis("a.c"));
        let error = Sweep::of(&text.parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("has 1000000 points, but at most 250000"), "{error}");
        let many: String = (0..20).map(|n| axis(&format!("a.{n}"))).collect();
        assert!(Sweep::of(&format!("[sweep]\n{many}").parse().unwrap()).is_err());
    }
}
