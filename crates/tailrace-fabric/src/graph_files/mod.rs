//! Graphs that stand in files of their own: which format a file has, and the table that it amounts to.

mod drawn;
mod gml;
mod graphml;
mod lists;
#[cfg(test)]
mod tests;
mod tiers;

use std::path::Path;

use tailrace_config::{ScenarioError, read_text};
use toml::{Table, Value};

use self::drawn::Drawn;
use super::FabricParams;
use super::graph::{FileFields, Units};

/// Replaces `file` in `[fabric]`, if it is there, by what the file says; names of files are relative to `base`.
pub fn read_files(fabric: &mut Table, base: &Path) -> Result<(), ScenarioError> {
    if !fabric.contains_key("file") {
        return Ok(());
    }
    match fabric.get("kind").and_then(Value::as_str) {
        Some("graph") => {}
        _ => return Err(ScenarioError::new("file", "is there for kind = \"graph\" only")),
    }
    if let Some(field) = ["hosts", "switches", "link"].into_iter().find(|field| fabric.contains_key(*field)) {
        return Err(ScenarioError::new(field, "stands beside file: give the graph here or there"));
    }
    let FileFields { file, units, .. } = FileFields::of(fabric)?;
    let graph = table_of_file(&base.join(file.unwrap_or_default()), units)?;
    fabric.remove("file");
    fabric.remove("units");
    fabric.extend(graph);
    Ok(())
}

/// The fields of `[fabric]` that a graph's file amounts to, without `kind`.
fn table_of_file(path: &Path, units: Units) -> Result<Table, ScenarioError> {
    let text = read_text(path)
        .map_err(|error| ScenarioError::new("", format!("cannot be read: {error}")).in_file(path))?;
    graph_of_text(&text, units.rate, units.delay).map_err(|error| error.in_file(path))
}

/// The fields of `[fabric]` that the text of a file amounts to, without `kind`, if numbers in it that have no unit are
/// in these.
pub fn graph_of_text(
    text: &str,
    rate_unit: Option<String>,
    delay_unit: Option<String>,
) -> Result<Table, ScenarioError> {
    let drawn = drawn(text)?;
    let lines: Vec<Option<usize>> = drawn.links.iter().map(|link| link.line).collect();
    let directed = drawn.directed;
    let mut fields = drawn.table(&Units { rate: rate_unit, delay: delay_unit })?;
    // What is wrong with the graph is said of its file; a rate may still come from [fabric].
    let mut whole = fields.clone();
    for (field, value) in [("kind", "graph"), ("rate", "1Gbps")] {
        whole.insert(field.to_owned(), Value::String(value.to_owned()));
    }
    match FabricParams::from_table(&whole) {
        Ok(params) => {
            // In the order of their numbers.
            fields.extend(params.to_table().remove_entry("hosts"));
            Ok(fields)
        }
        Err(error) => {
            let link = error
                .field
                .strip_prefix("link[")
                .and_then(|rest| rest.split(']').next()?.parse::<usize>().ok());
            let line = link.filter(|_| !directed).and_then(|link| lines.get(link).copied().flatten());
            Err(ScenarioError { line, ..error })
        }
    }
}

/// What the text of a file draws, by what it begins with.
fn drawn(text: &str) -> Result<Drawn, ScenarioError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let Some(first) = lines.next() else {
        return Err(ScenarioError::new("", "is empty: it must hold a graph"));
    };
    let first_word = first.split_whitespace().next().unwrap_or_default().to_lowercase();
    let numbers = |line: &str| line.split_whitespace().all(|word| word.parse::<u64>().is_ok());
    if first.starts_with('<') {
        graphml::read(text)
    } else if text.contains("graph") && text.contains('[') && !first.contains(',') {
        gml::read(text)
    } else if first_word == "nodes" {
        tiers::read(text)
    } else if numbers(first) && first.split_whitespace().count() == 3 && lines.next().is_some_and(numbers) {
        lists::topology(text)
    } else {
        lists::links(text)
    }
}
