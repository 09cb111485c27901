//! The comparison with SimGrid: the same flows over the same tree, max-min fair in both.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tailrace_experiment::{exported_flows, write_flows};

use crate::error::Error;

use crate::args;
use crate::flow_case::Case;
use crate::{Report, in_own_process, median};

/// Runs both; says why where SimGrid was not measured.
pub fn compare(options: &args::Bench) -> Report {
    let program = &options.simgrid;
    let compared = match program.is_file() {
        true => run(program, &Case::shared(options.simgrid_tasks), options.rounds).map_err(|e| e.to_string()),
        false => Err(format!(
            "{} is not there (Debian: apt install libsimgrid-dev, then make -C benches/simgrid)",
            program.display()
        )),
    };
    match compared {
        Ok(report) => {
            let text = said(&report);
            (report, text)
        }
        Err(reason) => (Value::Null, format!("SimGrid not measured: {reason}\n")),
    }
}

fn run(program: &Path, case: &Case, rounds: u32) -> Result<Value, Error> {
    let list = std::env::temp_dir().join(format!("tailrace-bench-{}.csv", std::process::id()));
    let theirs = write_flows(&list, exported_flows(&case.scenario()?)?)
        .map_err(Error::from)
        .and_then(|()| replay(program, &list));
    let _ = std::fs::remove_file(&list);
    let theirs = theirs?;
    let ours: Vec<Value> = (0..rounds).map(|_| in_own_process(&case.name())).collect::<Result<_, Error>>()?;
    let number = |value: &Value, key: &str| value[key].as_f64().unwrap_or(f64::NAN);
    let seconds = median(ours.iter().map(|run| number(run, "cpu_seconds")).collect());
    Ok(json!({
        "tasks": case.tasks,
        "cpu_seconds": seconds,
        "ratio": number(&theirs, "cpu_seconds") / seconds,
        "completion_against_simgrid": number(&ours[0], "mean_completion") / number(&theirs, "mean_completion"),
        "tailrace": ours[0],
        "simgrid": theirs,
    }))
}

fn replay(program: &Path, list: &Path) -> Result<Value, Error> {
    let failed = |what: String| Error::storage(program, std::io::Error::other(what));
    let done = Command::new(program).arg(list).output().map_err(|e| failed(e.to_string()))?;
    serde_json::from_slice(&done.stdout)
        .map_err(|e| failed(format!("{e}: {}", String::from_utf8_lossy(&done.stderr))))
}

fn said(report: &Value) -> String {
    let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN);
    format!(
        "SimGrid {}: {} tasks of 40 flows in the rack, max-min in both\n\
         Tailrace    {:8.2} s, {:6.0} MiB, mean task completion {:.6} ms\n\
         SimGrid     {:8.2} s, {:6.0} MiB, mean task completion {:.6} ms; {:.0} s more to build the platform\n\
         ratio       {:8.1}; completion differs by {:.4} %\n",
        report["simgrid"]["simgrid_version"].as_str().unwrap_or("?"),
        report["tasks"],
        number("/cpu_seconds"),
        number("/tailrace/memory_bytes") / f64::from(1 << 20),
        number("/tailrace/mean_completion") * 1e3,
        number("/simgrid/cpu_seconds"),
        number("/simgrid/memory_bytes") / f64::from(1 << 20),
        number("/simgrid/mean_completion") * 1e3,
        number("/simgrid/platform_cpu_seconds"),
        number("/ratio"),
        (number("/completion_against_simgrid") - 1.0) * 100.0,
    )
}
