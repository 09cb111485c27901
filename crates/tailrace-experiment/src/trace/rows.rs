//! The rows of a table as flows.

use std::collections::BTreeMap;

use tailrace_config::ScenarioError;
use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, Time};
use tailrace_fabric::Fabric;
use tailrace_workload::{FlowSpec, flow_list};

use super::columns::{Recognised, Role};
use super::decimal::{Decimal, NoNumber};
use super::hosts::Numbering;
use super::table::{Column, Table};

/// Rows whose columns have been read.
pub struct Rows<'a> {
    table: &'a Table,
    /// The numbers of each column that has some, in bytes and picoseconds where it has a unit, and what it is called.
    numbers: BTreeMap<Role, (String, Vec<Option<Decimal>>)>,
    tasks: Option<Vec<u32>>,
    /// The earliest start.
    first: Decimal,
    pub numbering: Numbering,
}

impl<'a> Rows<'a> {
    /// Of columns whose units are found out here, where their names do not say them.
    pub fn of(
        table: &'a Table,
        columns: &mut [Recognised],
        fabric: Option<&Fabric>,
    ) -> Result<Self, ScenarioError> {
        let (mut numbers, mut tasks, mut ends) = (BTreeMap::new(), None, Vec::new());
        // In the order of roles: the source comes before the destination.
        for found in columns {
            let cells = &table.columns[found.place];
            match found.role {
                Role::Src | Role::Dst => ends.push(cells),
                Role::Task => tasks = Some(numbered(cells)),
                role => {
                    let mut values = numbers_of(cells, table)?;
                    if role.has_unit() {
                        let unit = found.unit_of(cells.unit, &values)?;
                        found.unit = Some(unit);
                        values.iter_mut().flatten().for_each(|value| *value = value.times(unit.factor));
                    }
                    numbers.insert(role, (cells.name.clone(), values));
                }
            }
        }
        let [src, dst] = ends[..] else { panic!("{} columns of ends were recognised", ends.len()) };
        let numbering = Numbering::of([src, dst], fabric);
        let numbering = numbering.map_err(|message| ScenarioError::new("", message))?;
        let starts = numbers.get(&Role::Start).map_or(&[][..], |(_, values)| values);
        let first = starts.iter().flatten().min().copied().unwrap_or_default();
        Ok(Rows { table, numbers, tasks, first, numbering })
    }

    /// The flow of a row, of whatever size and between whichever hosts.
    pub fn flow(&self, row: usize) -> Result<FlowSpec, ScenarioError> {
        let bytes = self.needed(Role::Size, row)?;
        // Segments of a flow are counted in 32 bits.
        let most = u64::from(TransportParams::default().mss) * u64::from(u32::MAX);
        let size = bytes.whole(most).ok_or_else(|| {
            self.wrong(Role::Size, row, format!("is {bytes} bytes, but must be from 0 to {most}"))
        })?;
        let start = self.time(Role::Start, row, self.needed(Role::Start, row)?.minus(self.first))?;
        let due =
            self.given(Role::Deadline, row).map(|span| self.time(Role::Deadline, row, span)).transpose()?;
        let deadline = due.map(|span| start.saturating_add(span));
        let flow_type = self.number(Role::FlowType, row, u8::MAX.into())? as u8;
        let reveals = flow_list::reveals(flow_type, deadline.is_some())
            .map_err(|message| self.wrong(Role::FlowType, row, message))?;
        let [src, dst] = self.numbering.ends(row);
        Ok(FlowSpec {
            src,
            dst,
            size: Bytes::new(size),
            start,
            deadline,
            reveals,
            class: self.number(Role::Class, row, u8::MAX.into())? as u8,
            slice: self.number(Role::Slice, row, u16::MAX.into())? as u16,
            task: self.tasks.as_ref().map_or(0, |tasks| tasks[row]),
            ..FlowSpec::default()
        })
    }

    fn given(&self, role: Role, row: usize) -> Option<Decimal> {
        self.numbers.get(&role).and_then(|(_, values)| values[row])
    }

    fn needed(&self, role: Role, row: usize) -> Result<Decimal, ScenarioError> {
        self.given(role, row).ok_or_else(|| self.wrong(role, row, "is empty".to_owned()))
    }

    /// A whole number; 0 where there is none.
    fn number(&self, role: Role, row: usize, most: u64) -> Result<u64, ScenarioError> {
        let Some(value) = self.given(role, row) else { return Ok(0) };
        let whole = value.whole(most).filter(|_| value.is_whole());
        whole.ok_or_else(|| {
            self.wrong(role, row, format!("is {value}, but must be a whole number from 0 to {most}"))
        })
    }

    fn time(&self, role: Role, row: usize, picoseconds: Decimal) -> Result<Time, ScenarioError> {
        picoseconds.whole(Time::LONGEST.as_ps()).map(Time::from_ps).ok_or_else(|| {
            self.wrong(
                role,
                row,
                format!("is not from 0 to {}, the longest run, after what it counts from", Time::LONGEST),
            )
        })
    }

    fn wrong(&self, role: Role, row: usize, message: String) -> ScenarioError {
        let name = self.numbers.get(&role).map_or(role.name(), |(name, _)| name);
        ScenarioError { line: self.table.line(row), ..ScenarioError::new(name, message) }
    }
}

/// The numbers in a column, where it has any.
fn numbers_of(column: &Column, table: &Table) -> Result<Vec<Option<Decimal>>, ScenarioError> {
    let number = |(row, text): (usize, &String)| match text.as_str() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|why: NoNumber| {
            let line = table.line(row);
            ScenarioError { line, ..ScenarioError::new(&column.name, format!("is \"{text}\", {why}")) }
        }),
    };
    column.cells.iter().enumerate().map(number).collect()
}

/// Numbers from 1 for different texts, in order of appearance; 0 for none.
fn numbered(column: &Column) -> Vec<u32> {
    let mut known = BTreeMap::new();
    let number = |text: &String| match text.as_str() {
        "" => 0,
        text => {
            let next = known.len() as u32 + 1;
            *known.entry(text.to_owned()).or_insert(next)
        }
    };
    column.cells.iter().map(number).collect()
}
