//! The flows of a result are a flow list themselves.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::Command;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;

/// Two schemes that read what flows reveal, on flows of all three types.
const SCHEMES: &str = "[[scheme]]\nname = \"d2tcp\"\n[[scheme]]\nname = \"pfabric\"\n";
const FABRIC: &str = r#"[fabric]
kind = "star"
hosts = 4
host_rate = "10Gbps"
delay = "1us"
buffer = "360KB"
"#;
const TYPES: &str = r#"[workload]
sizes = "web-search"
load = 0.6
flows = 90
[[workload.rule]]
reveals = "deadline"
deadline = { exp = "20ms" }
byte_share = 0.4
[[workload.rule]]
byte_share = 0.3
[[workload.rule]]
reveals = "nothing"
byte_share = 0.3
"#;

fn run(dir: &Path, name: &str) -> serde_json::Value {
    let file = format!("{name}.toml");
    let output = Command::new(env!("CARGO_BIN_EXE_tailrace"))
        .args(["run", &file, "--json"])
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_flows_of_a_result_run_again_to_the_last_event() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x.toml"), format!("{FABRIC}{TYPES}{SCHEMES}")).unwrap();
    let first = run(dir.path(), "x");
    for (index, name) in ["d2tcp", "pfabric"].iter().enumerate() {
        let list = Path::new(first["runs"][index]["folder"].as_str().unwrap()).join("flows.parquet");
        let flows = tailrace_experiment::read_parquet(&dir.path().join(&list)).unwrap().remove(0);
        let types = flows.column_by_name("flow_type").unwrap().as_primitive::<UInt8Type>();
        let classes = flows.column_by_name("class").unwrap().as_primitive::<UInt8Type>();
        // The rules are of types 1, 2 and 3 in this order, and a class is a rule's number.
        assert!(types.values().iter().zip(classes.values()).all(|(kind, class)| *kind == class + 1));

        let again = format!("{FABRIC}[workload]\nflow_list = {list:?}\n[[scheme]]\nname = \"{name}\"\n");
        fs::write(dir.path().join(format!("{name}.toml")), again).unwrap();
        let again = run(dir.path(), name);
        let digest = |document: &serde_json::Value, run: usize| {
            document["runs"][run]["summary"]["digest"].as_str().unwrap().to_owned()
        };
        assert_eq!(digest(&again, 0), digest(&first, index), "{name}");
    }
}
