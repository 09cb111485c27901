//! What is made of a run when it is over, on several threads.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

use tailrace_core::Running;
use tailrace_experiment::{RunResult, read_scenario, run, write_run};
use tailrace_run::{Control, ThreadPolicy, Threads, threads_of};

/// Lets a run have so many threads.
struct With(usize);

impl Control for With {
    fn progress(&self, _: &mut dyn Running) {}
    fn note(&self, _: String) {}
    fn interrupted(&self) -> bool {
        false
    }
    fn threads(&self) -> Threads {
        Threads { at_most: self.0, policy: ThreadPolicy::Always }
    }
}

/// More flows than are looked at at a time, of several classes, some with deadlines.
const SCENARIO: &str = r#"
level = "flow"
[fabric]
preset = "micro4"
[workload]
sizes = { uniform = ["2KB", "200KB"] }
load = 0.6
flows = 20000
[[workload.rule]]
byte_share = 0.3333
deadline = { ideal = { factor = 10.0 } }
[[workload.rule]]
byte_share = 0.3333
[[workload.rule]]
byte_share = 0.3334
[measure]
warmup = "1ms"
[scheme]
name = "rcp"
"#;

/// What is written of a run on so many threads, by file.
fn written(result: &RunResult, threads: usize) -> BTreeMap<OsString, Vec<u8>> {
    let place = tempfile::tempdir().expect("a folder");
    write_run(place.path(), result, threads).expect("it is written");
    let files = fs::read_dir(place.path()).expect("the folder is there").flatten();
    files.map(|file| (file.file_name(), fs::read(file.path()).expect("a file"))).collect()
}

#[test]
fn statistics_and_tables_do_not_depend_on_the_threads() {
    let scenario = read_scenario(SCENARIO, Path::new("")).unwrap();
    let made_on = |threads: usize| {
        let result = run(&scenario, &With(threads), &[]).unwrap();
        assert_eq!((result.flows.rows(), result.summary.classes.len()), (20_000, 4 * 6));
        written(&result, threads)
    };
    let one = made_on(1);
    assert!(one.contains_key("flows.parquet".as_ref() as &OsStr) && one.len() > 4);
    for threads in [2, 3, 7] {
        assert!(made_on(threads) == one, "{threads} threads");
    }
}

/// Nor on how many parts a fabric is cut into, also where there are fewer processors.
#[test]
fn what_is_written_of_packets_does_not_depend_on_the_parts() {
    let text = r#"
[fabric]
preset = "spine144"
[workload]
sizes = "web-search"
load = 0.6
flows = 100
deadline = { exp = "20ms" }
[measure]
horizon = "3ms"
sample_every = "500us"
sample_ports = "all"
[scheme]
name = "pias"
"#;
    let scenario = read_scenario(text, Path::new("")).unwrap();
    let made_on = |threads: usize| {
        let control = With(threads);
        assert_eq!(threads_of(&scenario, control.threads()).unwrap(), threads);
        written(&run(&scenario, &control, &[]).unwrap(), threads)
    };
    let one = made_on(1);
    assert!(one.contains_key("series.parquet".as_ref() as &OsStr) && one.len() > 4);
    for threads in [2, 3, 4, 7, 16] {
        assert!(made_on(threads) == one, "{threads} threads");
    }
}

/// Groups of rows are encoded beside each other.
#[test]
fn tables_of_several_groups_of_rows_do_not_depend_on_the_threads() {
    let scenario =
        read_scenario(&SCENARIO.replace("flows = 20000", "flows = 300000"), Path::new("")).unwrap();
    let result = run(&scenario, &With(1), &[]).unwrap();
    assert!(result.flows.rows() > 1 << 18, "more than a group has");
    let one = written(&result, 1);
    assert!(one == written(&result, 3) && one == written(&result, 2));
}
