//! Dotted paths into an experiment's table, as `--set`, `[sweep]` and `[scale]` write them.
//!
//! In a list, an element is chosen by its number, by name or label, or all by `*`: `scheme.pias.params`,
//! `workload.rule.0.stop`. Where elements have no names, a field of theirs means that of each:
//! `workload.rule.load`.

use toml::{Table, Value};

/// The most parts of a path; no field is nearly as deep.
const DEEPEST: usize = 32;

/// A dotted path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    parts: Vec<String>,
}

impl Path {
    /// Reads `a.b.c`; parts may be quoted to hold dots or spaces.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = vec![String::new()];
        let mut quoted = false;
        for c in text.chars() {
            match c {
                '\'' | '"' => quoted = !quoted,
                '.' if !quoted => parts.push(String::new()),
                c => parts[..].last_mut().into_iter().for_each(|part| part.push(c)),
            }
        }
        if parts.len() > DEEPEST {
            return Err(format!("a dotted field has at most {DEEPEST} parts, not {}", parts.len()));
        }
        if quoted || parts.iter().any(String::is_empty) {
            return Err(format!("\"{text}\" is not a dotted field such as workload.load"));
        }
        Ok(Path { parts })
    }

    /// The first part.
    pub fn root(&self) -> &str {
        &self.parts[0]
    }
}

/// Sets every place that a path leads to, making the tables on the way. Fails if the path leads through
/// something that is no table, or names an element of a list that is not there.
pub fn set(table: &mut Table, path: &Path, value: &Value) -> Result<(), String> {
    for place in places(table, path, true)? {
        *place = value.clone();
    }
    Ok(())
}

/// All values that a path leads to; none if there is no such field.
pub fn get_mut<'a>(table: &'a mut Table, path: &Path) -> Result<Vec<&'a mut Value>, String> {
    // A sweep's axes are keys that may hold dots themselves.
    let axis = path.parts[1..].join(".");
    let sweep = table.get("sweep").filter(|_| path.root() == "sweep").and_then(Value::as_table);
    if sweep.is_some_and(|axes| axes.contains_key(&axis)) {
        return Ok(table.get_mut("sweep").and_then(|s| s.get_mut(&axis)).into_iter().collect());
    }
    places(table, path, false)
}

fn places<'a>(table: &'a mut Table, path: &Path, make: bool) -> Result<Vec<&'a mut Value>, String> {
    match path.parts.split_first() {
        Some((first, rest)) => in_table(table, first, rest, make),
        None => Ok(Vec::new()),
    }
}

fn in_table<'a>(
    table: &'a mut Table,
    part: &str,
    rest: &[String],
    make: bool,
) -> Result<Vec<&'a mut Value>, String> {
    if make && !table.contains_key(part) {
        table.insert(part.to_owned(), Value::Table(Table::new()));
    }
    table.get_mut(part).map_or(Ok(Vec::new()), |value| descend(value, part, rest, make))
}

/// Follows `rest` from the value of `name`.
fn descend<'a>(
    value: &'a mut Value,
    name: &str,
    rest: &[String],
    make: bool,
) -> Result<Vec<&'a mut Value>, String> {
    let Some((part, after)) = rest.split_first() else { return Ok(vec![value]) };
    match value {
        Value::Table(table) => in_table(table, part, after, make),
        Value::Array(items) => {
            let (chosen, after) = match choose(items, part, name)? {
                Some(chosen) => (chosen, after),
                None => ((0..items.len()).collect(), rest),
            };
            let elements = items.iter_mut().enumerate().filter(|(index, _)| chosen.contains(index));
            elements
                .map(|(_, item)| descend(item, name, after, make))
                .collect::<Result<Vec<_>, _>>()
                .map(|places| places.into_iter().flatten().collect())
        }
        _ if make => Err(format!("{name} is no table")),
        _ => Ok(Vec::new()),
    }
}

/// Which elements of the list `name` are meant by `part`: a number from 0, `*`, or a name or label. `None` if
/// it is a field of each of them, which have no names.
fn choose(items: &[Value], part: &str, name: &str) -> Result<Option<Vec<usize>>, String> {
    if part == "*" {
        return Ok(Some((0..items.len()).collect()));
    }
    if let Ok(number) = part.parse::<usize>() {
        return if number < items.len() {
            Ok(Some(vec![number]))
        } else {
            Err(format!("{name} has no element {number}: it has {}, counted from 0", items.len()))
        };
    }
    let is_called = |item: &Value, key| item.get(key).and_then(Value::as_str) == Some(part);
    let called: Vec<usize> =
        (0..items.len()).filter(|&i| is_called(&items[i], "name") || is_called(&items[i], "label")).collect();
    let named = items.iter().any(|item| item.get("name").is_some());
    match (called.is_empty(), named) {
        (false, _) => Ok(Some(called)),
        (true, true) => Err(format!("no {name} has the name or label \"{part}\"")),
        (true, false) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_through_new_tables_and_schemes() {
        let mut table: Table =
            "[[scheme]]\nname = \"pias\"\n[[scheme]]\nname = \"awafs\"\nlabel = \"A 2\"\n".parse().unwrap();
        let put = |table: &mut Table, path: &str, value: i64| {
            set(table, &Path::parse(path).unwrap(), &Value::Integer(value))
        };
        put(&mut table, "workload.load", 1).unwrap();
        put(&mut table, "scheme.'A 2'.params.queues", 4).unwrap();
        put(&mut table, "scheme.*.params.k", 65).unwrap();
        assert_eq!(table["workload"]["load"].as_integer(), Some(1));
        assert_eq!(table["scheme"][1]["params"]["queues"].as_integer(), Some(4));
        assert_eq!(table["scheme"][0]["params"]["k"].as_integer(), Some(65));
        assert!(put(&mut table, "scheme.nobody.params.k", 1).unwrap_err().contains("nobody"));
        assert!(put(&mut table, "workload.load.deep", 1).unwrap_err().contains("no table"));
        let path = Path::parse("scheme.awafs.params.k").unwrap();
        assert_eq!(get_mut(&mut table, &path).unwrap().len(), 1);
    }

    #[test]
    fn elements_are_chosen_by_number_or_all_together() {
        let mut table: Table =
            "[workload]\n[[workload.rule]]\nload = 0\n[[workload.rule]]\nload = 0\n".parse().unwrap();
        let put = |table: &mut Table, path: &str, value: i64| {
            set(table, &Path::parse(path).unwrap(), &Value::Integer(value))
        };
        let loads = |table: &Table| {
            let rules = table["workload"]["rule"].as_array().unwrap();
            rules.iter().map(|rule| rule["load"].as_integer().unwrap()).collect::<Vec<_>>()
        };
        put(&mut table, "workload.rule.1.load", 1).unwrap();
        assert_eq!(loads(&table), [0, 1]);
        put(&mut table, "workload.rule.load", 2).unwrap();
        assert_eq!(loads(&table), [2, 2]);
        put(&mut table, "workload.rule.*.load", 3).unwrap();
        assert_eq!(loads(&table), [3, 3]);
        assert!(put(&mut table, "workload.rule.2.load", 1).unwrap_err().contains("no element 2"));
        let nowhere = Path::parse("workload.rule.stop").unwrap();
        assert!(get_mut(&mut table, &nowhere).unwrap().is_empty());
    }

    #[test]
    fn broken_paths_are_refused() {
        for bad in ["", ".", "a..b", "a.", "'a.b"] {
            assert!(Path::parse(bad).is_err(), "{bad}");
        }
        assert!(Path::parse(&vec!["a"; 100_000].join(".")).unwrap_err().contains("at most 32 parts"));
    }
}
