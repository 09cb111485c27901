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

/// Where the number of the model stands, in a checkout.
const DIGESTS: &str = "../../experiments/digests.toml";

fn main() {
    tailrace_identity::emit("TAILRACE_BUILD", &CRATES);
    emit_model();
}

/// Gives the crate the number of the model as `TAILRACE_MODEL`; nothing where the file is not there, as in a crate by itself.
#[allow(clippy::print_stdout, reason = "cargo reads the output of build scripts")]
fn emit_model() {
    println!("cargo::rerun-if-changed={DIGESTS}");
    let text = std::fs::read_to_string(DIGESTS).unwrap_or_default();
    let number = text.lines().find_map(|line| line.strip_prefix("model = ")).unwrap_or_default();
    println!("cargo::rustc-env=TAILRACE_MODEL={number}");
}
