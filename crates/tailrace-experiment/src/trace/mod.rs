//! Flows as other tools list them: columns of any names and units, hosts by number, name or address, in CSV or Parquet.
//! What is recognised is said, so that a user sees what was understood.

mod columns;
pub mod comparison;
mod decimal;
mod described;
mod hosts;
mod table;

use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_core::{Bytes, Time};
use tailrace_workload::{FlowSpec, flow_list};

pub use self::columns::{Mapping, Recognised, Role};
use self::decimal::Decimal;
pub use self::described::{Described, fabric_named};
use self::hosts::Numbering;
use self::table::{Column, Table};

/// Segments of a flow are counted in 32 bits.
const MOST_BYTES: u64 = 1_460 * u32::MAX as u64;

/// Flows of a file that says of each who sends how much to whom, and when.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The flows in order of start; the first starts at 0.
    pub flows: Vec<FlowSpec>,
    /// What the file calls the hosts, by their numbers.
    pub hosts: Vec<String>,
    /// What its columns are.
    pub columns: Vec<Recognised>,
    /// Columns that mean nothing to a run.
    pub unused: Vec<String>,
    /// What else a user should know of how it was read.
    pub notes: Vec<String>,
}

/// Reads a trace for a fabric of so many hosts, if that is known. Columns are what `mapping` says, else what their names say.
pub fn read(path: &Path, mapping: &[Mapping], fabric: Option<u16>) -> Result<Trace, ScenarioError> {
    let table = Table::read(path)?;
    of_table(&table, mapping, fabric).map_err(|error| error.in_file(path))
}

fn of_table(table: &Table, mapping: &[Mapping], fabric: Option<u16>) -> Result<Trace, ScenarioError> {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let columns = columns::recognise(&names, mapping)?;
    let column = |role: Role| columns.iter().find(|found| found.role == role);
    let cells = |found: &Recognised| &table.columns[found.place];
    let of = |role: Role| column(role).map(|found| (found, cells(found)));
    let needed = |role: Role| of(role).expect("recognise() has found it");

    let mut columns_as_read = columns.clone();
    let mut numbers = |role: Role| -> Result<Option<Vec<Option<Decimal>>>, ScenarioError> {
        let Some((found, cells)) = of(role) else { return Ok(None) };
        let values = numbers_of(found, cells, table)?;
        let unit = columns::unit_of(found, cells.unit, &values)?;
        let place = columns_as_read.iter_mut().find(|column| column.role == role);
        place.expect("it was found among these").unit = Some(unit);
        let scaled = |value: Decimal| value.times(unit.factor);
        Ok(Some(values.into_iter().map(|value| value.map(scaled)).collect()))
    };
    let start = numbers(Role::Start)?.unwrap_or_default();
    let size = numbers(Role::Size)?.unwrap_or_default();
    let deadline = numbers(Role::Deadline)?;
    let whole = |role: Role| -> Result<Option<Vec<Option<Decimal>>>, ScenarioError> {
        of(role).map(|(found, cells)| numbers_of(found, cells, table)).transpose()
    };
    let (class, slice, flow_type) = (whole(Role::Class)?, whole(Role::Slice)?, whole(Role::FlowType)?);
    let task = of(Role::Task).map(|(_, cells)| numbered(cells));

    let ends = [needed(Role::Src).1, needed(Role::Dst).1];
    let numbering = Numbering::of(ends, fabric).map_err(|message| ScenarioError::new("", message))?;
    let first = start.iter().flatten().min().copied().unwrap_or_default();
    let mut notes = numbering.notes(fabric);
    let (mut empty, mut own) = (0, 0);
    let mut flows = Vec::with_capacity(table.rows);
    for row in 0..table.rows {
        let wrong = |role: Role, message: String| {
            let name = column(role).map_or_else(|| role.name().to_owned(), |found| found.name.clone());
            ScenarioError { line: table.line(row), ..ScenarioError::new(name, message) }
        };
        let given = |role: Role, values: &[Option<Decimal>]| {
            values[row].ok_or_else(|| wrong(role, "is empty".to_owned()))
        };
        let bytes = given(Role::Size, &size)?;
        let bytes = bytes.whole(MOST_BYTES).ok_or_else(|| {
            wrong(Role::Size, format!("is {bytes} bytes, but must be from 0 to {MOST_BYTES}"))
        })?;
        let time = |role, at: Decimal, from: Decimal| {
            at.minus(from).whole(Time::LONGEST.as_ps()).map(Time::from_ps).ok_or_else(|| {
                wrong(role, format!("is after more than {}, longer than any run", Time::LONGEST))
            })
        };
        let begins = time(Role::Start, given(Role::Start, &start)?, first)?;
        let small = |role: Role, values: &Option<Vec<Option<Decimal>>>, most: u64| match values {
            None => Ok(0),
            Some(values) => match values[row] {
                None => Ok(0),
                Some(value) => value.whole(most).ok_or_else(|| {
                    wrong(role, format!("is {value}, but must be a whole number from 0 to {most}"))
                }),
            },
        };
        let due = match deadline.as_ref().and_then(|values| values[row]) {
            None => None,
            Some(span) => Some(begins.saturating_add(time(Role::Deadline, span, Decimal::default())?)),
        };
        let flow_type = small(Role::FlowType, &flow_type, 255)? as u8;
        let reveals =
            flow_list::reveals(flow_type, due.is_some()).map_err(|message| wrong(Role::FlowType, message))?;
        let [src, dst] = numbering.ends(row);
        // Neither has anything to send over the fabric.
        empty += usize::from(bytes == 0);
        own += usize::from(bytes > 0 && src == dst);
        if bytes == 0 || src == dst {
            continue;
        }
        flows.push(FlowSpec {
            src,
            dst,
            size: Bytes::new(bytes),
            start: begins,
            deadline: due,
            reveals,
            class: small(Role::Class, &class, u8::MAX.into())? as u8,
            slice: small(Role::Slice, &slice, u16::MAX.into())? as u16,
            task: task.as_ref().map_or(0, |tasks| tasks[row]),
            ..FlowSpec::default()
        });
    }
    if !flows.is_sorted_by_key(|flow| flow.start) {
        flows.sort_by_key(|flow| flow.start);
        notes.push("rows are not in order of start: they were put into it".to_owned());
    }
    let left_out = [(empty, "have no bytes"), (own, "stay on their host")];
    notes.extend(
        left_out
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{count} of {} flows {why}: they were left out", table.rows)),
    );
    if flows.is_empty() {
        return Err(ScenarioError::new("", "has no flow that crosses the network"));
    }
    // The first that is left may not be the first that there was.
    let shift = flows[0].start;
    for flow in &mut flows {
        flow.start = flow.start.saturating_sub(shift);
        flow.deadline = flow.deadline.map(|at| at.saturating_sub(shift));
    }
    let unused = |column: &&Column| !columns.iter().any(|found| found.name == column.name);
    let unused = table.columns.iter().filter(unused).map(|column| column.name.clone()).collect();
    Ok(Trace { flows, hosts: numbering.names(), columns: columns_as_read, unused, notes })
}

/// The numbers in a column, where it has any.
fn numbers_of(
    found: &Recognised,
    cells: &Column,
    table: &Table,
) -> Result<Vec<Option<Decimal>>, ScenarioError> {
    let number = |(row, text): (usize, &String)| match text.as_str() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|why: decimal::NoNumber| {
            let line = table.line(row);
            ScenarioError { line, ..ScenarioError::new(&found.name, format!("is \"{text}\", {why}")) }
        }),
    };
    cells.cells.iter().enumerate().map(number).collect()
}

/// Numbers from 1 for different texts, in order of appearance; 0 for none.
fn numbered(cells: &Column) -> Vec<u32> {
    let mut known = std::collections::BTreeMap::new();
    let number = |text: &String| match text.as_str() {
        "" => 0,
        text => {
            let next = known.len() as u32 + 1;
            *known.entry(text.to_owned()).or_insert(next)
        }
    };
    cells.cells.iter().map(number).collect()
}

#[cfg(test)]
mod tests;
