//! Arguments of the benchmark.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// The simulator, packet by packet
    Packet,
    /// The simulator at flow level
    Flow,
    /// A live switch
    Live,
    /// The host agent
    Linux,
}

#[derive(Parser)]
#[command(
    name = "tailrace-bench",
    version,
    max_term_width = 100,
    after_help = "Examples:
  tailrace-bench                                    packet by packet, against its own kernel and ns-3
  tailrace-bench --schemes                          each scheme against DCTCP
  tailrace-bench --threads                          one run on one thread and on several
  tailrace-bench --growth                           time and memory by hosts and flows
  tailrace-bench --level flow
  tailrace-bench --level linux --check              what the host agent costs; fail where a goal is missed"
)]
/// Measure the simulator's speed, and the live level's
pub struct Bench {
    /// Print JSON: packet_hops_per_cpu_second, instructions_per_packet_hop, ratio_to_kernel, ratio_to_ns3
    /// (null where not measured), allocator
    #[arg(long)]
    pub json: bool,
    /// With "flow": measure runs at flow level instead, and against SimGrid. With "live": frames through a live switch,
    /// against a forwarder without fabric and a bridge of the kernel; needs root. With "linux": what the host agent costs;
    /// needs root
    #[arg(long, value_enum)]
    pub level: Option<Level>,
    /// At the live level: fail if a switch does less than 0.6 of what a forwarder does, or a port less than 5 M frames per
    /// CPU-second
    #[arg(long)]
    pub check: bool,
    /// At flow level: tasks at the end of the table of growth, which begins at 100 and goes on in tens
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub tasks: u32,
    /// At flow level: tasks of two stages
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub two_stage_tasks: u32,
    /// Program of the SimGrid comparison, as built by `make -C benches/simgrid`
    #[arg(long, value_name = "PROGRAM", default_value = "benches/simgrid/build/tree")]
    pub simgrid: PathBuf,
    /// Tasks that SimGrid is given
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub simgrid_tasks: u32,
    /// Measure each scheme against DCTCP instead
    #[arg(long)]
    pub schemes: bool,
    /// Measure how time and memory grow with hosts and flows instead
    #[arg(long)]
    pub growth: bool,
    /// Measure one run on several threads instead, on 144, 1,024 and 8,192 hosts
    #[arg(long)]
    pub threads: bool,
    /// Measure only how a slot of Uranus' controller grows with the flows in progress
    #[arg(long)]
    pub allocator: bool,
    /// Compare the instructions per packet-hop with those recorded in a file; more than 5 % off fails
    #[arg(long, value_name = "FILE")]
    pub instructions: Option<PathBuf>,
    /// Flows of the full-stack run; with --threads, a sixth of those of 144 hosts
    #[arg(long, value_name = "N", default_value_t = 4000)]
    pub flows: u32,
    /// Alternating rounds of each part
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub rounds: u32,
    /// Program of the ns-3 comparison, as built by `make -C benches/ns3`
    #[arg(long, value_name = "PROGRAM", default_value = "benches/ns3/build/fabric")]
    pub ns3: PathBuf,
    /// Run one part once and print its counts (for profilers): kernel, full, a scheme,
    /// flow:SCHEME:SHAPE:TASKS with shape rack, anywhere or stages, growth:LEAVES:HOSTS:SIZES:FLOWS or
    /// growth:fat-tree:RADIX:SIZES:FLOWS, one of the last two after threads:N:, or memory:MIB
    #[arg(long, value_name = "PART")]
    pub part: Option<String>,
}
