//! Puts together what is finished of an experiment, from the folder of its results alone.

use std::collections::BTreeMap;
use std::path::Path;

use crate::claims::stop::{Needed, Stop};
use crate::error::Error;
use crate::experiment::file::Own;
use crate::experiment::plan_table::{self, Entry};
use crate::experiment::summary;
use crate::runs::results::Results;
use crate::runs::store::{Kept, Store};

/// An experiment of which any number of runs are finished.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// One line from the experiment's file.
    pub title: String,
    /// The scale that it was run at.
    pub scale: f64,
    /// Names of the sweep's axes.
    pub axes: Vec<String>,
    /// The runs that are finished, whoever made them.
    pub results: Results,
    /// Those that are not.
    pub missing: Vec<Entry>,
}

/// Writes the summary of the runs that are finished in `dir`, and judges the claims by them. `note` hears of runs that
/// are damaged, which count as missing.
pub fn gather(dir: &Path, note: &mut dyn FnMut(&str)) -> Result<Gathered, Error> {
    let (gathered, store, own) = read(dir, note)?;
    summary::write(&store, &gathered.axes, &own.claim, &gathered.results)?;
    Ok(gathered)
}

/// The same without a summary.
pub fn look(dir: &Path, note: &mut dyn FnMut(&str)) -> Result<Gathered, Error> {
    read(dir, note).map(|(gathered, ..)| gathered)
}

fn read(dir: &Path, note: &mut dyn FnMut(&str)) -> Result<(Gathered, Store, Own), Error> {
    let (experiment, entries) = plan_table::read(dir)?;
    let own = Own::of(&experiment)?;
    let axes = entries.first().map(|entry| entry.point.names()).unwrap_or_default();
    let store = Store::reopen(dir, note)?;
    let scaled = experiment.get("scaled").and_then(|scaled| scaled.get("scale"));
    let scale = scaled.and_then(toml::Value::as_float).unwrap_or(1.0);
    let mut found = BTreeMap::new();
    for (run, entry) in entries.iter().enumerate() {
        match store.kept(&entry.key) {
            Kept::Whole(summary) => {
                found.insert(run, entry.finished(&store, *summary, true));
            }
            Kept::Damaged(what) => note(&format!("{what}; the run counts as missing")),
            Kept::Nothing => {}
        }
    }
    let stop = Stop::read(&experiment, entries.iter().map(|entry| &entry.point), scale)?;
    let needed = Needed::of(stop.as_ref(), entries.iter().map(|entry| &entry.point), &found);
    let missing: Vec<Entry> = needed.missing.iter().map(|run| entries[*run].clone()).collect();
    let results = Results { runs: needed.runs.iter().filter_map(|run| found.remove(run)).collect() };
    if results.runs.is_empty() {
        let message = format!("none of its {} runs is finished", missing.len());
        return Err(Error::Storage { path: dir.to_owned(), message });
    }
    Ok((Gathered { title: own.title.clone(), scale, axes, results, missing }, store, own))
}
