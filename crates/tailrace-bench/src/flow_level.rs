//! `tailrace-bench --level flow`: what runs at flow level cost, each in a process of its own.

use crate::error::Error;
use serde_json::{Value, json};
use tailrace_console::complain;

use crate::args;
use crate::flow_case::{ANYWHERE, Case, RACK, SCHEMES, SHAPES, STAGES};
use crate::{Report, in_own_process, simgrid};

/// Tasks of the runs that schemes and shapes are compared by.
const TASKS: u32 = 10_000;
/// The fewest tasks in the table of growth.
const MIN: u32 = 100;

/// All tables, and the comparison with SimGrid.
pub fn measure(options: &args::Bench) -> Result<Report, Error> {
    let of_all = |shape, tasks| SCHEMES.map(move |(scheme, _, _)| Case::new(scheme, shape, tasks));
    let one_stage = [of_all(RACK, TASKS), of_all(ANYWHERE, TASKS)].concat();
    let largest = options.tasks;
    let sizes = std::iter::successors(Some(MIN), |n| n.checked_mul(10)).take_while(|&n| n <= largest);
    let growth: Vec<Case> =
        sizes.flat_map(|tasks| SCHEMES[..2].iter().map(move |s| Case::new(s.0, RACK, tasks))).collect();
    let tables = [
        ("one stage", one_stage),
        ("growth with tasks", growth),
        ("two stages", of_all(STAGES, options.two_stage_tasks).to_vec()),
    ];
    let mut text = format!(
        "36 000 workers in a tree, 2:1 oversubscribed at the rack; flows of 2 to 50 KB; load 0.8; each run in a process \
         of its own, the one of median time of {}\n\n",
        options.rounds
    );
    let mut rows = Vec::new();
    for (title, cases) in tables {
        text += &format!(
            "{title}\n\n| rates | a task | tasks | flows | events | CPU s | flows/s | us/event | memory |\n\
             |---|---|---:|---:|---:|---:|---:|---:|---:|\n"
        );
        for case in cases {
            complain!("{}", case.name());
            let row = median_run(&case.name(), options.rounds)?;
            text += &line(&row);
            rows.push(row);
        }
        text += "\n";
    }
    let (simgrid, compared) = simgrid::compare(options);
    Ok((json!({ "flow_level": rows, "simgrid": simgrid }), text + &compared))
}

/// Of so many runs, that of median time.
fn median_run(name: &str, rounds: u32) -> Result<Value, Error> {
    let mut runs: Vec<Value> =
        (0..rounds.max(1)).map(|_| in_own_process(name)).collect::<Result<_, Error>>()?;
    let seconds = |run: &Value| run["cpu_seconds"].as_f64().unwrap_or(f64::NAN);
    runs.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    Ok(runs.swap_remove(runs.len() / 2))
}

fn line(row: &Value) -> String {
    let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    let scheme = SCHEMES.iter().find(|s| row["scheme"] == s.0).map_or("", |s| s.1);
    let shape = SHAPES.iter().find(|s| row["shape"] == s.0).map_or("", |s| s.2);
    format!(
        "| {scheme} | {shape} | {} | {} | {} | {:.2} | {:.0} | {:.2} | {:.0} MiB |\n",
        row["tasks"],
        row["flows"],
        row["events"],
        number("cpu_seconds"),
        number("flows_per_cpu_second"),
        number("microseconds_per_event"),
        number("memory_bytes") / f64::from(1 << 20),
    )
}
