//! Results as Arrow tables. Column names end with their unit.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use tailrace_core::{FlowRecord, Lag, PortCounts, RealTime, Series, SeriesSource, TaskRecord, Time};
use tailrace_fabric::Fabric;
use tailrace_fluid::{Model, Trajectory};

use crate::output::columns::described;

fn ns(time: Time) -> f64 {
    time.as_ps() as f64 / 1e3
}

/// A table of that name.
fn batch(name: &str, columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    match RecordBatch::try_from_iter(columns) {
        Ok(batch) => described(name, &batch),
        Err(error) => panic!("columns of one table differ in length: {error}"),
    }
}

/// Columns of [`flows`] that hold numbers.
pub const FLOW_COLUMNS: [&str; 15] = [
    "flow",
    "src",
    "dst",
    "size_bytes",
    "start_ns",
    "fct_ns",
    "ideal_ns",
    "slowdown",
    "retransmitted_bytes",
    "timeouts",
    "class",
    "slice",
    "task",
    "deadline_ns",
    "flow_type",
];

/// Columns of [`tasks`], which all hold numbers.
pub const TASK_COLUMNS: [&str; 7] = ["task", "start_ns", "tct_ns", "size_bytes", "flows", "class", "slice"];

/// One row a flow: `flow, src, dst, size_bytes, start_ns, fct_ns` (null if unfinished)`, ideal_ns, slowdown,
/// retransmitted_bytes, timeouts, class, slice, task, deadline_ns` (relative to the start, null if none)`,
/// stopped` (given up by its sender)`, flow_type` (as in flow lists). `ideals` has the ideal completion time of each.
pub fn flows(records: &[FlowRecord], ideals: &[Time]) -> RecordBatch {
    let ideal: Vec<f64> = ideals.iter().copied().map(ns).collect();
    let fct: Vec<Option<f64>> = records.iter().map(|r| r.fct().map(ns)).collect();
    let slowdown = fct.iter().zip(&ideal).map(|(fct, ideal)| fct.map(|fct| fct / ideal));
    let deadline = |r: &FlowRecord| (r.deadline != Time::MAX).then(|| ns(r.deadline.saturating_sub(r.start)));
    batch(
        "flows",
        vec![
            ("flow", Arc::new(UInt32Array::from_iter_values(records.iter().map(|r| r.id)))),
            ("src", Arc::new(UInt32Array::from_iter_values(records.iter().map(|r| r.src)))),
            ("dst", Arc::new(UInt32Array::from_iter_values(records.iter().map(|r| r.dst)))),
            ("size_bytes", Arc::new(UInt64Array::from_iter_values(records.iter().map(|r| r.size.get())))),
            ("start_ns", Arc::new(Float64Array::from_iter_values(records.iter().map(|r| ns(r.start))))),
            ("fct_ns", Arc::new(Float64Array::from_iter(fct.iter().copied()))),
            ("ideal_ns", Arc::new(Float64Array::from_iter_values(ideal.iter().copied()))),
            ("slowdown", Arc::new(Float64Array::from_iter(slowdown))),
            (
                "retransmitted_bytes",
                Arc::new(UInt32Array::from_iter_values(records.iter().map(|r| r.retransmitted))),
            ),
            ("timeouts", Arc::new(UInt16Array::from_iter_values(records.iter().map(|r| r.timeouts)))),
            ("class", Arc::new(UInt8Array::from_iter_values(records.iter().map(|r| r.class)))),
            ("slice", Arc::new(UInt16Array::from_iter_values(records.iter().map(|r| r.slice)))),
            ("task", Arc::new(UInt32Array::from_iter_values(records.iter().map(|r| r.task)))),
            ("deadline_ns", Arc::new(Float64Array::from_iter(records.iter().map(deadline)))),
            ("stopped", Arc::new(BooleanArray::from_iter(records.iter().map(|r| Some(r.stopped))))),
            (
                "flow_type",
                Arc::new(UInt8Array::from_iter_values(records.iter().map(|r| r.reveals.flow_type()))),
            ),
        ],
    )
}

/// One row a task that arrived: `task, start_ns, tct_ns` (null if unfinished)`, size_bytes, flows` (both over all
/// stages)`, class, slice`.
pub fn tasks(records: &[TaskRecord]) -> RecordBatch {
    batch(
        "tasks",
        vec![
            ("task", Arc::new(UInt32Array::from_iter_values(records.iter().map(|r| r.id)))),
            ("start_ns", Arc::new(Float64Array::from_iter_values(records.iter().map(|r| ns(r.start))))),
            ("tct_ns", Arc::new(Float64Array::from_iter(records.iter().map(|r| r.tct().map(ns))))),
            ("size_bytes", Arc::new(UInt64Array::from_iter_values(records.iter().map(|r| r.bytes.get())))),
            ("flows", Arc::new(UInt32Array::from_iter_values(records.iter().map(|r| r.flows)))),
            ("class", Arc::new(UInt8Array::from_iter_values(records.iter().map(|r| r.class)))),
            ("slice", Arc::new(UInt16Array::from_iter_values(records.iter().map(|r| r.slice)))),
        ],
    )
}

/// One row a port: `port, name, rate_bps, sent_packets, sent_bytes, dropped_packets, dropped_bytes,
/// marked_packets, urgent_bytes` (sent in the highest priority)`, utilisation` (of the time from 0 to `end`).
pub fn ports(fabric: &Fabric, counts: &[PortCounts], end: Time) -> RecordBatch {
    let rates: Vec<u64> = fabric.ports.iter().map(|p| p.rate.as_bps()).collect();
    let u64s = |of: fn(&PortCounts) -> u64| {
        Arc::new(UInt64Array::from_iter_values(counts.iter().map(of))) as ArrayRef
    };
    let capacity = |rate: u64| rate as f64 / 8.0 * end.as_secs_f64();
    let utilisation = counts.iter().zip(&rates).map(|(c, &rate)| c.sent.bytes as f64 / capacity(rate));
    let names = (0..counts.len() as u32).map(|port| fabric.port_name(port));
    batch(
        "ports",
        vec![
            ("port", Arc::new(UInt32Array::from_iter_values(0..counts.len() as u32))),
            ("name", Arc::new(StringArray::from_iter_values(names))),
            ("rate_bps", Arc::new(UInt64Array::from_iter_values(rates.iter().copied()))),
            ("sent_packets", u64s(|c| c.sent.packets)),
            ("sent_bytes", u64s(|c| c.sent.bytes)),
            ("dropped_packets", u64s(|c| c.dropped.packets)),
            ("dropped_bytes", u64s(|c| c.dropped.bytes)),
            ("marked_packets", u64s(|c| c.marked)),
            ("urgent_bytes", u64s(|c| c.urgent_bytes)),
            ("utilisation", Arc::new(Float64Array::from_iter_values(utilisation))),
        ],
    )
}

/// Long format: `time_ns, place, metric, index, value`.
pub fn series(fabric: &Fabric, series: &Series) -> RecordBatch {
    let rows = &series.rows;
    let place = |place: &SeriesSource| match *place {
        SeriesSource::Port(port) => fabric.port_name(port),
        SeriesSource::Host(host) => format!("host{host}"),
        SeriesSource::Flow(flow) => format!("flow{flow}"),
        SeriesSource::Slice(slice) => format!("slice{slice}"),
        SeriesSource::Slices => "slices".to_owned(),
    };
    batch(
        "series",
        vec![
            ("time_ns", Arc::new(Float64Array::from_iter_values(rows.iter().map(|(_, r)| ns(r.at))))),
            ("place", Arc::new(StringArray::from_iter_values(rows.iter().map(|(p, _)| place(p))))),
            ("metric", Arc::new(StringArray::from_iter_values(rows.iter().map(|(_, r)| r.metric)))),
            ("index", Arc::new(UInt16Array::from_iter_values(rows.iter().map(|(_, r)| r.index)))),
            ("value", Arc::new(Float64Array::from_iter_values(rows.iter().map(|(_, r)| r.value)))),
        ],
    )
}

/// How late a live run was, one row a bin of a histogram: `what` (`"left"`, `"entered"`, `"started"`)`, up_to_ns`
/// (and more than the row before says)`, count`.
pub fn lag(real: &RealTime) -> RecordBatch {
    let all = [("entered", &real.entered), ("left", &real.left), ("started", &real.started)];
    let of = |(what, lag): (&'static str, &Lag)| {
        lag.bins().map(|(up_to, count)| (what, up_to, count)).collect::<Vec<_>>()
    };
    let rows: Vec<_> = all.into_iter().flat_map(of).collect();
    batch(
        "lag",
        vec![
            ("what", Arc::new(StringArray::from_iter_values(rows.iter().map(|(what, ..)| what)))),
            (
                "up_to_ns",
                Arc::new(Float64Array::from_iter_values(rows.iter().map(|(_, up_to, _)| ns(*up_to)))),
            ),
            ("count", Arc::new(UInt64Array::from_iter_values(rows.iter().map(|(.., count)| *count)))),
        ],
    )
}

/// Long format: `time_s, flow, window_packets, alpha` (both null before the flow starts)`, queue_packets`.
pub fn fluid(model: &Model, trajectory: &Trajectory) -> RecordBatch {
    let flows = model.law.flows();
    let rows = || (0..trajectory.times.len()).flat_map(|sample| (0..flows).map(move |flow| (sample, flow)));
    let of_flow = |values: &[Vec<f64>]| -> ArrayRef {
        let value = |(sample, flow): (usize, usize)| {
            model.started(flow, trajectory.times[sample]).then(|| values[flow][sample])
        };
        Arc::new(Float64Array::from_iter(rows().map(value)))
    };
    let of_all = |values: &[f64]| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(rows().map(|(sample, _)| values[sample])))
    };
    batch(
        "fluid",
        vec![
            ("time_s", of_all(&trajectory.times)),
            ("flow", Arc::new(UInt16Array::from_iter_values(rows().map(|(_, flow)| flow as u16)))),
            ("window_packets", of_flow(&trajectory.windows)),
            ("alpha", of_flow(&trajectory.alphas)),
            ("queue_packets", of_all(&trajectory.queue)),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_says_what_it_means() {
        let fabric: toml::Table = "preset = \"micro4\"".parse().unwrap();
        let fabric = tailrace_fabric::FabricParams::from_table(&fabric).unwrap().build();
        let tables = [
            ("flows", flows(&[], &[])),
            ("tasks", tasks(&[])),
            ("ports", ports(&fabric, &vec![PortCounts::default(); fabric.ports.len()], Time::ZERO)),
            ("series", series(&fabric, &Series::default())),
            ("lag", lag(&RealTime::default())),
        ];
        for (name, table) in tables {
            let schema = table.schema();
            let listed = crate::output::columns::columns_of(name);
            assert!(
                schema.fields().iter().map(|field| field.name()).eq(listed.iter().map(|column| column.name))
            );
            for (field, column) in schema.fields().iter().zip(listed) {
                assert_eq!(
                    (field.is_nullable(), &field.metadata()["meaning"][..]),
                    (column.nullable, column.meaning)
                );
            }
        }
    }

    #[test]
    fn columns_of_numbers_are_listed() {
        let numbers = |table: RecordBatch| {
            let fields = table.schema().fields().clone();
            let names =
                fields.iter().filter(|field| field.data_type().is_numeric()).map(|f| f.name().clone());
            names.collect::<Vec<_>>()
        };
        assert_eq!(numbers(flows(&[], &[])), FLOW_COLUMNS);
        assert_eq!(numbers(tasks(&[])), TASK_COLUMNS);
    }
}
