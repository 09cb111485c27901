//! Mistakes about slices, and about the schemes by which they share.

use crate::mistakes::place::{ExperimentFolder, FABRIC, accepted, refused, rule, scheme, stderr};

#[test]
fn guests_that_cannot_be_wrapped_say_why_and_which_can() {
    let wrapped = |scheme_name: &str, field: &str, guest: &str| {
        let params = format!("[scheme.params]\n{field} = {guest}");
        FABRIC.to_owned() + &rule("") + &scheme(scheme_name, &params)
    };
    let known = "known guests are cubic, tcp, dctcp, d2tcp, l2dct";
    for guest in ["pias", "fifo", "pdq", "wvcc"] {
        let why = format!("\"{guest}\" cannot be wrapped: a guest keeps a window by acknowledgements");
        let quoted = format!("\"{guest}\"");
        refused(&wrapped("wvcc", "guest", &quoted), &["x.toml:15: scheme[0].params.guest: ", &why, known]);
        refused(&wrapped("acdc", "guest", &quoted), &["scheme[0].params.guest: ", &why, known]);
        for (name, objective) in CONTROLLED.iter().zip(["guests.deadline", "guests.completion"]) {
            let place = format!("x.toml:15: scheme[0].params.{objective}: ");
            refused(&wrapped(name, objective, &quoted), &[&place, &why, known]);
        }
    }
    for (guest, said) in [
        ("\"cubci\"", "unknown value \"cubci\"; did you mean \"cubic\"?"),
        ("\"reno\"", "unknown value \"reno\"; known are cubic, tcp, dctcp, d2tcp, l2dct"),
        ("3", "is integer `3`, but must be text in quotes"),
    ] {
        refused(&wrapped("wvcc", "guest", guest), &["x.toml:15: scheme[0].params.guest: ", said]);
    }
}

const TWO: &str = "[[slice]]\nweight = 1\n[[slice]]\nweight = 2\n";
/// A rule for each slice.
const RULES: &str = "[[workload.rule]]\nslice = 1\nload = 0.1\n[[workload.rule]]\nslice = 2\nload = 0.2\n";

/// An experiment with these slices and rules, under a scheme with these parameters.
fn under(name: &str, slices: &str, rules: &str, params: &str) -> String {
    let workload = format!("[workload]\nsizes = {{ fixed = \"10KB\" }}\nflows = 20\nload = 0.3\n{rules}");
    FABRIC.to_owned() + &workload + slices + &scheme(name, &format!("[scheme.params]\n{params}"))
}

fn sliced(slices: &str, rules: &str, params: &str) -> String {
    under("uranus", slices, rules, params)
}

/// Schemes with a controller of slices.
const CONTROLLED: [&str; 2] = ["uranus", "scc"];

#[test]
fn the_sliced_experiment_is_good() {
    CONTROLLED.iter().for_each(|name| accepted(&under(name, TWO, RULES, "")));
}

#[test]
fn a_controller_of_slices_needs_slices() {
    let rules = "[[workload.rule]]\nload = 0.1\n";
    for name in CONTROLLED {
        refused(
            &under(name, "", rules, ""),
            &["scheme[0].params: cannot be used without slices: give each tenant a [[slice]]"],
        );
    }
    // Without a controller all flows weigh the same.
    accepted(&under("wvcc", "", rules, ""));
}

#[test]
fn slices_have_weights_and_flows() {
    for (weight, said) in [("0", "is 0"), ("-1", "is -1"), ("inf", "is inf"), ("nan", "is NaN")] {
        let slices = TWO.replace("weight = 2", &format!("weight = {weight}"));
        let said = format!("x.toml:20: slice[1].weight: {said}, but must be a finite number above 0");
        refused(&sliced(&slices, RULES, ""), &[&said, "in proportion to their weights"]);
    }
    refused(
        &sliced(&(TWO.to_owned() + "[[slice]]\nweight = 1\n"), RULES, ""),
        &["slice[2]: has no flows: give a [[workload.rule]] slice = 3, or leave it out"],
    );
    refused(
        &sliced(TWO, &RULES.replace("slice = 2", "slice = 3"), ""),
        &[
            "x.toml:15: workload.rule[1].slice: is 3, but there are 2 slices: 1 to 2, or 0 for flows of no slice",
        ],
    );
}

#[test]
fn racks_that_do_not_exist_are_named_with_those_that_do() {
    let pairs = |from: &str| {
        let fabric = "[fabric]\npreset = \"spine144\"\nleaves = 8\n";
        let rule = rule(&format!("pattern = \"pairs\"\nfrom = {from}\nto = {{ racks = [1, 2] }}"));
        fabric.to_owned() + &rule + &scheme("dctcp", "")
    };
    accepted(&pairs("{ racks = [0, 7] }"));
    for (from, said) in [
        ("{ racks = [0, 9] }", "from.racks: rack 9 does not exist; the fabric has racks 0 to 7"),
        ("{ racks = [0, 0] }", "from.racks: rack 0 is named twice"),
        ("{ racks = [] }", "from.racks: must name at least one rack"),
        ("{ rack = [0] }", "from.rack: unknown field \"rack\"; did you mean \"racks\"?"),
        ("{ racks = [-1] }", "is integer `-1`, but must be a whole number"),
        ("[0, 200]", "from: host 200 does not exist; the fabric has hosts 0 to 127"),
        (
            "\"all\"",
            "from: is string \"all\", but must be a list of hosts such as [0, 1], or { racks = [0] }",
        ),
    ] {
        refused(&pairs(from), &["x.toml:9: workload.from", said]);
    }
}

#[test]
fn what_does_not_fit_is_said_of_the_slice_and_the_scheme_that_has_it() {
    let wrong = TWO.replace("weight = 2", "weight = \"2\"");
    refused(
        &sliced(&wrong, RULES, ""),
        &["x.toml:20: slice[1].weight: is string \"2\", but must be a number"],
    );
    let unknown = TWO.replace("weight = 2", "weight = 2\nwieght = 3");
    refused(&sliced(&unknown, RULES, ""), &["x.toml:21: slice[1].wieght: ", "did you mean \"weight\"?"]);
    let second = sliced(TWO, RULES, "") + "[[scheme]]\nname = \"scc\"\nlabel = 2\n";
    refused(&second, &["x.toml:27: scheme[1].label: is integer `2`"]);
    let claims = "[[expect]]\ntext = \"1\"\nnumber = {}\n[[expect]]\ntext = 2\nnumber = {}\n";
    refused(&(sliced(TWO, RULES, "") + claims), &["x.toml:29: expect[1].text: is integer `2`"]);
}

#[test]
fn a_controller_must_be_heard_before_the_run_ends() {
    for name in CONTROLLED {
        let measured = |params: &str| under(name, TWO, RULES, params) + "[measure]\nhorizon = \"1s\"\n";
        accepted(&measured("control.delay = \"999ms\""));
        refused(
            &measured("control.delay = \"20s\""),
            &[
                "x.toml:24: scheme[0].params.control.delay: is 20s, but the run ends after 1s",
                "no update would arrive",
            ],
        );
        refused(
            &measured("control = { at_once = false, slot = \"2s\" }"),
            &[
                "x.toml:24: scheme[0].params.control.slot: is 2s, and an update takes 500us",
                "the run ends after 1s",
            ],
        );
        let sweep = format!("[sweep]\n\"scheme.{name}.params.control.delay\" = [\"1ms\", \"2s\"]\n");
        refused(
            &(measured("") + &sweep),
            &["control.delay: is 2s", &format!("(in the sweep, at scheme.{name}.params.control.delay")],
        );
    }
}

/// A run without a horizon ends with its flows, which nobody knows before.
#[test]
fn a_controller_that_was_not_heard_is_warned_of() {
    let warned = |command: &str, delay: &str| {
        let experiment = under("scc", TWO, RULES, &format!("control.delay = \"{delay}\""));
        let output = ExperimentFolder::with(&experiment).run(&[command, "x.toml"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let text = stderr(&output);
        text.lines().find(|line| line.starts_with("warning: ")).map(str::to_owned)
    };
    assert_eq!(warned("run", "1us"), None);
    for command in ["run", "check"] {
        let text = warned(command, "20s").unwrap();
        for words in
            ["scc: in 1 of its runs no update of the controller has reached a flow", "delay and slot"]
        {
            assert!(text.contains(words), "{text}");
        }
    }
}

#[test]
fn slots_and_delays_have_bounds() {
    for name in CONTROLLED {
        for (field, value, said) in [
            ("slot", "0s", "is 0s, but must be at least 10us: all flows are looked at in each"),
            ("slot", "1ps", "is 1ps, but must be at least 10us"),
            ("slot", "101s", "is 101s, but must be at most 100s"),
            ("delay", "101s", "is 101s, but must be at most 100s"),
        ] {
            let params = format!("control.{field} = \"{value}\"");
            let place = format!("x.toml:24: scheme[0].params.control.{field}: {said}");
            refused(&under(name, TWO, RULES, &params), &[&place]);
        }
    }
}

#[test]
fn ports_have_no_queue_that_nothing_would_be_in() {
    for name in ["wvcc", "acdc", "scc"] {
        let slices = TWO.replace("weight = 2", "weight = 0.5");
        accepted(&under(name, &slices, RULES, "port.queues = 1"));
        refused(
            &under(name, &slices, RULES, "port.queues = 4"),
            &["x.toml:24: scheme[0].params.port.queues: is 4, but must be 1: hosts tag no packet here"],
        );
    }
    refused(
        &sliced(TWO, RULES, "port.queues = 4"),
        &["0 thresholds for 4 queues: one fewer than queues is needed"],
    );
}

#[test]
fn flow_lists_name_slices_that_are_described() {
    let text = under("wvcc", TWO, "", "");
    let workload = text.find("[workload]").unwrap()..text.find("[[slice]]").unwrap();
    let place = |slices: &str, rows: &str| {
        let mut experiment = text.clone();
        experiment.replace_range(workload.clone(), "[workload]\nflow_list = \"flows.csv\"\n");
        let place = ExperimentFolder::with(&experiment.replace(TWO, slices));
        place.write("flows.csv", &format!("src,dst,size_bytes,start_ns,slice\n{rows}"));
        place
    };
    let said = |rows: &str| place(TWO, rows).mistake(&["run", "x.toml"]);
    let message = said("0,1,1000,0,2\n0,2,1000,0,3\n");
    for words in ["flows.csv:3: ", "slice is 3, but there are 2 slices: 1 to 2, or 0 for flows of no slice"] {
        assert!(message.contains(words), "{message}");
    }
    // The same list in Parquet, written where slices are not described.
    let place_of_both = place("", "0,1,1000,0,2\n0,2,1000,0,3\n");
    assert!(place_of_both.run(&["flows", "x.toml", "--out", "flows.parquet"]).status.success());
    let mut experiment = text.clone();
    experiment.replace_range(workload.clone(), "[workload]\nflow_list = \"flows.parquet\"\n");
    place_of_both.write("x.toml", &experiment);
    let message = place_of_both.mistake(&["run", "x.toml"]);
    assert!(message.contains("flows.parquet: flow[1]: slice is 3, but there are 2 slices"), "{message}");
    for (rows, slice) in [("0,1,1000,0,0\n", 1), ("0,1,1000,0,2\n", 1), ("0,1,1000,0,1\n0,2,1000,0,\n", 2)] {
        let message = said(rows);
        let idle = format!("no flow is of slice {slice}: give the list a column slice");
        for words in ["flows.csv: ", &idle, &format!("or leave slice[{}] out", slice - 1)] {
            assert!(message.contains(words), "{message}");
        }
    }
    // Without slices the number is for statistics, so that a result's flows run under other schemes, too.
    for (slices, rows) in [(TWO, "0,1,1000,0,2\n0,2,1000,0,\n0,3,1000,0,1\n"), ("", "0,1,1000,0,7\n")] {
        let output = place(slices, rows).run(&["run", "x.toml"]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
}
