//! The simulators that are measured: the protocol-free kernel, and the full stack under a scheme.

use crate::error::Error;
use cpu_time::ThreadTime;
use serde_json::{Value, json};
use tailrace_config::ScenarioError;
use tailrace_core::{Bytes, Scheme};
use tailrace_packet::reflect;
use tailrace_queues::{MultiQueue, PortParams};
use tailrace_run::Unattended;
use tailrace_scenario::Scenario;
use tailrace_schemes::{SchemeVisitor, with_scheme};

/// A simulator that the benchmark measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stack {
    /// The protocol-free kernel.
    Kernel,
    /// The full stack under PIAS: DCTCP and eight queues.
    Full,
    /// The full stack under another scheme, with flows of all three types.
    Scheme(String),
}

/// What a part did, and at what cost.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Packets sent over a link.
    pub packet_hops: u64,
    /// CPU time of this thread.
    pub cpu_seconds: f64,
}

impl Cost {
    pub fn hops_per_second(&self) -> f64 {
        self.packet_hops as f64 / self.cpu_seconds
    }

    pub fn json(&self) -> Value {
        json!({ "packet_hops": self.packet_hops, "cpu_seconds": self.cpu_seconds })
    }
}

/// The scenario that the full stack runs; `{flows}` and `{scheme}` are filled in.
const SCENARIO: &str = r#"
[transport]
initial_window = 70
max_window = 239
rto = "fixed"
loss_detection = "timeout-only"
[workload]
sizes = "web-search"
round = "packet"
load = 0.6
"#;

/// A third of the bytes each with deadlines, of known and of unknown size, of two slices: what schemes that tell
/// them apart have to do.
const CLASSES: &str = r#"
[[workload.rule]]
byte_share = 0.3333
deadline = { ideal = { factor = 10.0 } }
slice = 1
[[workload.rule]]
byte_share = 0.3333
slice = 2
[[workload.rule]]
byte_share = 0.3334
reveals = "nothing"
slice = 2
[[slice]]
weight = 0.5
objective = "deadline"
[[slice]]
weight = 1
"#;

/// The scenario with `flows` flows under `scheme`.
pub fn scenario(flows: u32, scheme: &str) -> Result<Scenario, ScenarioError> {
    parse(flows, scheme, "")
}

/// The same with flows of all three types, of two slices.
fn mixed(flows: u32, scheme: &str) -> Result<Scenario, ScenarioError> {
    parse(flows, scheme, CLASSES)
}

fn parse(flows: u32, scheme: &str, classes: &str) -> Result<Scenario, ScenarioError> {
    // A scheme whose ports keep state of flows cannot be sprayed.
    let balancing = if with_scheme(scheme, OnePath) == Ok(true) { "ecmp" } else { "spray" };
    Scenario::parse(&format!(
        "{SCENARIO}\nflows = {flows}\n{classes}[scheme]\nname = \"{scheme}\"\n\
         [fabric]\npreset = \"spine144\"\nload_balancing = \"{balancing}\"\n"
    ))
}

/// Whether a scheme needs all packets of a flow on one path.
struct OnePath;

impl SchemeVisitor for OnePath {
    type Output = bool;
    fn visit<S: Scheme>(self) -> bool {
        S::ONE_PATH
    }
}

impl Stack {
    /// Reads a part's name.
    pub fn parse(name: &str) -> Result<Self, ScenarioError> {
        match name {
            "kernel" => Ok(Stack::Kernel),
            "full" => Ok(Stack::Full),
            scheme if tailrace_schemes::NAMES.contains(&scheme) => Ok(Stack::Scheme(scheme.to_owned())),
            _ => {
                Err(ScenarioError::new("--part", format!("\"{name}\" is neither kernel, full nor a scheme")))
            }
        }
    }

    /// Runs the part once.
    pub fn run(&self, flows: u32) -> Result<Cost, Error> {
        match self {
            Stack::Kernel => Ok(kernel(flows)?),
            Stack::Full => full(&scenario(flows, "pias")?),
            Stack::Scheme(name) => full(&mixed(flows, name)?),
        }
    }
}

/// The kernel over the same fabric, with about as many packet-hops as the full stack has.
fn kernel(flows: u32) -> Result<Cost, ScenarioError> {
    let fabric = scenario(1, "pias")?.fabric.build();
    let load = reflect::Load { flows_per_host: 4, window: 10, packets: u64::from(flows) * 1140 };
    let start = ThreadTime::now();
    let (packet_hops, _) = reflect::run(&fabric, load, |port| MultiQueue::new(&PortParams::default(), port));
    Ok(Cost { packet_hops, cpu_seconds: start.elapsed().as_secs_f64() })
}

/// A scenario without writing anything.
pub fn full(scenario: &Scenario) -> Result<Cost, Error> {
    let start = ThreadTime::now();
    let (outcome, _) = tailrace_run::run(scenario, tailrace_run::feed(scenario)?, &Unattended, Vec::new())?;
    Ok(Cost { packet_hops: outcome.packet_hops(), cpu_seconds: start.elapsed().as_secs_f64() })
}

/// The largest memory that this process has had, where the system tells.
pub fn peak_memory() -> Option<Bytes> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(Bytes::new(kib * 1024))
}
