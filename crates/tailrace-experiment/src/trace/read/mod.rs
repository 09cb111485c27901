//! From a file to flows.

use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_core::Bytes;
use tailrace_fabric::Fabric;
use tailrace_workload::FlowSpec;

use crate::trace::capture::of_capture;
use crate::trace::columns::{self, Mapping, Recognised};
use crate::trace::rows::Rows;
use crate::trace::table::Table;

/// Flows of a file that says of each who sends how much to whom, and when.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The flows in order of start; the first starts at 0.
    pub flows: Vec<FlowSpec>,
    /// The line of each flow, if the file has lines.
    pub lines: Vec<Option<usize>>,
    /// What the file calls the hosts, by their numbers.
    pub hosts: Vec<String>,
    /// What its columns are.
    pub columns: Vec<Recognised>,
    /// Columns that mean nothing to a run.
    pub unused: Vec<String>,
    /// What else a user should know of how it was read.
    pub notes: Vec<String>,
}

/// Reads a trace for a fabric, if that is known. Columns are what `mapping` says, else what their names say.
pub fn read(path: &Path, mapping: &[Mapping], fabric: Option<&Fabric>) -> Result<Trace, ScenarioError> {
    let table = match path.extension().and_then(|ending| ending.to_str()) {
        Some("pcap" | "pcapng" | "cap") => of_capture(path)?,
        _ => Table::read(path)?,
    };
    of_table(&table, mapping, fabric).map_err(|error| error.in_file(path))
}

fn of_table(table: &Table, mapping: &[Mapping], fabric: Option<&Fabric>) -> Result<Trace, ScenarioError> {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let mut columns = columns::recognise(&names, mapping)?;
    let unused: Vec<String> = (0..names.len())
        .filter(|place| !columns.iter().any(|found| found.place == *place))
        .map(|place| names[place].to_owned())
        .collect();
    check_types(table, &columns)?;
    let rows = Rows::of(table, &mut columns, fabric)?;
    let mut notes = table.notes.clone();
    notes.extend(rows.numbering.notes(fabric));
    let (mut flows, mut empty, mut own) = (Vec::with_capacity(table.rows), 0, 0);
    for row in 0..table.rows {
        let flow = rows.flow(row)?;
        // Neither of these has anything to send over the fabric.
        if flow.size == Bytes::ZERO {
            empty += 1;
        } else if flow.src == flow.dst {
            own += 1;
        } else {
            flows.push((flow, table.line(row)));
        }
    }
    if flows.is_empty() {
        return Err(ScenarioError::new("", "has no flow that crosses the network"));
    }
    if !flows.is_sorted_by_key(|(flow, _)| flow.start) {
        flows.sort_by_key(|(flow, _)| flow.start);
        notes.push("rows are not in order of start: they were put into it".to_owned());
    }
    for (count, why) in [(empty, "have no bytes"), (own, "stay on their host")] {
        if count > 0 {
            notes.push(format!("{count} of {} flows {why}: they were left out", table.rows));
        }
    }
    // The first that is left may not be the first that there was.
    let (mut flows, lines): (Vec<FlowSpec>, Vec<Option<usize>>) = flows.into_iter().unzip();
    let shift = flows[0].start;
    for flow in &mut flows {
        flow.start = flow.start.saturating_sub(shift);
        flow.deadline = flow.deadline.map(|at| at.saturating_sub(shift));
    }
    let hosts = rows.numbering.names();
    Ok(Trace { flows, lines, hosts, columns, unused, notes })
}

/// Columns that are needed have values that a trace can have.
fn check_types(table: &Table, columns: &[Recognised]) -> Result<(), ScenarioError> {
    for found in columns {
        if let Some(of) = &table.columns[found.place].unreadable {
            let message = format!("has the type {of}: write it as numbers or as text");
            return Err(ScenarioError::new(&found.name, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
