//! What the columns of a run's tables are: which may lack values, and what they mean. Their Parquet files say it too.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Metadata, Schema};

/// A column of a table.
pub struct Column {
    /// Its name, which ends with its unit.
    pub name: &'static str,
    /// What it holds.
    pub meaning: &'static str,
    /// Whether rows may lack it.
    pub nullable: bool,
    /// Whether its numbers, which are not whole, are so many that a list of them takes longer to make than it saves.
    pub varied: bool,
}

const fn column(name: &'static str, meaning: &'static str) -> Column {
    Column { name, meaning, nullable: false, varied: false }
}

const fn lacking(name: &'static str, meaning: &'static str) -> Column {
    Column { name, meaning, nullable: true, varied: false }
}

const fn varied(column: Column) -> Column {
    Column { varied: true, ..column }
}

const FLOWS: [Column; 16] = [
    column("flow", "number, in order of start"),
    column("src", "host that sends"),
    column("dst", "host that receives"),
    column("size_bytes", "payload, bytes"),
    varied(column("start_ns", "start, nanoseconds of virtual time")),
    varied(lacking("fct_ns", "completion time, nanoseconds from the start; none if unfinished")),
    varied(column("ideal_ns", "completion time with the fabric to itself, nanoseconds")),
    varied(lacking("slowdown", "fct_ns / ideal_ns")),
    column("retransmitted_bytes", "payload sent again, bytes"),
    column("timeouts", "retransmission timeouts"),
    column("class", "traffic class: the rule's number, or as given"),
    column("slice", "slice, counted from 1; 0 if of none"),
    column("task", "task, counted from 1; 0 if of none"),
    lacking("deadline_ns", "deadline, nanoseconds from the start; none if there is none"),
    column("stopped", "whether its sender gave it up"),
    column("flow_type", "what it told of itself: 1 deadline and size, 2 size, 3 nothing"),
];

const TASKS: [Column; 7] = [
    column("task", "number, as in the table of flows"),
    column("start_ns", "arrival, nanoseconds of virtual time"),
    lacking("tct_ns", "completion time, nanoseconds from the arrival; none if unfinished"),
    column("size_bytes", "payload of its flows over all stages, bytes"),
    column("flows", "number of its flows over all stages"),
    column("class", "traffic class"),
    column("slice", "slice, counted from 1; 0 if of none"),
];

const PORTS: [Column; 10] = [
    column("port", "number"),
    column("name", "name, such as leaf0->host3"),
    column("rate_bps", "rate of its link, bits a second"),
    column("sent_packets", "packets sent over its link"),
    column("sent_bytes", "bytes sent over its link, headers included"),
    column("dropped_packets", "packets dropped at the port, or lost on its link as that failed"),
    column("dropped_bytes", "bytes dropped at the port, or lost on its link as that failed"),
    column("marked_packets", "packets marked \"congestion experienced\" by the port"),
    column("urgent_bytes", "of sent_bytes, those of the highest priority"),
    column("utilisation", "sent_bytes over what the link could carry from 0 to the end of the run"),
];

const SERIES: [Column; 5] = [
    column("time_ns", "nanoseconds of virtual time"),
    column("place", "a port's name, a host, a flow or a slice"),
    column("metric", "what is measured; its name ends with its unit"),
    column("index", "which of several, such as the queue"),
    column("value", "the value"),
];

const LAG: [Column; 3] = [
    column("what", "entered or left: packets; started: flows"),
    column("up_to_ns", "they were less late than this, nanoseconds, and not less than the row before says"),
    column("count", "how many"),
];

const FLUID: [Column; 5] = [
    column("time_s", "seconds"),
    column("flow", "number"),
    lacking("window_packets", "window, packets; none before the flow starts"),
    lacking("alpha", "estimate of the marked share; none before the flow starts"),
    column("queue_packets", "queue of the bottleneck, packets"),
];

/// The columns of a run's table of that name, in order.
pub fn columns_of(table: &str) -> &'static [Column] {
    match table {
        "flows" => &FLOWS,
        "tasks" => &TASKS,
        "ports" => &PORTS,
        "series" => &SERIES,
        "lag" => &LAG,
        "fluid" => &FLUID,
        _ => &[],
    }
}

/// A run's table of that name with what its columns mean, and whether they may lack values, as its schema.
pub(crate) fn described(name: &str, table: &RecordBatch) -> RecordBatch {
    let known = columns_of(name);
    let field = |field: &Arc<Field>| match known.iter().find(|column| column.name == field.name()) {
        None => Arc::clone(field),
        Some(column) => {
            let meaning = Metadata::from([("meaning", column.meaning)]);
            // A table that somebody made may lack what runs never do, in another piece than this one.
            let nullable = column.nullable || field.is_nullable();
            let described = field.as_ref().clone().with_nullable(nullable);
            Arc::new(described.with_metadata(meaning))
        }
    };
    let fields: Vec<Arc<Field>> = table.schema().fields().iter().map(field).collect();
    match RecordBatch::try_new(Arc::new(Schema::new(fields)), table.columns().to_vec()) {
        Ok(table) => table,
        Err(error) => panic!("a table does not fit its own schema: {error}"),
    }
}
