//! Flow lists in CSV and Parquet have the same columns, and the flows of a result are a flow list themselves.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};

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

#[test]
fn flows_of_slices_run_again_with_and_without_their_slices() {
    let dir = tempfile::tempdir().unwrap();
    let slices = "[[slice]]\nweight = 1\n[[slice]]\nweight = 3\n";
    let rules = "[workload]\nsizes = \"web-search\"\nload = 0.3\nflows = 40\n[[workload.rule]]\nslice = 1\n\
                 [[workload.rule]]\nslice = 2\n";
    let scheme = "[[scheme]]\nname = \"wvcc\"\n";
    let digest = |document: &serde_json::Value| document["runs"][0]["summary"]["digest"].clone();
    fs::write(dir.path().join("x.toml"), format!("{FABRIC}{rules}{slices}{scheme}")).unwrap();
    let first = run(dir.path(), "x");
    let list = Path::new(first["runs"][0]["folder"].as_str().unwrap()).join("flows.parquet");
    let again = format!("{FABRIC}[workload]\nflow_list = {list:?}\n");
    fs::write(dir.path().join("again.toml"), format!("{again}{slices}{scheme}")).unwrap();
    assert_eq!(digest(&run(dir.path(), "again")), digest(&first));
    fs::write(dir.path().join("without.toml"), again + scheme).unwrap();
    assert_ne!(digest(&run(dir.path(), "without")), digest(&first), "all weigh the same");
}

/// One flow with columns of these names, all of the same number, as `list.csv` or `list.parquet`.
fn write_list(dir: &Path, ending: &str, names: &[&str]) {
    let path = dir.join(format!("list.{ending}"));
    let value = |name: &str| if name == "src" { 0 } else { 1 };
    if ending == "csv" {
        let values: Vec<String> = names.iter().map(|name| value(name).to_string()).collect();
        fs::write(path, format!("{}\n{}\n", names.join(","), values.join(","))).unwrap();
    } else {
        let column = |&name| (name, Arc::new(UInt64Array::from(vec![value(name)])) as ArrayRef);
        let table = RecordBatch::try_from_iter(names.iter().map(column)).unwrap();
        tailrace_experiment::write_parquet(&path, &table).unwrap();
    }
}

#[test]
fn both_kinds_of_lists_take_and_refuse_the_same_columns() {
    let needed = ["src", "dst", "size_bytes", "start_ns"];
    let outcomes =
        ["flow", "fct_ns", "ideal_ns", "slowdown", "retransmitted_bytes", "timeouts", "stopped", "slice"];
    for ending in ["csv", "parquet"] {
        let dir = tempfile::tempdir().unwrap();
        let list = format!("{FABRIC}[workload]\nflow_list = \"list.{ending}\"\n{SCHEMES}");
        fs::write(dir.path().join("x.toml"), list).unwrap();
        write_list(dir.path(), ending, &[needed.as_slice(), &outcomes].concat());
        assert_eq!(run(dir.path(), "x")["runs"][0]["summary"]["classes"][0]["flows"], 1);
        fs::remove_dir_all(dir.path().join("out")).unwrap();

        for (names, said) in [
            (
                [&needed[..], &["deadline"]].concat(),
                "unknown column \"deadline\"; did you mean \"deadline_ns\"?",
            ),
            ([&needed[..], &["weight"]].concat(), "unknown column \"weight\"; known are src, dst,"),
            ([&needed[..], &["task", "task"]].concat(), "column task is there twice"),
            (needed[..3].to_vec(), "column start_ns is missing"),
        ] {
            write_list(dir.path(), ending, &names);
            let output = Command::new(env!("CARGO_BIN_EXE_tailrace"))
                .args(["run", "x.toml"])
                .current_dir(dir.path())
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{text}");
            assert!(
                text.contains(&format!("list.{ending}")) && text.contains(said),
                "{said:?} is not in: {text}"
            );
            assert!(!dir.path().join("out").exists());
        }
    }
}
