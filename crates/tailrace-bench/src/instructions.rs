//! Instructions and cycles per packet-hop: what a noisy machine cannot blur.

use std::path::Path;
use std::process::Command;

use crate::error::Error;
use serde_json::Value;
use tailrace_console::say;

use crate::own_command;

/// What was counted.
pub struct Counted {
    pub instructions: f64,
    pub cycles: Option<f64>,
    pub tool: &'static str,
}

/// Flows of the two runs whose difference is counted: start-up cancels out.
const FLOWS: [u32; 2] = [60, 180];

/// Counts with `perf stat` where the machine has counters, else with valgrind, else not.
pub fn per_packet_hop() -> Result<Counted, String> {
    let command = own_command().map_err(|error| format!("cannot tell its own command: {error}"))?;
    let command = vec![command.to_string_lossy().into_owned()];
    with_perf(&command)
        .or_else(|perf| with_valgrind(&command).map_err(|valgrind| format!("{perf}; {valgrind}")))
}

/// How far the count may move before the change must say why.
const TOLERANCE: f64 = 0.05;

/// Compares the count with the one in a file; exit status 1 if it has moved. Where nothing can count, that
/// is said and nothing is compared.
pub fn check(file: &Path) -> Result<i32, Error> {
    let text = std::fs::read_to_string(file).map_err(|e| Error::storage(file, e))?;
    let document: Value =
        serde_json::from_str(&text).map_err(|e| Error::storage(file, std::io::Error::other(e)))?;
    let recorded = document["instructions_per_packet_hop"]
        .as_f64()
        .ok_or_else(|| Error::storage(file, std::io::Error::other("no instructions_per_packet_hop in it")))?;
    let counted = match per_packet_hop() {
        Ok(counted) => counted,
        Err(reason) => {
            say!("instructions per packet-hop not compared: {reason}");
            return Ok(0);
        }
    };
    let change = counted.instructions / recorded - 1.0;
    let holds = change.abs() <= TOLERANCE;
    say!(
        "{} instructions per packet-hop: {:.1} ({}), recorded {recorded:.1}, {:+.1} %",
        if holds { "✓" } else { "✗" },
        counted.instructions,
        counted.tool,
        change * 100.0
    );
    if !holds {
        say!("  more than 5 %: find out why; if it is meant, record it in {}", file.display());
    }
    Ok(i32::from(!holds))
}

fn with_perf(command: &[String]) -> Result<Counted, String> {
    let [few, many] = FLOWS.map(|flows| {
        let run = run(&["perf", "stat", "-x", ",", "-e", "instructions:u,cycles:u"], command, flows)?;
        let count = |event: &str| {
            let line = run.log.lines().find(|line| line.contains(event));
            line.and_then(|line| line.split(',').next()?.parse::<f64>().ok())
        };
        let missing = || "perf stat: this machine has no instruction counter".to_owned();
        Ok::<_, String>((count("instructions").ok_or_else(missing)?, count("cycles"), run.hops))
    });
    let (few, many) = (few?, many?);
    let hops = many.2 - few.2;
    let cycles = many.1.zip(few.1).map(|(many, few)| (many - few) / hops);
    Ok(Counted { instructions: (many.0 - few.0) / hops, cycles, tool: "perf stat" })
}

fn with_valgrind(command: &[String]) -> Result<Counted, String> {
    let [few, many] = FLOWS.map(|flows| {
        let tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
        let run = run(&tool, command, flows)?;
        let total =
            run.log.lines().find_map(|line| line.split("Collected :").nth(1)?.trim().parse::<f64>().ok());
        Ok::<_, String>((total.ok_or("valgrind gave no count")?, run.hops))
    });
    let (few, many) = (few?, many?);
    Ok(Counted { instructions: (many.0 - few.0) / (many.1 - few.1), cycles: None, tool: "callgrind" })
}

struct Run {
    hops: f64,
    log: String,
}

/// Runs the full stack under a tool.
fn run(tool: &[&str], command: &[String], flows: u32) -> Result<Run, String> {
    let output = Command::new(tool[0])
        .args(&tool[1..])
        .args(command)
        .args(["--part", "full", "--flows", &flows.to_string()])
        .output()
        .map_err(|e| format!("{} cannot be started: {e}", tool[0]))?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|e| format!("{}: {e}", tool[0]))?;
    let hops = document["packet_hops"].as_f64().ok_or("no packet-hops were counted")?;
    Ok(Run { hops, log: String::from_utf8_lossy(&output.stderr).into_owned() })
}
