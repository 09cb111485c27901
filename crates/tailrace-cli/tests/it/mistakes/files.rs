//! Mistakes in files and overrides, and failures: earlier results stay whole.

use std::fs;
use std::process::Command;

use crate::mistakes::place::{ExperimentFolder, said_of, stderr};

/// A small experiment that runs in milliseconds; tests change one thing about it.
const GOOD: &str = r#"title = "small"
[fabric]
kind = "star"
hosts = 4
host_rate = "10Gbps"
delay = "1us"
buffer = "360KB"
[workload]
sizes = "web-search"
load = 0.5
flows = 20
[[scheme]]
name = "mlfq"
[scheme.params]
thresholds = ["10KB", "20KB"]
port = { queues = 3 }
"#;

/// What is said of a file in which `from` has become `to`.
fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    said_of(&GOOD.replace(from, to))
}

#[test]
fn the_good_file_is_good() {
    let place = ExperimentFolder::with(GOOD);
    let output = place.run(&["run", "x.toml"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(place.path("out/x/summary.csv").exists());
}

#[test]
fn unknown_names_are_named_with_a_suggestion() {
    for (from, to, said) in [
        ("\"mlfq\"", "\"mlqf\"", ["x.toml:13", "scheme[0].name", "did you mean \"mlfq\"?"]),
        ("\"web-search\"", "\"web-serch\"", ["x.toml:9", "workload.sizes", "did you mean \"web-search\"?"]),
        ("hosts = 4", "host = 4", ["x.toml:4", "fabric.host", "hosts"]),
        ("flows = 20", "flwos = 20", ["x.toml:11", "workload.flwos", "flows"]),
        ("queues = 3", "queus = 3", ["x.toml:", "scheme[0].params.port.queus", "queues"]),
        ("[workload]", "[workloads]", ["x.toml", "workload", ""]),
        ("\"star\"", "\"ring\"", ["x.toml:3", "fabric.kind", "star"]),
    ] {
        let message = changed(from, to);
        said.iter().for_each(|part| assert!(message.contains(part), "{part:?} is not in: {message}"));
    }
}

#[test]
fn loads_outside_zero_and_one_are_refused() {
    for load in ["1.0", "1.5", "0.0", "-0.3", "nan"] {
        let message = changed("load = 0.5", &format!("load = {load}"));
        assert!(message.contains("x.toml:10: workload.load"), "{message}");
        assert!(message.contains("between 0 and 1"), "{message}");
    }
}

#[test]
fn loads_of_several_rules_must_stay_below_one_together() {
    let rules = "[[workload.rule]]\nsizes = \"web-search\"\nload = 0.7\n".repeat(2);
    let place = ExperimentFolder::new();
    let (start, end) = (GOOD.find("[workload]").unwrap(), GOOD.find("[[scheme]]").unwrap());
    place.write("x.toml", &format!("{}[workload]\nflows = 20\n{rules}{}", &GOOD[..start], &GOOD[end..]));
    let message = place.mistake(&["run", "x.toml"]);
    assert!(message.contains("workload.load") && message.contains("1.40"), "{message}");
}

#[test]
fn times_beyond_reason_are_refused() {
    for (field, said) in [
        ("workload.start=18446743s", "at most 1000000s"),
        ("transport.min_rto=200s", "at most 100s"),
        ("measure.horizon=18446743s", "at most 1000000s"),
    ] {
        let place = ExperimentFolder::new();
        place.write("x.toml", GOOD);
        let message = place.mistake(&["run", "x.toml", "--set", field]);
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn claims_and_expectations_ask_for_what_is_there() {
    let number = "{ metric = \"fct_mean_us\", class = \"short\", of = \"mlfq\" }";
    for (from, to, said) in [
        (
            "fct_mean_us",
            "fct_men_us",
            "number.metric: unknown metric \"fct_men_us\"; did you mean \"fct_mean_us\"?",
        ),
        ("short", "shrt", "number.class: unknown class"),
        ("\"mlfq\"", "\"mlqf\"", "number.of: unknown scheme \"mlqf\"; did you mean \"mlfq\"?"),
        (" }", ", stat = \"mode\" }", "number.stat"),
        (" }", ", points = \"worst\" }", "number.points: unknown statistic \"worst\""),
        (" }", ", points = \"max\", against = \"mlfq\", against_at = {} }", "number.points: compares"),
        (" }", ", from = \"abc\" }", "number.from"),
        (" }", ", at = { load = 0.5 } }", "number.at"),
        (" }", ", against = \"pias\" }", "number.against"),
    ] {
        let place = ExperimentFolder::new();
        let number = number.replacen(from, to, 1);
        let claim = format!("{GOOD}\n[[claim]]\nid = \"1\"\npaper = 1\ntolerance = 0\nnumber = {number}\n");
        place.write("x.toml", &claim);
        let message = place.mistake(&["check", "x.toml"]);
        assert!(message.contains("x.toml") && message.contains(&format!("claim[0].{said}")), "{message}");
    }
    let place = ExperimentFolder::new();
    place.write("x.toml", &format!("{GOOD}\n[[expect]]\ntext = \"t\"\nnumber = {number}\n"));
    let message = place.mistake(&["check", "x.toml"]);
    assert!(message.contains("expect[0]") && message.contains("neither min nor max"), "{message}");
}

#[test]
fn claims_say_how_near_is_near_enough() {
    let number = "number = { metric = \"fct_mean_us\", of = \"mlfq\" }";
    let change = "number = { metric = \"fct_mean_us\", of = \"mlfq\", against = \"mlfq\" }";
    for (fields, said) in [
        (format!("paper = \"lower\"\n{number}"), "paper: is a direction, which needs a number with against"),
        (format!("paper = \"lower\"\ntolerance = 0.1\n{change}"), "tolerance: means nothing for a direction"),
        (format!("paper = 1\n{number}"), "tolerance: is missing: how far from paper the number may be"),
        (format!("paper = 1\ntolerance = -1\n{number}"), "tolerance: must be at least 0, not -1"),
        (
            format!("paper = 1\ntolerance = 0\nwrong = \"mlqf\"\n{number}"),
            "wrong: unknown scheme \"mlqf\"; did you mean",
        ),
        (
            format!("paper = 1\ntolerance = 0\nmeasured = {{ value = 1, scale = 0 }}\n{number}"),
            "measured.scale: must be above 0 and at most 1, not 0",
        ),
        (
            format!("paper = 1\ntolerance = 0\nmeasured = {{ value = nan, scale = 1 }}\n{number}"),
            "measured: must have numbers that are finite",
        ),
        (
            format!("paper = 1\ntolerance = 0\nmeasured = {{ value = 1, spread = -1, scale = 1 }}\n{number}"),
            "measured.spread: must be at least 0, not -1",
        ),
        (
            format!(
                "paper = 1\ntolerance = 0\ndeviation = {{ within = [-inf, 1], reason = \"\" }}\n{number}"
            ),
            "deviation.within: must be two numbers, not [-inf, 1.0]",
        ),
        (format!("paper = [1, 2]\ndeviation = \"none\"\n{number}"), "deviation"),
    ] {
        let place = ExperimentFolder::new();
        place.write("x.toml", &format!("{GOOD}\n[[claim]]\nid = \"1\"\n{fields}\n"));
        let message = place.mistake(&["check", "x.toml"]);
        assert!(message.contains("x.toml") && message.contains(&format!("claim[0].{said}")), "{message}");
    }
}

#[test]
fn thresholds_must_ascend_and_fit_the_queues() {
    let message = changed("[\"10KB\", \"20KB\"]", "[\"20KB\", \"10KB\"]");
    assert!(
        message.contains("x.toml:15: scheme[0].params.thresholds") && message.contains("must ascend"),
        "{message}"
    );
    let message = changed("[\"10KB\", \"20KB\"]", "[\"20KB\"]");
    assert!(message.contains("one fewer than queues"), "{message}");
    let message = changed("\"20KB\"", "\"20 parsecs\"");
    assert!(message.contains("20 parsecs") && message.contains("100KB"), "{message}");
}

#[test]
fn a_fabric_whose_parts_do_not_fit_is_refused() {
    for (from, to, said) in [
        ("hosts = 4", "hosts = 0", "fabric.hosts"),
        ("hosts = 4", "hosts = 70000", "fabric.hosts"),
        ("\"10Gbps\"", "\"0bps\"", "fabric.host_rate"),
        ("\"360KB\"", "\"100B\"", "fabric.buffer"),
        ("\"1us\"", "\"1parsec\"", "fabric.delay"),
        (
            "buffer = \"360KB\"",
            "shared_buffer = { total = \"2KB\", alpha = 0.5 }",
            "fabric.shared_buffer.alpha",
        ),
    ] {
        let message = changed(from, to);
        assert!(message.contains(said) && message.contains("x.toml:"), "{message}");
    }
}

#[test]
fn broken_toml_says_the_line() {
    let message = changed("load = 0.5", "load = = 0.5");
    assert!(message.contains("x.toml:10"), "{message}");
}

#[test]
fn broken_cdf_files_say_the_line() {
    for (text, line, said) in [
        ("100 0\n200 0.5\n150 0.7\n300 1\n", 3, "fall"),
        ("100 0\n200 0.5\n300 0.4\n400 1\n", 3, "fall"),
        ("100 0\n200 0.9\n", 2, "end at 1"),
        ("-100 0\n200 1\n", 1, "≥ 0"),
        ("100 0\nhello 1\n", 2, "hello"),
    ] {
        let place = ExperimentFolder::new();
        place.write("my.cdf", text);
        place.write("x.toml", &GOOD.replace("\"web-search\"", "{ file = \"my.cdf\" }"));
        let message = place.mistake(&["run", "x.toml"]);
        assert!(message.contains(&format!("my.cdf:{line}")) && message.contains(said), "{message}");
        let message = place.mistake(&["thresholds", "--sizes", "my.cdf", "--load", "0.5"]);
        assert!(message.contains(&format!("my.cdf:{line}")) && message.contains(said), "{message}");
    }
}

#[test]
fn flow_lists_are_checked_line_by_line() {
    for (rows, line, said) in [
        ("0,9,1000,0\n", 2, "9"),
        ("0,1,1000,0\n0,0,1000,5\n", 3, "0"),
        ("0,1,-5,0\n", 2, "-5"),
        ("0,1,many,0\n", 2, "many"),
        ("0,1,18446744073709551615,0\n", 2, "size_bytes is 18446744073709551615, but must be at most"),
        ("0,1,1000,18446744073709551\n", 2, "start_ns"),
    ] {
        let place = ExperimentFolder::new();
        place.write("flows.csv", &format!("src,dst,size_bytes,start_ns\n{rows}"));
        let workload = "[workload]\nflow_list = \"flows.csv\"\n";
        let start = GOOD.find("[workload]").unwrap();
        let end = GOOD.find("[[scheme]]").unwrap();
        place.write("x.toml", &format!("{}{workload}{}", &GOOD[..start], &GOOD[end..]));
        let message = place.mistake(&["run", "x.toml"]);
        assert!(message.contains(&format!("flows.csv:{line}")) && message.contains(said), "{message}");
    }
}

#[test]
fn overrides_are_checked_like_the_file() {
    let place = ExperimentFolder::with(GOOD);
    for (set, said) in [
        ("workload.load=2", "between 0 and 1"),
        ("workload.laod=0.5", "load"),
        ("nonsense", "FIELD=VALUE"),
        ("scheme.pias.params.port.queues=3", "pias"),
    ] {
        let message = place.mistake(&["run", "x.toml", "--set", set]);
        assert!(message.contains(said), "{message}");
    }
    let message = place.mistake(&["run", "x.toml", "--scale", "0.1"]);
    assert!(message.contains("[scale]"), "{message}");
    let message = place.mistake(&["run", "missing.toml"]);
    assert!(message.contains("missing.toml"), "{message}");
}

#[test]
fn a_folder_of_another_experiment_is_left_alone() {
    let place = ExperimentFolder::with(GOOD);
    place.write("y.toml", &GOOD.replace("small", "another"));
    assert!(place.run(&["run", "x.toml", "--out", "results"]).status.success());
    let before = fs::read(place.path("results/summary.csv")).unwrap();
    let message = place.mistake(&["run", "y.toml", "--out", "results"]);
    assert!(message.contains("results") && message.contains("another experiment"), "{message}");
    assert_eq!(fs::read(place.path("results/summary.csv")).unwrap(), before);

    fs::create_dir(place.path("photos")).unwrap();
    place.write("photos/cat.png", "cat");
    let message = place.mistake(&["run", "x.toml", "--out", "photos"]);
    assert!(message.contains("photos") && message.contains("no result folder"), "{message}");
}

#[test]
fn a_folder_that_cannot_be_made_is_a_mistake() {
    let place = ExperimentFolder::with(GOOD);
    place.write("file", "");
    let message = place.mistake(&["run", "x.toml", "--out", "file/results"]);
    assert!(message.contains("file/results") && message.contains("another folder"), "{message}");
}

#[test]
#[cfg(unix)]
fn ctrl_c_keeps_finished_runs_and_the_next_call_goes_on() {
    let place = ExperimentFolder::new();
    // The first run takes milliseconds, the second hours.
    let long = GOOD.replace("flows = 20", "flows = 20\n[sweep]\n\"workload.flows\" = [20, 100000000]");
    place.write("x.toml", &long);
    let child = Command::new(env!("CARGO_BIN_EXE_tailrace"))
        .args(["run", "x.toml", "--jobs", "1"])
        .current_dir(place.dir())
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let runs = place.path("out/x/runs");
    let finished = || {
        let entries = fs::read_dir(&runs).into_iter().flatten().flatten();
        entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).count()
    };
    for _ in 0..600 {
        if finished() > 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(stderr(&output).contains("interrupted; finished runs are kept"), "{}", stderr(&output));
    assert_eq!(finished(), 1);
    assert!(
        !fs::read_dir(&runs).unwrap().flatten().any(|e| e.file_name().to_string_lossy().starts_with(".tmp"))
    );

    // The same file with the long run taken out goes on from what is there.
    place.write("x.toml", &long.replace(", 100000000", ""));
    let output = place.run(&["run", "x.toml"]);
    assert!(output.status.success() && stderr(&output).contains("1 of 1 runs were there already"));
}
