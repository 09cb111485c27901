//! Gives the crate the identity of the sources that decide what a simulated run leaves, as `TAILRACE_BUILD`.

/// All that this crate needs to make a run, and this crate; a test compares the list with the manifests.
pub const CRATES: [&str; 13] = [
    "tailrace-config",
    "tailrace-core",
    "tailrace-engine",
    "tailrace-experiment",
    "tailrace-fabric",
    "tailrace-flow",
    "tailrace-packet",
    "tailrace-queues",
    "tailrace-run",
    "tailrace-scenario",
    "tailrace-schemes",
    "tailrace-transport",
    "tailrace-workload",
];

fn main() {
    tailrace_identity::emit("TAILRACE_BUILD", &CRATES);
}
