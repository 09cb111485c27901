//! Mistakes about the parameters of schemes and what one scheme has otherwise.

use std::fs;

use crate::mistakes::place::{ExperimentFolder, FABRIC, accepted, refused, rule, said_of, scheme};

const SPRAYING: &str = r#"[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_rate = "10Gbps"
spine_rate = "10Gbps"
delay = "1us"
load_balancing = "spray"
"#;

#[test]
fn parameters_of_schemes_say_what_they_take() {
    let params = |scheme_name: &str, params: &str| {
        FABRIC.to_owned() + &rule("") + &scheme(scheme_name, &format!("[scheme.params]\n{params}"))
    };
    for (name, fields, words) in [
        ("karuna", "mcp = { form = \"norml\" }", ["mcp.form", "did you mean \"normal\"?"]),
        ("karuna", "mcp = { form = \"fast\" }", ["mcp.form", "known are normal, prototype, literal"]),
        ("karuna", "mcp = { hopeless = \"quit\" }", ["mcp.hopeless", "known are terminate, demote, keep"]),
        ("karuna", "port = { queues = 1 }", ["x.toml:15: scheme[0].params.port.queues: 1 queue", "2 to 8"]),
        ("karuna", "port = { queues = 9 }", ["params.port.queues: 9 queues", "1 to 8"]),
        ("karuna", "thresholds = \"best\"", ["params.thresholds", "expected \"optimal\", { objective ="]),
        (
            "karuna",
            "thresholds = { splitting = [\"1MB\"], sieving = [\"1MB\"] }",
            ["params.thresholds.splitting: 1 thresholds for 8 queues", "two fewer are needed"],
        ),
        (
            "karuna",
            "port.queues = 3\nthresholds = { splitting = [\"1MB\"], sieving = [\"1KB\", \"2KB\"] }",
            ["params.thresholds.sieving: 2 thresholds for 3 queues", "two fewer are needed"],
        ),
        (
            "karuna",
            "port.queues = 4\nthresholds = { splitting = [\"2MB\", \"1MB\"], sieving = [\"1KB\", \"2KB\"] }",
            ["params.thresholds.splitting", "must ascend"],
        ),
        (
            "karuna",
            "thresholds = { fitted = \"web-serch\", load = 0.5 }",
            ["params.thresholds.fitted: there is no workload \"web-serch\"", "tailrace workloads lists them"],
        ),
        (
            "karuna",
            "thresholds = { fitted = \"web-search\", load = 2 }",
            ["params.thresholds.load: 2", "between 0 and 1"],
        ),
        (
            "karuna",
            "thresholds = { fitted = \"web-search\", load = 0.5, splitting = [] }",
            ["params.thresholds", "expected \"optimal\", { objective ="],
        ),
        ("karuna", "ageing_timeouts = -1", ["params.ageing_timeouts: is integer `-1`", "whole number"]),
        ("pfabric", "rank = \"size\"", ["params.rank", "known are remaining, sent, edf"]),
        ("pfabric", "rank = \"remainig\"", ["params.rank", "did you mean \"remaining\"?"]),
        ("rcp", "router = \"magic\"", ["params.router", "known are estimated, exact"]),
        ("rcp", "router = \"exct\"", ["params.router", "did you mean \"exact\"?"]),
        ("baraat", "order = \"lifo\"", ["params.order", "did you mean \"fifo\"?"]),
        ("baraat", "order = \"smallest\"", ["params.order", "known are fifo-lm, fifo, fair, flow"]),
        ("baraat", "drain = 2", ["params.drain", "2 must be from 0 to 1"]),
        ("rcp", "router = \"exact\"\ndrain = 2", ["params.drain", "2 must be from 0 to 1"]),
    ] {
        refused(&params(name, fields), &words);
    }
    for field in ["residual_gain", "residual_bound", "queue_gain", "guard_rtts", "min_window", "max_bdps"] {
        for value in ["-1", "nan", "inf"] {
            let words = [&*format!("x.toml:15: scheme[0].params.mcp.{field}: "), "must be a number from"];
            refused(&params("karuna", &format!("mcp = {{ {field} = {value} }}")), &words);
        }
    }
}

#[test]
fn schemes_that_need_one_path_say_what_to_write() {
    for name in ["d3", "pdq", "rcp", "baraat"] {
        let experiment = SPRAYING.to_owned() + &rule("") + &scheme(name, "");
        let line = "with = { \"fabric.load_balancing\" = \"ecmp\" }";
        refused(
            &experiment,
            &["x.toml:9: fabric.load_balancing", &format!("must be \"ecmp\": {name} "), line],
        );
        accepted(&experiment.replace(&format!("\"{name}\""), &format!("\"{name}\"\n{line}")));
    }
}

#[test]
fn what_one_scheme_has_otherwise_is_checked_there() {
    for (with, words) in [
        ("3", ["x.toml:14: scheme[0].with: must be a table", "\"fabric.load_balancing\" = \"ecmp\""]),
        (
            "{ \"workload.load\" = 0.5 }",
            ["x.toml:14: scheme[0].with: \"workload.load\"", "only fabric, transport"],
        ),
        (
            "{ seed = 3 }",
            ["scheme[0].with: \"seed\"", "only fabric, transport, measure, level, flow and live"],
        ),
        (
            "{ \"fabirc.hosts\" = 3 }",
            ["scheme[0].with: \"fabirc.hosts\"", "only fabric, transport, measure, level, flow and live"],
        ),
        ("{ \"\" = 3 }", ["scheme[0].with: \"\" is not a dotted field", ""]),
        ("{ fabric = 3 }", ["x.toml:14: scheme[0].with.fabric: must be a table", "the integer 3"]),
        (
            "{ \"fabric.load_balancig\" = \"ecmp\" }",
            ["x.toml:14: scheme[0].with.fabric.load_balancig", "did you mean \"load_balancing\"?"],
        ),
        (
            "{ fabric.load_balancing = \"ecpm\" }",
            ["x.toml:14: scheme[0].with.fabric.load_balancing", "did you mean \"ecmp\"?"],
        ),
        ("{ \"transport.min_rto\" = \"0s\" }", ["scheme[0].with.transport.min_rto: is 0", "at least 1us"]),
        (
            "{ \"measure.trace_every_flow\" = 0 }",
            ["scheme[0].with.measure.trace_every_flow: is 0", "at least 1"],
        ),
    ] {
        let experiment = FABRIC.to_owned() + &rule("") + &scheme("dctcp", &format!("with = {with}"));
        refused(&experiment, &words);
    }
}

/// Dots need no quotes: `with = { transport.min_rto = … }` changes one field and leaves the others of the section.
#[test]
fn a_field_without_quotes_leaves_the_rest_of_its_section() {
    let transport = "[transport]\nmin_rto = \"7ms\"\nack_every = 2\n";
    let with = scheme("dctcp", "with = { transport.min_rto = \"5ms\" }");
    let place = ExperimentFolder::with(&(FABRIC.to_owned() + transport + &rule("") + &with));
    assert!(place.run(&["run", "x.toml"]).status.success());
    let run = fs::read_dir(place.path("out/x/runs")).unwrap().next().unwrap().unwrap();
    let resolved = fs::read_to_string(run.path().join("scenario.toml")).unwrap();
    assert!(resolved.contains("min_rto = \"5ms\"") && resolved.contains("ack_every = 2"), "{resolved}");
}

#[test]
fn switches_are_true_or_false_and_counts_are_whole() {
    for oracle in ["1", "\"true\"", "\"yes\""] {
        let experiment = FABRIC.to_owned() + &rule("") + &scheme("dctcp", &format!("oracle = {oracle}"));
        refused(&experiment, &["x.toml:14: scheme[0].oracle: is", "must be true or false"]);
    }
    for (every, said) in
        [("0", "at least 1"), ("-1", "whole number"), ("1.5", "whole number"), ("true", "whole")]
    {
        let measure = format!("[measure]\ntrace_every_flow = {every}\n");
        let experiment = FABRIC.to_owned() + &rule("") + &measure + &scheme("karuna", "");
        refused(&experiment, &["x.toml:13: measure.trace_every_flow: is", said]);
    }
}

#[test]
fn a_mistake_that_a_sweep_makes_names_the_point() {
    for (name, axis, values, words) in [
        (
            "dctcp",
            "workload.deadline.fixed",
            "[\"1ms\", \"0s\"]",
            ["workload.deadline.fixed: is 0s", "(in the sweep, at workload.deadline.fixed = \"0s\")"],
        ),
        (
            "dctcp",
            "workload.deadline.gamma.share",
            "[0.3, 1.5]",
            ["workload.deadline.gamma.share: is 1.5", "at workload.deadline.gamma.share = 1.5)"],
        ),
        (
            "dctcp",
            "workload.reveals",
            "[\"size\", \"deadlin\"]",
            ["did you mean \"deadline\"?", "at workload.reveals = \"deadlin\")"],
        ),
        (
            "karuna",
            "scheme.karuna.params.mcp.queue_gain",
            "[1.0, -1.0]",
            ["scheme[0].params.mcp.queue_gain: -1", "at scheme.karuna.params.mcp.queue_gain = -1.0)"],
        ),
        (
            "dctcp",
            "measure.trace_every_flow",
            "[1, 0]",
            ["measure.trace_every_flow: is 0", "at measure.trace_every_flow = 0)"],
        ),
    ] {
        let experiment = FABRIC.to_owned() + &rule("") + &scheme(name, "");
        refused(&(experiment + &format!("[sweep]\n\"{axis}\" = {values}\n")), &words);
    }
    // What is wrong without the sweep is not the sweep's.
    let experiment = FABRIC.to_owned() + &rule("reveals = \"all\"") + &scheme("dctcp", "");
    assert!(!said_of(&(experiment + "[sweep]\nseed = [1, 2]\n")).contains("sweep"));
}
