//! Whole scenarios: what is read, what is refused and how that is said.

use std::path::Path;

use tailrace_config::ScenarioError;
use tailrace_core::{Bytes, Rate, Time};
use tailrace_workload::feed::Feed;
use tailrace_workload::{FlowSpec, Plan};

use crate::Scenario;

pub(crate) const SCENARIO: &str = r#"seed = 7

[fabric]
preset = "spine144"
leaves = 3

[transport]
initial_window = 70
min_rto = "2ms"

[workload]
load = 0.6
flows = 1000
round = "packet"

[[workload.rule]]
sizes = "web-search"
pairs = "ascending"

[[workload.rule]]
sizes = { mix = [{ weight = 1, sizes = "data-mining" }, { weight = 2.5, sizes = { fixed = "10KB" } }] }
pairs = "descending"
start = "1ms"

[scheme]
name = "pias"
params = { thresholds = ["10KB", "1MB"], ecn = { k = 65 } }

[measure]
warmup = "5ms"
sample_every = "100us"
sample_ports = ["leaf0->host0"]
"#;

/// Another, with slices between racks.
pub(crate) const SLICED: &str = r#"[fabric]
preset = "spine144"
leaves = 3

[workload]
sizes = { fixed = "10KB" }
duration = "10ms"

[[workload.rule]]
slice = 1
pattern = "pairs"
from = { racks = [0, 2] }
to = [16, 17]
load = 0.2

[[workload.rule]]
slice = 2
pattern = "other-racks"
destinations = 2
load = 0.3

[[slice]]
weight = 1

[[slice]]
weight = 2.5
objective = "deadline"

[scheme]
name = "uranus"
params = { control = { slot = "1ms" }, guests = { completion = "cubic" } }

[measure]
horizon = "20ms"
sample_every = "1ms"
"#;

/// The flows of a scenario.
pub(super) fn flows(scenario: &Scenario) -> Result<Feed, ScenarioError> {
    Feed::new(&scenario.workload, &scenario.base, scenario.setting(), scenario.seed)
}

fn changed(from: &str, to: &str) -> String {
    assert!(SCENARIO.contains(from));
    SCENARIO.replacen(from, to, 1)
}

fn error(text: &str) -> String {
    Scenario::parse(text).unwrap_err().to_string()
}

#[test]
fn a_scenario_is_read() {
    let scenario = Scenario::parse(SCENARIO).unwrap();
    assert_eq!(scenario.seed, 7);
    assert_eq!(scenario.fabric.hosts(), 48);
    assert_eq!(scenario.transport.initial_window, 70);
    assert_eq!(scenario.workload.rules.len(), 2);
    assert_eq!(scenario.workload.rules[1].class, Some(1));
    assert_eq!(scenario.measure.long, Bytes::new(10_000_000));
    assert_eq!(flows(&scenario).unwrap().count(), 1000);
    let facts = scenario.facts(&scenario.fabric.build());
    assert_eq!((facts.hosts, facts.host_rate), (48, Rate::from_gbps(10)));
    assert_eq!(facts.base_rtt, Time::from_ps(84_680_000));
    let traffic = facts.traffic.unwrap();
    assert_eq!(traffic.workload, None);
    assert!((traffic.load - 0.6).abs() < 0.01);
}

#[test]
fn traffic_of_one_table_has_its_name() {
    let text = changed(
        "sizes = { mix = [{ weight = 1, sizes = \"data-mining\" }, { weight = 2.5, sizes = { fixed = \"10KB\" } }] }",
        "sizes = \"web-search\"",
    );
    let traffic = Scenario::parse(&text).unwrap().traffic().unwrap();
    assert_eq!(traffic.workload.as_deref(), Some("web-search"));
    assert!((traffic.sizes.mean() - 1_665_830.8).abs() < 0.1);
}

#[test]
fn the_resolved_text_is_read_back_and_stays() {
    let scenario = Scenario::parse(SCENARIO).unwrap();
    let resolved = scenario.resolved();
    let again = Scenario::parse(&resolved).unwrap();
    assert_eq!(again, scenario, "{resolved}");
    assert_eq!(again.resolved(), resolved);
    for written in [
        "spine_rate = \"40Gbps\"",
        "load_balancing = \"spray\"",
        "mss = 1460",
        "long = \"10MB\"",
        "class = 1",
    ] {
        assert!(resolved.contains(written), "{written} is not in\n{resolved}");
    }
}

#[test]
fn the_key_depends_on_what_matters() {
    let key = |text: &str| Scenario::parse(text).unwrap().key();
    let base = key(SCENARIO);
    assert_eq!(key(&changed("leaves = 3", "leaves = 3\nspines = 4")), base, "a default written out");
    let other_order = "{ ecn = { k = 65 }, thresholds = [\"10KB\", \"1MB\"] }";
    let params = "{ thresholds = [\"10KB\", \"1MB\"], ecn = { k = 65 } }";
    assert_eq!(key(&changed(params, other_order)), base, "the order of fields");
    for (from, to) in [("seed = 7", "seed = 8"), ("k = 65", "k = 66"), ("load = 0.6", "load = 0.61")] {
        assert_ne!(key(&changed(from, to)), base);
    }
}

#[test]
fn errors_say_line_field_and_remedy() {
    for (from, to, expected) in [
        ("load = 0.6", "load = 1.6", "line 12: workload.load: is 1.6, but must lie between 0 and 1"),
        (
            "leaves = 3",
            "leafs = 3",
            "line 5: fabric.leafs: unknown field \"leafs\"; did you mean \"leaves\"?",
        ),
        ("leaves = 3", "leaves = 0", "line 5: fabric.leaves: is 0, but must be at least 1"),
        (
            "\"spine144\"",
            "\"spin144\"",
            "line 4: fabric.preset: unknown preset \"spin144\"; did you mean \"spine144\"?",
        ),
        ("\"2ms\"", "\"2\"", "line 9: transport.min_rto: cannot read \"2\" as a time"),
        (
            "min_rto = \"2ms\"",
            "ack_bytes = 20",
            "line 9: transport.ack_bytes: is 20, but must be 40, its headers, to 1500",
        ),
        ("min_rto = \"2ms\"", "ack_bytes = 1501", "line 9: transport.ack_bytes: is 1501, but must be 40"),
        (
            "min_rto = \"2ms\"",
            "min_window = 71",
            "line 9: transport.min_window: is 71, but must not be above initial_window = 70",
        ),
        ("leaves = 3", "ecmp_seed = \"x\"", "line 5: fabric.ecmp_seed: "),
        (
            "leaves = 3",
            "queue_unit = \"packet\"",
            "line 5: fabric.queue_unit: unknown value \"packet\"; did you mean \"packets\"?",
        ),
        (
            "leaves = 3",
            "marking_at = \"deque\"",
            "line 5: fabric.marking_at: unknown value \"deque\"; did you mean \"dequeue\"?",
        ),
        ("leaves = 3", "cards_mark = 0", "line 5: fabric.cards_mark: "),
        (
            "leaves = 3",
            "buffer = \"0.5pkt\"",
            "line 5: fabric.buffer: cannot read \"0.5pkt\" as a queue length",
        ),
        (
            "leaves = 3",
            "queue_unit = \"packets\"\nbuffer = \"1499B\"",
            "line 6: fabric.buffer: is 1.499KB, but must hold at least one packet of 1.5KB",
        ),
        ("initial_window = 70", "initial_window = 0", "line 8: transport.initial_window: is 0"),
        (
            "\"web-search\"",
            "\"websearch\"",
            "line 17: workload.rule[0].sizes: unknown workload \"websearch\"; did you mean",
        ),
        ("weight = 2.5", "weight = -2.5", "line 21: workload.rule[1].sizes.mix[1].weight: is -2.5"),
        ("start = \"1ms\"", "stop = \"0s\"", "line 23: workload.rule[1].stop: is 0"),
        (
            "round = \"packet\"",
            "round = \"pakcet\"",
            "line 14: workload.round: unknown value \"pakcet\"; did you mean \"packet\"?",
        ),
        ("flows = 1000", "flows = 0", "line 13: workload.flows: is 0, but must be 1 to"),
        (
            "flows = 1000",
            "flow = 1000",
            "line 13: workload.flow: unknown field \"flow\"; did you mean \"flows\"?",
        ),
        (
            "pairs = \"desc",
            "pair = \"desc",
            "line 22: workload.rule[1].pair: unknown field \"pair\"; did you mean \"pairs\"?",
        ),
        ("load = 0.6", "load = true", "line 12: workload.load: is boolean `true`, but must be a number"),
        ("flows = 1000", "", "line 11: workload.flows: is missing; say how many flows"),
        ("name = \"pias\"", "", "line 25: scheme: missing field `name`"),
        ("leaf0->host0", "leaf0->host99", "line 32: measure.sample_ports[0]: unknown port"),
        (
            "[measure]",
            "[measures]",
            "line 29: measures: unknown section \"measures\"; did you mean \"measure\"?",
        ),
        ("seed = 7", "seed = \"seven\"", "line 1: seed: is string \"seven\", but must be a whole number"),
        ("seed = 7", "seed = = 7", "line 1: "),
        (
            "\"spine144\"",
            "\"spine144\"\nbuffer = \"1KB\"",
            "line 5: fabric.buffer: is 1KB, but must hold at least one packet",
        ),
    ] {
        let found = error(&changed(from, to));
        assert!(found.starts_with(expected), "{to}: {found}");
    }
    assert!(error("").starts_with("fabric.kind: is missing"));
}

#[test]
fn rules_cannot_contradict_each_other() {
    let error = |workload: &str| {
        error(&format!(
            "fabric = {{ preset = \"micro4\" }}\nscheme = {{ name = \"x\" }}\n[workload]\n{workload}"
        ))
    };
    assert!(error("flows = 1\nload = 0.5").contains("missing field `sizes`"));
    assert!(error("flows = 1\nsizes = \"long-flow\"").contains("load: is missing"));
    assert!(error("flows = 1\nsizes = \"long-flow\"\nload = 0.1\nevery = \"1us\"").contains("load or every"));
    assert!(error("flows = 1\nsizes = \"long-flow\"\nflow_share = 0.1").contains("belongs into each"));
    assert!(
        error("sizes = \"long-flow\"\nload = 0.1\nduration = \"1s\"\nstart = \"2s\"")
            .contains("workload.start: must come before")
    );
    assert!(error("flow_list = \"x.csv\"\nload = 0.5").contains("workload.load: cannot be combined"));
    assert!(error("flows = 1\nrule = 3").contains("[[workload.rule]]"));
    assert!(error("arrivals = \"once\"\nsizes = \"long-flow\"\nload = 0.5").contains("has no meaning"));
    let two = |rest: &str| error(&format!("flows = 1\nsizes = \"long-flow\"\n{rest}"));
    assert!(
        two("load = 0.5\n[[workload.rule]]\nflow_share = 1\n[[workload.rule]]")
            .contains("rule[1].flow_share: is missing")
    );
    assert!(two("[[workload.rule]]\nflow_share = 1").contains("workload.load: is missing"));
    assert!(two("load = 2\n[[workload.rule]]\nflow_share = 1").contains("workload.load: is 2"));
    assert!(
        two("load = 0.5\n[[workload.rule]]\nload = 1.5").contains("line 8: workload.rule[0].load: is 1.5")
    );
}

/// A folder for one test's files.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("tailrace-scenario-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn files_are_read_relative_to_the_scenario() {
    let folder = folder("files");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let path = folder.join("a.toml");
    let head = "fabric = { preset = \"micro4\" }\nscheme = { name = \"x\" }\n";
    write("a.toml", &format!("{head}[workload]\nflows = 10\nload = 0.5\nsizes = {{ file = \"x.cdf\" }}"));
    write("x.cdf", "1000 0\n3000 1\n");
    let scenario = Scenario::read(&path).unwrap();
    assert_eq!(scenario.traffic().unwrap().sizes.mean(), 2000.0);
    assert!(!scenario.resolved().contains("x.cdf"));

    write("x.cdf", "1000 0\n300 1\n");
    let error = Scenario::read(&path).unwrap_err();
    assert_eq!((error.file.as_deref(), error.line), (Some(folder.join("x.cdf").as_path()), Some(2)));
    std::fs::remove_file(folder.join("x.cdf")).unwrap();
    let error = Scenario::read(&path).unwrap_err().to_string();
    assert!(error.contains("a.toml:") && error.contains("sizes.file: cannot read"), "{error}");

    write("a.toml", &format!("{head}workload = {{ flow_list = \"f.csv\" }}"));
    write("f.csv", "src,dst,size_bytes,start_ns\n0,1,10,5\n2,3,20,1\n");
    let scenario = Scenario::read(&path).unwrap();
    let flows: Vec<FlowSpec> = flows(&scenario).unwrap().collect();
    assert_eq!(flows.iter().map(|flow| flow.src).collect::<Vec<_>>(), [2, 0]);
    let key = scenario.key();
    write("f.csv", "src,dst,size_bytes,start_ns\n0,1,11,5\n");
    assert_ne!(Scenario::read(&path).unwrap().key(), key);
    write("b.toml", &scenario.resolved());
    assert!(Scenario::read(&folder.join("b.toml")).unwrap_err().to_string().contains("has changed since"));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        Scenario::read(Path::new("nowhere.toml"))
            .unwrap_err()
            .to_string()
            .starts_with("nowhere.toml: cannot be read")
    );
}

#[test]
fn the_schema_names_every_field() {
    let schema = Scenario::schema();
    let text = format!("{schema:?}");
    let resolved = Scenario::parse(SCENARIO).unwrap().to_table();
    for section in ["fabric", "transport", "workload", "measure"] {
        for field in resolved[section].as_table().unwrap().keys() {
            assert!(text.contains(&format!("\"{field}\"")), "{section}.{field}");
        }
    }
}

#[test]
fn a_scenario_with_slices_is_read() {
    let scenario = Scenario::parse(SLICED).unwrap();
    assert_eq!(Scenario::parse(&scenario.resolved()).unwrap(), scenario);
    assert!(scenario.resolved().contains("racks = [0, 2]"), "{}", scenario.resolved());
    let facts = scenario.facts(&scenario.fabric.build());
    assert_eq!((facts.slices.len(), facts.horizon), (2, Some(Time::from_ms(20))));
    let flows: Vec<FlowSpec> = flows(&scenario).unwrap().collect();
    for flow in flows.iter().filter(|flow| flow.slice == 1) {
        assert!([0, 2].contains(&facts.racks[flow.src as usize]) && [16, 17].contains(&flow.dst));
    }
    assert!((1..=2).all(|slice| flows.iter().any(|flow| flow.slice == slice)));
}

#[test]
fn slices_are_checked() {
    let error = |slices: &str, rule: &str| {
        let text = format!(
            "[fabric]\npreset = \"micro4\"\n[scheme]\nname = \"dctcp\"\n{slices}\n[workload]\nflows = 10\n\
             sizes = {{ fixed = \"10KB\" }}\nload = 0.5\n{rule}"
        );
        Scenario::parse(&text).map(drop).map_err(|error| error.to_string())
    };
    let two = "[[slice]]\nweight = 1\n[[slice]]\nweight = 2\nobjective = \"deadline\"\n";
    let both = "[[workload.rule]]\nslice = 1\n[[workload.rule]]\nslice = 2";
    assert_eq!(
        error(
            two,
            &both.replace("slice = 1", "slice = 1\nload = 0.1").replace("slice = 2", "slice = 2\nload = 0.2")
        ),
        Ok(())
    );
    for (weight, said) in [("0", "is 0"), ("-1", "is -1"), ("inf", "is inf"), ("nan", "is NaN")] {
        let message = error(&format!("[[slice]]\nweight = {weight}"), "slice = 1").unwrap_err();
        assert!(message.contains("slice[0].weight") && message.contains(said), "{message}");
    }
    let idle = error(two, "slice = 1").unwrap_err();
    assert!(idle.contains("slice[1]: has no flows"), "{idle}");
    let unknown = error(two, "slice = 3").unwrap_err();
    assert!(unknown.contains("workload.rule[0].slice: is 3, but there are 2 slices"), "{unknown}");
    assert!(error("[[slice]]\nweigth = 1", "slice = 1").is_err());
    assert_eq!(error("", "slice = 3"), Ok(()), "without slices the number is for statistics only");
}

/// Runs of a sweep share what does not depend on the seed.
#[test]
fn plans_differ_with_the_seed_where_the_workload_says_so() {
    let tasks = "[workload]\n[[workload.task]]\nload = 0.4\ncount = 20\n\
                 workflow = { parallel = { clients = [0, 1], servers = 3, from = { racks = [1, 2] } } }\nsizes = \"web-search\"\n";
    let rules =
        |fields: &str| format!("[workload]\nsizes = \"web-search\"\nload = 0.4\nflows = 50\n{fields}");
    let mixed = "[workload]\nload = 0.5\nflows = 50\n[[workload.rule]]\nsizes = \"web-search\"\nflow_share = 0.4\n\
                 [[workload.rule]]\nsizes = \"data-mining\"\nflow_share = 0.6\npattern = { incast = { fan_in = 5 } }\n";
    for (workload, draws) in [
        (rules(""), false),
        (rules("pattern = \"other-racks\""), false),
        (rules("deadline = { exp = \"5ms\" }"), false),
        (mixed.to_owned(), false),
        (rules("pattern = \"permutation\""), true),
        (rules("destinations = 2"), true),
        (tasks.to_owned(), true),
    ] {
        let text = format!("[fabric]\npreset = \"fattree64\"\n{workload}\n[scheme]\nname = \"dctcp\"\n");
        let mut scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(scenario.workload.draws_from_seed(), draws, "{workload}");
        let mut plan = |seed: u64| {
            scenario.seed = seed;
            format!("{:?}", Plan { seed: 0, ..scenario.plan().unwrap() })
        };
        let first = plan(1);
        assert_eq!((2..12).any(|seed| plan(seed) != first), draws, "{workload}");
    }
}
