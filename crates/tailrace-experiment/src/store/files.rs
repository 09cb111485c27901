//! The files of a run.

use std::path::Path;

use super::sums::Sums;
use crate::columns::described;
use crate::error::Error;
use crate::files::{parquet_about, write_whole};
use crate::run::RunResult;

/// Writes a run's files into a folder that is there.
pub(super) fn write_files(dir: &Path, result: &RunResult) -> Result<Sums, Error> {
    let mut sums = Sums::default();
    let mut write = |name: &str, content: &[u8]| {
        sums.add(name, content);
        write_whole(&dir.join(name), content)
    };
    let tables = [("flows", &result.flows), ("ports", &result.ports), ("series", &result.series)];
    let others = [("tasks", &result.tasks), ("lag", &result.lag)];
    let others = others.into_iter().filter_map(|(name, table)| Some((name, table.as_ref()?)));
    let seed = seed(&result.scenario);
    let about = [
        ("tailrace.scheme", result.summary.scheme.as_str()),
        ("tailrace.seed", seed.as_str()),
        ("tailrace.scenario", result.scenario.as_str()),
    ];
    for (name, table) in tables.into_iter().chain(others) {
        let (table, name) = (described(name, table), format!("{name}.parquet"));
        write(&name, &parquet_about(&dir.join(&name), &table, &about)?)?;
    }
    write("scenario.toml", result.scenario.as_bytes())?;
    let summary = serde_json::to_string_pretty(&result.summary);
    let summary = summary.map_err(|e| Error::storage(&dir.join("summary.json"), e))?;
    write("summary.json", (summary + "\n").as_bytes())?;
    Ok(sums)
}

/// The seed of a resolved scenario.
fn seed(scenario: &str) -> String {
    let table: toml::Table = scenario.parse().unwrap_or_default();
    table.get("seed").map(ToString::to_string).unwrap_or_default()
}
