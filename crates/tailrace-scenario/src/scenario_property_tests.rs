//! Nothing makes the parser fall, and what it reads can be used.

use proptest::prelude::*;

use crate::Scenario;
use crate::scenario_tests::{SCENARIO, SLICED, flows};

/// One of every kind of workflow.
const TASKS: &str = r#"
[fabric]
preset = "fattree64"
[workload]
task_counters = 3
[[workload.task]]
workflow = { parallel = { clients = { racks = [1] }, servers = 3, from = [0, 1, 2, 9] } }
sizes = { bing-like = { base = "1MB", heavy = [3, 8] } }
load = 0.2
count = 7
compute = { exp = "1ms" }
[[workload.task]]
workflow = { partition-aggregate = { stages = 2, mids = 1, workers = 5, selectivity = 0.1 } }
flow_sizes = { uniform = ["2KB", "50KB"] }
every = "1ms"
stop = "9ms"
[[workload.task]]
workflow = { shuffle = { mappers = 3, reducers = 2, stages = 2 } }
sizes = "mapreduce"
arrivals = "once"
count = 2
[[workload.task]]
workflow = { ring-all-reduce = { hosts = 4 } }
sizes = { fixed = "1MB" }
arrivals = "periodic"
every = "1ms"
count = 3
background = true
[[workload.task]]
workflow = { pipeline = { hosts = [3, 1, 2], microbatches = 3 } }
sizes = { fixed = "1MB" }
load = 0.1
count = 3
class = 9
[[workload.task]]
sizes = { fixed = "1MB" }
load = 0.1
count = 3
[[workload.task.workflow.graph]]
name = "map"
from = [0]
to = [3, 1]
[[workload.task.workflow.graph]]
name = "join"
from = [3]
to = { racks = [2] }
after = ["map"]
selectivity = 0.5
[scheme]
name = "pias"
"#;

#[test]
fn every_workflow_is_read_and_written() {
    let scenario = Scenario::parse(TASKS).unwrap();
    assert_eq!(scenario.workload.tasks.len(), 6);
    exercise(TASKS);
}

fn any_scenario() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![SCENARIO, SLICED, TASKS])
}

/// A valid scenario with some bytes replaced, moved or added, or its end cut off.
fn mutated() -> impl Strategy<Value = String> {
    let edit = (any::<usize>(), 0usize..4, prop::sample::select(b"0123456789=.[]{}\"\n-,aeinorst_".to_vec()));
    (any_scenario(), prop::collection::vec(edit, 1..6)).prop_map(|(text, edits)| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, kind, byte) in edits {
            let at = at % bytes.len();
            match kind {
                0 => bytes[at] = byte,
                1 => bytes[at..].rotate_left(1),
                2 => bytes.insert(at, byte),
                _ => bytes.truncate(at.max(1)),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Values of every type and size for every field.
fn any_value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|x| if x.is_finite() { format!("{x:e}") } else { "nan".to_owned() }),
        "[0-9]{1,20}(\\.[0-9]{1,3})?(ps|us|s|B|KB|GB|Gbps|Tbps|bps)".prop_map(|text| format!("\"{text}\"")),
        "[ -~]{0,20}".prop_map(|text| format!("{text:?}")),
        Just("true".to_owned()),
        Just("[]".to_owned()),
        Just("[0, 1, 2]".to_owned()),
        prop::collection::vec(any::<u16>(), 0..4).prop_map(|racks| format!("{{ racks = {racks:?} }}")),
        Just("{}".to_owned()),
        Just("\"all\"".to_owned()),
    ]
}

/// Reads, and if that works uses all that follows from a scenario without a run.
fn exercise(text: &str) {
    if let Ok(scenario) = Scenario::parse(text) {
        assert_eq!(Scenario::parse(&scenario.resolved()).unwrap(), scenario);
        let fabric = scenario.fabric.build();
        scenario.facts(&fabric);
        match flows(&scenario) {
            Ok(flows) => flows.take(100).for_each(drop),
            Err(error) => assert!(error.field.starts_with("workload"), "{error}"),
        }
    }
}

/// Found by chance once.
#[test]
fn a_rule_that_takes_all_pairs_is_read_or_refused() {
    exercise(&SCENARIO.replace("pairs = \"descending\"", "pairs = \"all\""));
}

proptest! {
    #![proptest_config(tailrace_cases::cases(2_000))]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        exercise(&text);
    }

    #[test]
    fn any_slip_is_read_or_refused(text in mutated()) {
        exercise(&text);
    }

    #[test]
    fn any_value_is_read_or_refused(scenario in any_scenario(), line in 0usize..80, value in any_value()) {
        let line = line % scenario.lines().count();
        let replaced: Vec<String> = scenario.lines().enumerate().map(|(index, text)| match text.split_once(" = ") {
            Some((field, _)) if index == line => format!("{field} = {value}"),
            _ => text.to_owned(),
        }).collect();
        exercise(&replaced.join("\n"));
    }
}
