//! Tables of results on a terminal: means over seeds, or each run.

use std::collections::BTreeSet;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use tailrace_core::duration;
use tailrace_experiment::{Mean, OverSeeds, Results, SEED, axis_text, over_seeds};

/// A terminal shows no more rows.
const MAX_ROWS: usize = 1_000;
/// Wider lines wrap on many terminals.
const WIDEST: usize = 100;

/// Rows stand together: a line between each two would double the height.
pub const STYLE: TableStyle = UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none());

/// A column of numbers.
struct Column {
    name: &'static str,
    /// What `summary.csv` calls it.
    metric: &'static str,
    text: fn(Mean) -> String,
    /// Columns that are left out first where there is no room for all have the highest.
    left_out: u8,
}

const FLOWS: [Column; 9] = [
    Column { name: "mean", metric: "fct_mean_us", text: time, left_out: 0 },
    Column { name: "p50", metric: "fct_p50_us", text: time, left_out: 5 },
    Column { name: "p95", metric: "fct_p95_us", text: time, left_out: 3 },
    Column { name: "p99", metric: "fct_p99_us", text: time, left_out: 0 },
    Column { name: "slowdown", metric: "slowdown_mean", text: two_places, left_out: 1 },
    Column { name: "p99 slowdown", metric: "slowdown_p99", text: two_places, left_out: 4 },
    Column { name: "timeouts", metric: "timeouts", text: count, left_out: 2 },
    Column { name: "goodput", metric: "goodput_gbps", text: rate, left_out: 6 },
    Column { name: "missed", metric: "miss_rate", text: percent, left_out: 0 },
];

const TASKS: [Column; 5] = [
    Column { name: "mean", metric: "tct_mean_us", text: time, left_out: 0 },
    Column { name: "p50", metric: "tct_p50_us", text: time, left_out: 2 },
    Column { name: "p95", metric: "tct_p95_us", text: time, left_out: 1 },
    Column { name: "p99", metric: "tct_p99_us", text: time, left_out: 0 },
    Column { name: "max", metric: "tct_max_us", text: time, left_out: 3 },
];

/// The table of results: a row per class and scheme, over all seeds or, with `each`, of each run.
pub fn of_flows(axes: &[String], results: &Results, each: bool) -> String {
    let such = |group: &OverSeeds| group.sum(|class| class.flows) > 0;
    let table = shown(axes, results, each, ("flows", such, flows), &FLOWS);
    let rows: Vec<OverSeeds> =
        over_seeds(results, each).into_iter().filter(|row| row.class() == "all").collect();
    table + &loads(&rows)
}

/// What was offered and what came of it, where all schemes stand at one point.
fn loads(rows: &[OverSeeds]) -> String {
    let schemes: BTreeSet<&str> = rows.iter().map(|row| row.first().scheme.as_str()).collect();
    let offered = rows.first().and_then(|row| row.metric("offered_gbps"));
    let Some(offered) = offered.filter(|_| schemes.len() == rows.len()) else { return String::new() };
    let achieved = rows.iter().filter_map(|row| {
        row.metric("goodput_gbps").map(|mean| format!("{} {}", row.first().scheme, gbps(mean.value)))
    });
    let achieved: Vec<String> = achieved.collect();
    format!("offered {} Gbps; achieved: {}\n", gbps(offered.value), achieved.join(", "))
}

fn gbps(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") }
}

/// The table of task completion times; empty where no task was measured.
pub fn of_tasks(axes: &[String], results: &Results, each: bool) -> String {
    let such = |group: &OverSeeds| group.runs.iter().any(|(_, class)| class.tasks.is_some());
    let table = shown(axes, results, each, ("tasks", such, tasks), &TASKS);
    if table.is_empty() { table } else { format!("task completion times\n{table}") }
}

/// What is counted, which rows have it, and their text.
type Counted = (&'static str, fn(&OverSeeds) -> bool, fn(&OverSeeds) -> String);

fn shown(
    axes: &[String],
    results: &Results,
    each: bool,
    (counted, such, count): Counted,
    columns: &[Column],
) -> String {
    let mut rows = over_seeds(results, each);
    rows.retain(such);
    if rows.is_empty() {
        return String::new();
    }
    let several = rows.iter().any(|row| row.runs.len() > 1);
    let axes: Vec<&str> = axes.iter().map(String::as_str).filter(|axis| each || *axis != SEED).collect();
    // Without content: not even a zero that says something.
    let has =
        |column: &&Column| rows.iter().any(|row| row.metric(column.metric).is_some_and(|m| says(column, m)));
    let mut columns: Vec<&Column> = columns.iter().filter(has).collect();
    let mut left_out = Vec::new();
    loop {
        let table = table(&axes, &rows, (counted, count), &columns);
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let next = columns.iter().map(|column| column.left_out).max().filter(|next| *next > 0);
        let Some(next) = next.filter(|_| widest > WIDEST) else {
            return format!("{table}\n{}", notes(&rows, each, several, &left_out));
        };
        columns.retain(|column| {
            let stays = column.left_out != next;
            if !stays {
                left_out.push(column.name);
            }
            stays
        });
    }
}

/// Timeouts that no scheme has say nothing, and everything else does.
fn says(column: &Column, mean: Mean) -> bool {
    column.metric != "timeouts" || mean.value > 0.0
}

fn table(
    axes: &[&str],
    rows: &[OverSeeds],
    (counted, count): (&str, fn(&OverSeeds) -> String),
    columns: &[&Column],
) -> String {
    let mut table = Table::new();
    table.load_style(STYLE);
    let names = axes.iter().map(|axis| axis.rsplit('.').next().unwrap_or(axis));
    let numbers = columns.iter().map(|column| column.name);
    // Where points differ in them, no note can say how many there are.
    let (least, most) = seeds(rows);
    let differ = (least < most).then_some("seeds");
    table.set_header(names.chain(["class", "scheme", counted]).chain(differ).chain(numbers));
    for row in rows.iter().take(MAX_ROWS) {
        let first = row.first();
        let mut cells: Vec<String> =
            axes.iter().map(|axis| first.point.get(axis).map_or(String::new(), axis_text)).collect();
        cells.extend([row.class().to_owned(), first.scheme.clone(), count(row)]);
        cells.extend(differ.map(|_| row.runs.len().to_string()));
        let number = |column: &&Column| row.metric(column.metric).map_or("–".to_owned(), column.text);
        cells.extend(columns.iter().map(number));
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(axes.len() + 2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    // Trailing blanks would only be in the way of who copies a table.
    table.trim_fmt()
}

fn notes(rows: &[OverSeeds], each: bool, several: bool, left_out: &[&str]) -> String {
    let mut notes = String::new();
    if several && !each {
        let (least, most) = seeds(rows);
        let seeds = if least < most { format!("{least} to {most}") } else { most.to_string() };
        notes += &format!("means of {seeds} seeds ± half of the 95 % interval; --each shows each run\n");
    }
    if !left_out.is_empty() {
        notes += &format!("no room for: {}\n", left_out.join(", "));
    }
    match rows.len().saturating_sub(MAX_ROWS) {
        0 => {}
        more => notes += &format!("… and {more} more rows\n"),
    }
    notes
}

/// How many seeds the rows are of, the fewest and the most.
fn seeds(rows: &[OverSeeds]) -> (usize, usize) {
    let counts = || rows.iter().map(|row| row.runs.len());
    (counts().min().unwrap_or(0), counts().max().unwrap_or(0))
}

/// How many flows, and of how many there is no completion time: schemes that give flows up do so on purpose.
fn flows(row: &OverSeeds) -> String {
    let (flows, stopped) = (row.sum(|class| class.flows), row.sum(|class| class.stopped));
    let unfinished = row.sum(|class| class.unfinished);
    let without = [(stopped, "given up"), (unfinished.saturating_sub(stopped), "unfinished")];
    let without: Vec<String> =
        without.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect();
    match without.is_empty() {
        true => flows.to_string(),
        false => format!("{flows} ({})", without.join(", ")),
    }
}

fn tasks(row: &OverSeeds) -> String {
    let tasks = row.sum(|class| class.tasks.as_ref().map_or(0, |tasks| tasks.tasks));
    match row.sum(|class| class.tasks.as_ref().map_or(0, |tasks| tasks.unfinished_tasks)) {
        0 => tasks.to_string(),
        unfinished => format!("{tasks} ({unfinished} unfinished)"),
    }
}

/// A time with what chance does to it, as a share.
fn time(Mean { value, half }: Mean) -> String {
    let text = duration(value / 1e6);
    match half.filter(|_| value > 0.0) {
        None => text,
        Some(half) => format!("{text} ±{} %", share(half / value)),
    }
}

/// Percent of something, as many places as it takes to see it.
fn share(of: f64) -> String {
    let percent = 100.0 * of;
    if percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

fn two_places(mean: Mean) -> String {
    with_half(mean, |number| format!("{number:.2}"))
}

fn count(mean: Mean) -> String {
    with_half(
        mean,
        |number| if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.1}") },
    )
}

fn rate(Mean { value, .. }: Mean) -> String {
    format!("{value:.1} Gbps")
}

fn percent(Mean { value, half }: Mean) -> String {
    format!(
        "{} %",
        with_half(Mean { value: 100.0 * value, half: half.map(|half| 100.0 * half) }, |of| format!(
            "{of:.1}"
        ))
    )
}

fn with_half(Mean { value, half }: Mean, text: impl Fn(f64) -> String) -> String {
    match half {
        None => text(value),
        Some(half) => format!("{} ±{}", text(value), text(half)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tailrace_experiment::{ClassSummary, Finished, Point, Summary};

    use super::*;

    fn class(mean: f64) -> ClassSummary {
        ClassSummary { flows: 90, fct_mean_us: Some(mean), ..ClassSummary::of("all".into(), &[], 0, 0) }
    }

    fn results(classes: impl IntoIterator<Item = ClassSummary>) -> Results {
        let run = |class| Finished {
            scheme: "tcp".into(),
            point: Point::default(),
            key: String::new(),
            dir: PathBuf::new(),
            summary: Summary { classes: vec![class], ..Summary::default() },
            resumed: false,
        };
        Results { runs: classes.into_iter().map(run).collect() }
    }

    #[test]
    fn flows_that_were_given_up_are_told_from_unfinished_ones() {
        let cell = |unfinished, stopped| {
            let results = results([ClassSummary { unfinished, stopped, ..class(1.0) }]);
            flows(&over_seeds(&results, true)[0])
        };
        assert_eq!(cell(0, 0), "90");
        assert_eq!(cell(5, 0), "90 (5 unfinished)");
        assert_eq!(cell(5, 5), "90 (5 given up)");
        assert_eq!(cell(5, 3), "90 (3 given up, 2 unfinished)");
    }

    #[test]
    fn seeds_are_one_row() {
        let results = results([class(1_000.0), class(1_100.0), class(1_200.0)]);
        let together = of_flows(&[], &results, false);
        // A deviation of 100 of three: 4.303 × 100 / √3, of a mean of 1,100.
        assert!(together.contains(" 270   1.10 ms ±23 %"), "{together}");
        assert!(together.ends_with("means of 3 seeds ± half of the 95 % interval; --each shows each run\n"));
    }

    #[test]
    fn points_of_several_numbers_of_seeds_say_how_many() {
        let mut results = results([class(1.0), class(2.0), class(3.0)]);
        results.runs[2].scheme = "cubic".into();
        let table = of_flows(&[], &results, false);
        assert!(table.contains("flows   seeds") && table.contains("means of 1 to 2 seeds ±"), "{table}");
        assert!(
            table.contains("tcp        180       2") && table.contains("cubic       90       1"),
            "{table}"
        );
    }

    #[test]
    fn what_was_offered_stands_beside_what_came_of_it() {
        let loaded = ClassSummary { offered_gbps: Some(12.34), goodput_gbps: Some(4.321), ..class(1.0) };
        let mut results = results([loaded.clone(), loaded]);
        results.runs[1].scheme = "cubic".into();
        assert!(
            of_flows(&[], &results, false).ends_with("offered 12.3 Gbps; achieved: tcp 4.32, cubic 4.32\n")
        );
    }

    #[test]
    fn columns_without_content_and_without_room_are_left_out() {
        let narrow = of_flows(&[], &results([class(1.0)]), false);
        assert!(
            !narrow.contains("timeouts") && !narrow.contains("missed") && !narrow.contains("no room"),
            "{narrow}"
        );
        let full = ClassSummary {
            fct_p50_us: Some(1.0),
            fct_p95_us: Some(1.0),
            fct_p99_us: Some(1.0),
            slowdown_mean: Some(1.0),
            slowdown_p99: Some(1.0),
            goodput_gbps: Some(1.0),
            offered_gbps: Some(1.0),
            miss_rate: Some(0.5),
            timeouts: 3,
            class: "medium@no-deadline and so on".into(),
            ..class(1.0)
        };
        let other = ClassSummary { fct_mean_us: Some(3.0), ..full.clone() };
        let wide = of_flows(&[], &results([full, other]), false);
        assert!(wide.lines().all(|line| line.chars().count() <= WIDEST), "{wide}");
        assert!(wide.contains("missed") && wide.contains("no room for: goodput"), "{wide}");
    }
}
