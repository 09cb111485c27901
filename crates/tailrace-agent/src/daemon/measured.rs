//! What a capture has found, on a terminal.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use tailrace_bpf::{Facts, Groups, Histogram, Traffic};
use tailrace_core::duration;

/// Rows of groups; all are in the files.
const MAX_ROWS: usize = 30;

/// A table, and what a user should know beside it.
pub fn text(groups: &Groups, facts: &Facts, unlisted: u64, name: &dyn Fn(u64) -> String) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header(["", "flows", "bytes", "mean", "p50", "p99", "max", "open p50", "open p99", "every"]);
    table.add_row(row("all", &groups.all));
    let mut by: Vec<(&u64, &Traffic)> = groups.by.iter().collect();
    by.sort_by_key(|(_, traffic)| std::cmp::Reverse(traffic.sent + traffic.received));
    for (group, traffic) in by.iter().take(MAX_ROWS) {
        table.add_row(row(&name(**group), traffic));
    }
    if groups.others.whole > 0 {
        table.add_row(row("others", &groups.others));
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let hidden = by.len().saturating_sub(MAX_ROWS);
    let hidden =
        if hidden > 0 { format!("and {hidden} more groups, in summary.toml\n") } else { String::new() };
    let unlisted = match unlisted {
        0 => String::new(),
        count => format!("{count} flows are not in flows.csv: within this machine, or of too many hosts\n"),
    };
    let load = match (facts.load(&groups.all), &facts.rate) {
        (Some(load), Some((_, from))) => format!("load {:.2} % of the link ({from})\n", load * 100.0),
        _ => "the load is not known, for the link's rate is not: give --rate\n".to_owned(),
    };
    let remarks = remarks(groups, facts.lost, facts.local);
    let remarks = remarks.strip_prefix("; ").map(|text| format!("{text}\n")).unwrap_or_default();
    let whole =
        format!("{} connections began and ended within {}\n", groups.all.whole, duration(facts.seconds));
    format!("{table}\n{hidden}{whole}{load}{unlisted}{remarks}")
}

fn row(name: &str, traffic: &Traffic) -> Vec<String> {
    let size = |u: f64| traffic.sizes.quantile(u).map_or_else(String::new, bytes);
    let time = |of: &Histogram, u: f64| of.quantile(u).map_or_else(String::new, |ns| duration(ns / 1e9));
    let gap = if traffic.gaps.count() > 0 { duration(traffic.gaps.mean() / 1e9) } else { String::new() };
    vec![
        name.to_owned(),
        traffic.sizes.count().to_string(),
        bytes((traffic.sent + traffic.received) as f64),
        bytes(traffic.sizes.mean()),
        size(0.5),
        size(0.99),
        size(1.0),
        time(&traffic.durations, 0.5),
        time(&traffic.durations, 0.99),
        gap,
    ]
}

fn bytes(count: f64) -> String {
    let (unit, name) = match count {
        c if c < 1e4 => (1.0, "B"),
        c if c < 1e7 => (1e3, "KB"),
        c if c < 1e10 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    format!("{:.0} {name}", count / unit)
}

/// Connections that have no size, each kind with a semicolon before it.
pub fn remarks(groups: &Groups, lost: u64, local: u64) -> String {
    let all = &groups.all;
    let whole = all.sizes.sum() as f64 / (all.sent + all.received).max(1) as f64;
    let share = format!("; whole connections carried {:.1} % of the bytes", whole * 100.0);
    [
        (all.before, "connections were open before: their sizes are not known"),
        (all.still_open, "connections are still open"),
        (lost, "times the kernel had no room to tell of a connection: sizes and load are too few"),
        (local, "connections stayed on this machine and were passed over (--interface lo measures them)"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("; {count} {what}"))
    .chain((all.before + all.still_open > 0).then_some(share))
    .collect()
}
