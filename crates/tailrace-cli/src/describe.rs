//! `tailrace describe`.

use std::path::Path;

use tailrace_console::say_part;
use tailrace_core::{SizeDistribution, duration};
use tailrace_experiment::Error;
use tailrace_experiment::trace::{Described, fabric_named};
use tailrace_workload::Offered;

use crate::fabric_text::in_a_line;
use crate::{args, output};

/// Links that are named, from the busiest on.
const NAMED: usize = 3;

pub fn describe(options: &args::OwnTrace) -> Result<i32, Error> {
    let described = read(options)?;
    say_part!("{}{}", text(&options.trace, &described)?, overload(&described)?);
    Ok(0)
}

/// A line of what links cannot carry; nothing if they can. Of an experiment it is said when that is run.
pub fn overload(described: &Described) -> Result<String, Error> {
    let fabric = described.built()?;
    let overload = described.offered.as_ref().and_then(|offered| output::overload(offered, &fabric));
    Ok(overload.map(|warning| line("warning", &warning)).unwrap_or_default())
}

pub fn read(options: &args::OwnTrace) -> Result<Described, Error> {
    let fabric = options.fabric.as_deref().map(fabric_named).transpose()?;
    Ok(Described::read(&options.trace, &options.columns, fabric)?)
}

/// What a trace holds, a line each.
pub fn text(trace_file: &Path, described: &Described) -> Result<String, Error> {
    let Described { trace, fabric, is_chosen, offered, warnings } = described;
    let span = trace.flows.last().map_or(0.0, |flow| flow.start.as_secs_f64());
    let busy = trace.hosts.iter().filter(|host| !host.is_empty()).count();
    let mut lines = format!(
        "{}: {} flows between {busy} hosts in {}\n",
        trace_file.display(),
        trace.flows.len(),
        duration(span)
    );
    let columns: Vec<String> = trace.columns.iter().map(ToString::to_string).collect();
    lines += &line("columns", &columns.join(", "));
    if !trace.unused.is_empty() {
        lines += &line("unused", &trace.unused.join(", "));
    }
    let why = if *is_chosen { " (no --fabric was given: this one carries the flows)" } else { "" };
    lines += &line("fabric", &format!("{}{why}", in_a_line(fabric)));
    if let Some(offered) = offered {
        lines += &line("sizes", &sizes(&offered.sizes));
        lines += &line("load", &load(described, offered)?);
    }
    trace.notes.iter().for_each(|note| lines += &line("note", note));
    warnings.iter().for_each(|warning| lines += &line("warning", warning));
    Ok(lines)
}

fn line(what: &str, text: &str) -> String {
    format!("{what:<9} {text}\n")
}

fn sizes(sizes: &SizeDistribution) -> String {
    // The size above which flows make half of all bytes.
    let half = sizes
        .points()
        .iter()
        .map(|&(size, _)| size)
        .find(|&size| sizes.mean_below(size) >= sizes.mean() / 2.0)
        .unwrap_or(sizes.max());
    format!(
        "mean {}, median {}, 99 % below {}, largest {}; half of the bytes in flows from {} on ({:.2} % of them)",
        bytes(sizes.mean()),
        bytes(sizes.quantile(0.5)),
        bytes(sizes.quantile(0.99)),
        bytes(sizes.max()),
        bytes(half),
        100.0 * (1.0 - sizes.cdf(half * (1.0 - 1e-9)))
    )
}

fn bytes(bytes: f64) -> String {
    let (unit, name) = match bytes {
        ..1e3 => return format!("{bytes:.0} B"),
        ..1e6 => (1e3, "KB"),
        ..1e9 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    format!("{:.3} {name}", bytes / unit)
}

fn load(described: &Described, offered: &Offered) -> Result<String, Error> {
    let fabric = described.built()?;
    let mut ports: Vec<(f64, u32)> = offered.ports.iter().copied().zip(0..).collect();
    ports.sort_by(|a, b| b.0.total_cmp(&a.0));
    let named: Vec<String> = ports
        .iter()
        .take(NAMED)
        .map(|&(load, port)| format!("{} {:.1} %", fabric.port_name(port), 100.0 * load))
        .collect();
    Ok(format!(
        "{:.1} % of a host's link, as a byte meets it on average; busiest links: {}",
        100.0 * offered.load,
        named.join(", ")
    ))
}
