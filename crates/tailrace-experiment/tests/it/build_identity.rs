//! The list of crates in `build.rs` is whole.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../build.rs"]
#[allow(dead_code, reason = "a build script's own entry")]
mod build;

use std::fs;
use std::path::Path;

/// The crates of this workspace that a crate depends on, tests aside.
fn needs(name: &str) -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifest = fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let needs = manifest.get("dependencies").and_then(toml::Value::as_table);
    needs
        .into_iter()
        .flat_map(|needs| needs.keys().cloned())
        .filter(|name| name.starts_with("tailrace-"))
        .collect()
}

#[test]
fn every_crate_that_makes_runs_counts() {
    let mut reached = vec!["tailrace-experiment".to_owned()];
    for index in 0.. {
        let Some(name) = reached.get(index).cloned() else { break };
        reached.extend(needs(&name).into_iter().filter(|need| !reached.contains(need)).collect::<Vec<_>>());
    }
    // Fluid models are solved anew each time.
    reached.retain(|name| name != "tailrace-fluid");
    reached.sort();
    assert_eq!(reached, build::CRATES);
}
