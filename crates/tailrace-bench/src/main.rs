//! `tailrace-bench`: how fast the simulator is, in packet-hops per CPU-second, and against what; at flow level in
//! events, at the live level in frames.
//!
//! Machines are noisy, so the parts that are compared run in turn, several rounds, and the ratio of a
//! round is taken within the round; the median of the rounds is reported.

mod allocator;
mod args;
mod core_latency;
mod error;
#[cfg(feature = "all")]
mod flow_case;
#[cfg(feature = "all")]
mod flow_level;
mod forecast;
mod growth;
mod instructions;
#[cfg(feature = "agent")]
mod linux;
#[cfg(feature = "all")]
mod live;
mod memory;
mod ns3;
mod schemes;
#[cfg(feature = "all")]
mod simgrid;
mod stacks;
mod threads;
#[cfg(feature = "all")]
mod visitors;

use std::process::Command;

use clap::Parser;
use serde_json::{Value, json};
use tailrace_config::ScenarioError;
use tailrace_console::{complain, say};

use args::Level;
use error::Error;
use stacks::Stack;

/// The product's allocator.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn bench(options: &args::Bench) -> Result<i32, Error> {
    if options.flows == 0 || options.rounds == 0 {
        return Err(
            ScenarioError::new("--flows, --rounds", "0 measures nothing; at least 1 is needed").into()
        );
    }
    if let Some(name) = &options.part {
        return run_part(name, options.flows);
    }
    if let Some(recorded) = &options.instructions {
        return instructions::check(recorded);
    }
    let none: Vec<String> = Vec::new();
    let (report, missed) = match (options.schemes, options.growth, options.allocator) {
        (true, _, _) => (schemes::compare(options)?, none),
        (_, true, _) => (growth::measure()?, none),
        _ if options.threads => (threads::measure(options)?, none),
        (_, _, true) => (allocator::measure(), none),
        #[cfg(feature = "all")]
        _ if options.level == Some(Level::Flow) => (flow_level::measure(options)?, none),
        #[cfg(feature = "agent")]
        _ if options.level == Some(Level::Linux) => linux::measure(options)?,
        #[cfg(not(feature = "agent"))]
        _ if options.level == Some(Level::Linux) => {
            return Err(Error::Live(tailrace_core::LiveError::SetUp(
                "this build of tailrace-bench has no host agent: build it with --features agent".to_owned(),
            )));
        }
        #[cfg(feature = "all")]
        _ if options.level == Some(Level::Live) => live::measure(options)?,
        #[cfg(not(feature = "all"))]
        _ if matches!(options.level, Some(Level::Flow | Level::Live)) => {
            return Err(Error::Live(tailrace_core::LiveError::SetUp(
                "this build of tailrace-bench measures packets only: leave out --no-default-features"
                    .to_owned(),
            )));
        }
        _ => (compare(options)?, none),
    };
    say!("{}", if options.json { format!("{:#}", report.0) } else { report.1 });
    missed.iter().for_each(|line| complain!("missed: {line}"));
    Ok(i32::from(options.check && !missed.is_empty()))
}

/// Runs one part once, and prints its counts.
fn run_part(name: &str, flows: u32) -> Result<i32, Error> {
    if let Some(size) = growth::Size::parse(name) {
        say!("{}", size.run()?);
        return Ok(0);
    }
    if let Some(mib) = memory::parse(name) {
        say!("{}", memory::measure(mib));
        return Ok(0);
    }
    if let Some(case) = threads::Case::parse(name) {
        say!("{}", case.run()?);
        return Ok(0);
    }
    #[cfg(feature = "all")]
    if let Some(case) = flow_case::Case::parse(name) {
        say!("{}", case.run()?);
        return Ok(0);
    }
    let stack = Stack::parse(name)?;
    say!("{}", stack.run(flows)?.json());
    Ok(0)
}

/// A report as JSON and as text.
type Report = (Value, String);

/// The full stack against the protocol-free kernel and against ns-3.
fn compare(options: &args::Bench) -> Result<Report, Error> {
    let mut rounds = Vec::new();
    for round in 1..=options.rounds {
        complain!("round {round} of {}", options.rounds);
        let kernel = Stack::Kernel.run(options.flows)?;
        let full = Stack::Full.run(options.flows)?;
        rounds.push((kernel.hops_per_second(), full.hops_per_second()));
    }
    let kernel = median(rounds.iter().map(|r| r.0).collect());
    let full = median(rounds.iter().map(|r| r.1).collect());
    let ratio_to_kernel = median(rounds.iter().map(|r| r.1 / r.0).collect());
    let ns3 = ns3::compare(&options.ns3);
    let counted = instructions::per_packet_hop();
    let (allocator, growth) = allocator::measure();
    let report = json!({
        "packet_hops_per_cpu_second": full,
        "kernel_packet_hops_per_cpu_second": kernel,
        "ratio_to_kernel": ratio_to_kernel,
        "ratio_to_ns3": ns3.as_ref().ok().map(|n| n.ratio),
        "ns3_packet_hops_per_cpu_second": ns3.as_ref().ok().map(|n| n.theirs),
        "instructions_per_packet_hop": counted.as_ref().ok().map(|c| c.instructions),
        "cycles_per_packet_hop": counted.as_ref().ok().and_then(|c| c.cycles),
        "allocator": allocator,
    });
    let mut text = format!(
        "full stack: DCTCP, 8 priority queues, spraying, Web Search at 60 %, 144 hosts, {} flows\n\
         kernel:     fixed windows turned round at the receiver; same fabric, ports and agenda\n\n\
         full stack  {:6.2} M packet-hops per CPU-second\n\
         kernel      {:6.2} M packet-hops per CPU-second\n\
         ratio       {ratio_to_kernel:6.2}\n",
        options.flows,
        full / 1e6,
        kernel / 1e6,
    );
    text += &match &ns3 {
        Ok(n) => format!(
            "ns-3        {:6.2} M packet-hops per CPU-second; Tailrace does {:.0} times as many\n            ({})\n",
            n.theirs / 1e6,
            n.ratio,
            n.what
        ),
        Err(reason) => format!("ns-3        not measured: {reason}\n"),
    };
    text += &match &counted {
        Ok(c) => format!(
            "full stack  {:.0} instructions{} per packet-hop ({})\n",
            c.instructions,
            c.cycles.map_or(String::new(), |cycles| format!(", {cycles:.0} cycles")),
            c.tool
        ),
        Err(reason) => format!("instructions not measured: {reason}\n"),
    };
    text += &format!("\n{growth}");
    Ok((report, text))
}

/// The middle of an odd number of values, the upper middle of an even one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs a part in a process of its own, and reads what it prints.
fn in_own_process(part: &str) -> Result<Value, Error> {
    let failed = |what: String| Error::from(ScenarioError::new("bench", what));
    let own = own_command().map_err(|e| failed(format!("cannot tell its own command: {e}")))?;
    let output = Command::new(own)
        .args(["--part", part])
        .output()
        .map_err(|e| failed(format!("cannot start itself: {e}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .map_err(|e| failed(format!("{e}: {text}{}", String::from_utf8_lossy(&output.stderr))))
}

/// The program itself: parts are measured in processes of their own.
fn own_command() -> std::io::Result<std::path::PathBuf> {
    std::env::current_exe()
}

fn main() {
    let options = args::Bench::parse();
    let status = bench(&options).unwrap_or_else(|error| {
        complain!("error: {error}");
        error.exit_status()
    });
    std::process::exit(status);
}
