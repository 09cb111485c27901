//! Flow lists as files: CSV and Parquet, read and written, so that the same flows can be run elsewhere.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt8Array, UInt16Array, UInt32Array, UInt64Array};
use arrow_schema::DataType;
use tailrace_config::ScenarioError;
use tailrace_core::{Bytes, HostId, Time};
use tailrace_scenario::Scenario;
use tailrace_workload::feed::{Feed, FlowSource};
use tailrace_workload::flow_list::{columns, reveals, write_csv};
use tailrace_workload::{Deadlines, FlowSpec, InputFile, Offered, Rule};

use crate::error::Error;
use crate::output::files::{read_parquet, write_parquet, write_whole};

/// The flows of a scenario, in order of start.
pub fn flows(scenario: &Scenario) -> Result<Feed, Error> {
    let is_parquet = |list: &&InputFile| list.path.extension().is_some_and(|ending| ending == "parquet");
    let Some(list) = scenario.workload.flow_list.as_ref().filter(is_parquet) else {
        return Ok(tailrace_run::feed(scenario)?);
    };
    let path = scenario.base.join(&list.path);
    let setting = scenario.setting();
    let flows =
        read_flows(&path, setting.hosts, &scenario.workload.flow_list_extra).map_err(|e| e.in_file(&path))?;
    let source = FlowSource::from_records(flows, &setting).map_err(|e| e.in_file(&path))?;
    Ok(source.limited(scenario.workload.flows, scenario.workload.duration).into())
}

/// Reads what the flow list offers, if the scenario has one.
pub fn read_offered(scenario: &mut Scenario) -> Result<(), ScenarioError> {
    if scenario.workload.flow_list.is_none() {
        return Ok(());
    }
    let flows: Vec<FlowSpec> = match flows(scenario) {
        Ok(flows) => flows.collect(),
        Err(Error::Input(error)) => return Err(error),
        Err(error) => return Err(ScenarioError::new("workload.flow_list", error.to_string())),
    };
    scenario.workload.offered = Offered::of(&flows, &scenario.fabric.build(), scenario.transport.mss);
    Ok(())
}

/// The flows of a scenario, to be run elsewhere. Refused where the run itself decides about deadlines, or when
/// flows start.
pub fn exported_flows(scenario: &Scenario) -> Result<Feed, Error> {
    let observed = |rule: &Rule| matches!(rule.deadline, Some(Deadlines::Gamma(gamma)) if gamma.observed);
    let rules = &scenario.workload.rules;
    if let Some(number) = rules.iter().position(observed) {
        let rule = if rules.len() > 1 { format!("rule[{number}].") } else { String::new() };
        let message = "is true: which flows get deadlines then depends on the scheme, so that there is no list of \
                       them before the run; with observed = false deadlines are planned, and all schemes see the same \
                       flows";
        return Err(ScenarioError::new(format!("workload.{rule}deadline.gamma.observed"), message).into());
    }
    if let Some(number) = scenario.plan()?.staged_tasks() {
        let message = "has several stages: when its later flows start depends on the scheme, so that there is no list \
                       of them before the run; give a workflow of one stage";
        return Err(ScenarioError::new(format!("workload.task[{number}].workflow"), message).into());
    }
    flows(scenario)
}

/// Writes a flow list, all or nothing; the file's ending chooses CSV or Parquet.
pub fn write_flows(path: &Path, flows: Feed) -> Result<(), Error> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("csv") => {
            let mut text = Vec::new();
            write_csv(flows, &mut text).map_err(|e| Error::storage(path, e))?;
            write_whole(path, &text)
        }
        Some("parquet") => write_parquet(path, &table(&flows.collect::<Vec<_>>())),
        _ => {
            let message = format!("{} must end in .csv or .parquet", path.display());
            Err(ScenarioError::new("--out", message).into())
        }
    }
}

fn table(flows: &[FlowSpec]) -> RecordBatch {
    let ns = |time: Time| time.as_ps() as f64 / 1e3;
    let deadline = |f: &FlowSpec| f.deadline.map(|d| ns(d.saturating_sub(f.start)));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("src", Arc::new(UInt32Array::from_iter_values(flows.iter().map(|f| f.src)))),
        ("dst", Arc::new(UInt32Array::from_iter_values(flows.iter().map(|f| f.dst)))),
        ("size_bytes", Arc::new(UInt64Array::from_iter_values(flows.iter().map(|f| f.size.get())))),
        ("start_ns", Arc::new(Float64Array::from_iter_values(flows.iter().map(|f| ns(f.start))))),
        ("deadline_ns", Arc::new(Float64Array::from_iter(flows.iter().map(deadline)))),
        ("class", Arc::new(UInt8Array::from_iter_values(flows.iter().map(|f| f.class)))),
        ("slice", Arc::new(UInt16Array::from_iter_values(flows.iter().map(|f| f.slice)))),
        ("task", Arc::new(UInt32Array::from_iter_values(flows.iter().map(|f| f.task)))),
        ("flow_type", Arc::new(UInt8Array::from_iter_values(flows.iter().map(|f| f.reveals.flow_type())))),
    ];
    match RecordBatch::try_from_iter(columns) {
        Ok(batch) => batch,
        Err(error) => panic!("columns of a flow list differ in length: {error}"),
    }
}

/// Reads a Parquet flow list with the columns of the CSV form, in any numeric types.
fn read_flows(path: &Path, hosts: u32, extra: &[String]) -> Result<Vec<FlowSpec>, ScenarioError> {
    let unreadable = |e: Error| ScenarioError::new("", e.to_string());
    let mut flows = Vec::new();
    for batch in read_parquet(path).map_err(unreadable)? {
        let schema = batch.schema();
        columns(schema.fields().iter().map(|field| field.name().as_str()), extra)
            .map_err(|message| ScenarioError::new("", message))?;
        let column = |name: &str| numbers(&batch, name);
        let needed = |name: &str| match column(name) {
            Ok(None) => panic!("column {name} was found to be there and is not"),
            Ok(Some(values)) => Ok(values),
            Err(error) => Err(error),
        };
        let (src, dst, size, start) =
            (needed("src")?, needed("dst")?, needed("size_bytes")?, needed("start_ns")?);
        let (deadline, class) = (column("deadline_ns")?, column("class")?);
        let (slice, task, types) = (column("slice")?, column("task")?, column("flow_type")?);
        for row in 0..batch.num_rows() {
            let line = flows.len();
            let whole = |name: &str, values: &[Option<f64>], max: f64| match values[row] {
                Some(v) if v >= 0.0 && v <= max && v.fract() == 0.0 => Ok(v as u64),
                v => Err(ScenarioError::new(
                    name,
                    format!("row {line}: {} must be a whole number from 0 to {max}", shown(v)),
                )),
            };
            let optional = |name: &str, values: &Option<Vec<Option<f64>>>, max: f64| match values {
                Some(values) if values[row].is_some() => whole(name, values, max),
                _ => Ok(0),
            };
            let time = |name: &str, values: &[Option<f64>]| match values[row] {
                Some(v) if (0.0..1e15).contains(&v) => Ok(Time::from_ps((v * 1e3).round() as u64)),
                v => Err(ScenarioError::new(name, format!("row {line}: {} must be a time in ns", shown(v)))),
            };
            let start = time("start_ns", &start)?;
            let last_host = f64::from(hosts) - 1.0;
            let deadline = match &deadline {
                Some(values) if values[row].is_some() => Some(start + time("deadline_ns", values)?),
                _ => None,
            };
            let flow_type = optional("flow_type", &types, 255.0)? as u8;
            let told = reveals(flow_type, deadline.is_some());
            flows.push(FlowSpec {
                src: whole("src", &src, last_host)? as HostId,
                dst: whole("dst", &dst, last_host)? as HostId,
                size: Bytes::new(whole("size_bytes", &size, 9e15)?),
                start,
                deadline,
                reveals: told.map_err(|m| ScenarioError::new("flow_type", format!("row {line}: {m}")))?,
                controlled: false,
                class: optional("class", &class, 255.0)? as u8,
                slice: optional("slice", &slice, 65_535.0)? as u16,
                task: optional("task", &task, f64::from(u32::MAX))? as u32,
                ..FlowSpec::default()
            });
        }
    }
    Ok(flows)
}

fn shown(value: Option<f64>) -> String {
    value.map_or("nothing".into(), |value| value.to_string())
}

/// A column as floats, whatever numeric type it has; exact for whole numbers up to 2⁵³.
#[expect(clippy::cast_lossless, reason = "one macro serves types that fit and types that do not")]
fn numbers(batch: &RecordBatch, name: &str) -> Result<Option<Vec<Option<f64>>>, ScenarioError> {
    let Some(column) = batch.column_by_name(name) else { return Ok(None) };
    let wrong =
        || ScenarioError::new(name, format!("has type {}, but must hold numbers", column.data_type()));
    macro_rules! floats {
        ($type:ty) => {
            column.as_primitive::<$type>().iter().map(|v| v.map(|v| v as f64)).collect()
        };
    }
    use arrow_array::types::{
        Float32Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    };
    Ok(Some(match column.data_type() {
        DataType::UInt8 => floats!(UInt8Type),
        DataType::UInt16 => floats!(UInt16Type),
        DataType::UInt32 => floats!(UInt32Type),
        DataType::UInt64 => floats!(UInt64Type),
        DataType::Int16 => floats!(Int16Type),
        DataType::Int32 => floats!(Int32Type),
        DataType::Int64 => floats!(Int64Type),
        DataType::Float32 => floats!(Float32Type),
        DataType::Float64 => floats!(Float64Type),
        _ => return Err(wrong()),
    }))
}
