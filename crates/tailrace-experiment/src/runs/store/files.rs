//! The files of a run.

use std::path::Path;

use super::sums::{Hashing, Sums};
use crate::error::Error;
use crate::output::columns::{columns_of, described};
use crate::output::files::{encode_parquet, write_whole, write_whole_by};
use crate::output::pieces::Pieces;
use crate::runs::run::RunResult;

/// Writes a run's files into a folder that is there, on up to so many threads.
pub(super) fn write_files(dir: &Path, result: &RunResult, threads: usize) -> Result<Sums, Error> {
    let mut sums = Sums::default();
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
        write_table(dir, (name, table), &about, &mut sums, threads)?;
    }
    let summary = serde_json::to_string_pretty(&result.summary);
    let summary = summary.map_err(|e| Error::storage(&dir.join("summary.json"), e))? + "\n";
    for (name, text) in [("scenario.toml", &result.scenario), ("summary.json", &summary)] {
        write_whole(&dir.join(name), text.as_bytes())?;
        sums.add(name, text.as_bytes());
    }
    Ok(sums)
}

/// Writes a table, and notes the checksum of its file.
fn write_table(
    dir: &Path,
    (name, table): (&str, &Pieces),
    about: &[(&str, &str)],
    sums: &mut Sums,
    threads: usize,
) -> Result<(), Error> {
    let file_name = format!("{name}.parquet");
    write_whole_by(&dir.join(&file_name), |file| {
        let mut hashing = Hashing::new(file);
        let piece = |number| described(name, &table.piece(number));
        let schema = described(name, &table.columns()).schema();
        let pieces = if table.rows() == 0 { 0 } else { table.count() };
        encode_parquet(&mut hashing, schema, pieces, piece, columns_of(name), about, threads)?;
        sums.add_written(&file_name, hashing);
        Ok(())
    })
}

/// The seed of a resolved scenario.
fn seed(scenario: &str) -> String {
    let table: toml::Table = scenario.parse().unwrap_or_default();
    table.get("seed").map(ToString::to_string).unwrap_or_default()
}
