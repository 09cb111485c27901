//! Dotted paths into an experiment's table, as `--set`, `[sweep]` and `[scale]` write them.
//!
//! `scheme.X.…` means every scheme whose name or label is X; `scheme.*.…` means all of them.

use toml::{Table, Value};

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

/// Sets a field, making the tables on the way. Fails if the path leads through something that is no
/// table, or names a scheme that is not there.
pub fn set(table: &mut Table, path: &Path, value: &Value) -> Result<(), String> {
    let (last, way) = path.parts.split_last().ok_or("an empty field")?;
    let mut places = vec![table];
    for part in way {
        let mut next = Vec::new();
        for place in places {
            let entry = place.entry(part.clone()).or_insert_with(|| Value::Table(Table::new()));
            match entry {
                Value::Table(inner) => next.push(inner),
                Value::Array(items) => next.extend(items.iter_mut().filter_map(Value::as_table_mut)),
                _ => return Err(format!("{part} is no table")),
            }
        }
        places = next;
        if part == "scheme" {
            return set_in_schemes(places, &path.parts[1..], value);
        }
    }
    places.into_iter().for_each(|place| {
        place.insert(last.clone(), value.clone());
    });
    Ok(())
}

fn set_in_schemes(schemes: Vec<&mut Table>, rest: &[String], value: &Value) -> Result<(), String> {
    let [which, inner @ ..] = rest else { return Err("scheme.NAME.FIELD is expected".into()) };
    if inner.is_empty() {
        return Err("scheme.NAME.FIELD is expected".into());
    }
    let inner = Path { parts: inner.to_vec() };
    let mut found = false;
    for scheme in schemes.into_iter().filter(|scheme| is_called(scheme, which)) {
        set(scheme, &inner, value)?;
        found = true;
    }
    if found { Ok(()) } else { Err(format!("no scheme has the name or label \"{which}\"")) }
}

fn is_called(scheme: &Table, which: &str) -> bool {
    let is = |key: &str| scheme.get(key).and_then(Value::as_str) == Some(which);
    which == "*" || is("name") || is("label")
}

/// All values that a path leads to; schemes are chosen as in [`set`].
pub fn get_mut<'a>(table: &'a mut Table, path: &Path) -> Vec<&'a mut Value> {
    fn descend<'a>(value: &'a mut Value, rest: &[String]) -> Vec<&'a mut Value> {
        let Some((part, rest)) = rest.split_first() else { return vec![value] };
        match value {
            Value::Table(table) => table.get_mut(part).map(|v| descend(v, rest)).unwrap_or_default(),
            Value::Array(items) => items
                .iter_mut()
                .enumerate()
                .filter(|(index, item)| {
                    part == "*"
                        || part.parse() == Ok(*index)
                        || item.as_table().is_some_and(|t| is_called(t, part))
                })
                .flat_map(|(_, item)| descend(item, rest))
                .collect(),
            _ => Vec::new(),
        }
    }
    let Some((first, rest)) = path.parts.split_first() else { return Vec::new() };
    // A sweep's axes are keys that may hold dots themselves.
    if let (true, Some(axes)) = (first == "sweep", table.get("sweep").and_then(Value::as_table)) {
        let axis = rest.join(".");
        if axes.contains_key(&axis) {
            return table.get_mut("sweep").and_then(|s| s.get_mut(&axis)).into_iter().collect();
        }
    }
    table.get_mut(first).map(|value| descend(value, rest)).unwrap_or_default()
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
        assert_eq!(get_mut(&mut table, &path).len(), 1);
    }

    #[test]
    fn broken_paths_are_refused() {
        for bad in ["", ".", "a..b", "a.", "'a.b"] {
            assert!(Path::parse(bad).is_err(), "{bad}");
        }
    }
}
