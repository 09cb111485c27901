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

use tailrace_config::ScenarioError;
use toml::{Table, Value};

use crate::path::{self, Path};
use crate::stats::METRICS;
use crate::task_stats::TASK_METRICS;

/// A point of the sweep: the name and value of each axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Axes in the order of the file.
    pub axes: Vec<(String, Value)>,
}

impl Point {
    /// Names of the axes.
    pub fn names(&self) -> Vec<String> {
        self.axes.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The value on an axis.
    pub fn get(&self, axis: &str) -> Option<&Value> {
        self.axes.iter().find(|(name, _)| name == axis).map(|(_, value)| value)
    }

    /// Whether its axes have the values that `at` asks for; numbers compare as numbers.
    pub fn matches(&self, at: &Table) -> bool {
        at.iter().all(|(name, wanted)| self.get(name).is_some_and(|value| same(value, wanted)))
    }
}

/// Whether two values of an axis are the same; numbers compare as numbers.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    let number = |v: &Value| v.as_float().or_else(|| v.as_integer().map(|n| n as f64));
    match (number(a), number(b)) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9,
        _ => a == b,
    }
}

/// An axis: its name, and the fields that it sets at each of its points.
struct Axis {
    name: String,
    fields: Vec<(String, Vec<Value>)>,
}

/// All points with the table that each runs.
pub fn expand(table: &Table) -> Result<Vec<(Point, Table)>, ScenarioError> {
    let mut points = vec![(Point::default(), table.clone())];
    for axis in axes(table)? {
        let steps = axis.fields[0].1.len();
        let mut next = Vec::with_capacity(points.len() * steps);
        for (point, table) in &points {
            for step in 0..steps {
                let (mut point, mut table) = (point.clone(), table.clone());
                point.axes.push((axis.name.clone(), axis.fields[0].1[step].clone()));
                for (field, values) in &axis.fields {
                    vary(&mut table, field, &values[step])?;
                }
                next.push((point, table));
            }
        }
        points = next;
    }
    Ok(points)
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
        expand(&text.parse().unwrap())
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
        assert!(error("[[scheme]]\nname = \"y\"\n[sweep]\n\"scheme.x.k\" = [1]").contains("scheme.x.k"));
    }

    #[test]
    fn points_match_by_number() {
        let point = Point {
            axes: vec![("workload.load".to_owned(), Value::Float(0.9)), ("seed".into(), Value::Integer(1))],
        };
        let at = |text: &str| text.parse::<Table>().unwrap();
        assert!(point.matches(&at("\"workload.load\" = 0.9")));
        assert!(point.matches(&at("seed = 1.0")));
        assert!(point.matches(&Table::new()));
        assert!(!point.matches(&at("queues = 2")));
    }
}
