//! Mistakes about slices, and about the schemes by which they share.

use crate::place::{FABRIC, Place, accepted, refused, rule, scheme, stderr};

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
        for objective in ["guests.deadline", "guests.completion"] {
            let place = format!("x.toml:15: scheme[0].params.{objective}: ");
            refused(&wrapped("uranus", objective, &quoted), &[&place, &why, known]);
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

/// An experiment with these slices and rules, under `uranus` with these parameters.
fn sliced(slices: &str, rules: &str, params: &str) -> String {
    let workload = format!("[workload]\nsizes = {{ fixed = \"10KB\" }}\nflows = 20\nload = 0.3\n{rules}");
    FABRIC.to_owned() + &workload + slices + &scheme("uranus", &format!("[scheme.params]\n{params}"))
}

#[test]
fn the_sliced_experiment_is_good() {
    accepted(&sliced(TWO, RULES, ""));
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
fn a_controller_must_be_heard_before_the_run_ends() {
    let measured = |params: &str| sliced(TWO, RULES, params) + "[measure]\nhorizon = \"1s\"\n";
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
    let sweep = "[sweep]\n\"scheme.uranus.params.control.delay\" = [\"1ms\", \"2s\"]\n";
    refused(
        &(measured("") + sweep),
        &["control.delay: is 2s", "(in the sweep, at scheme.uranus.params.control.delay"],
    );
}

#[test]
fn flow_lists_name_slices_that_are_described() {
    let text = sliced(TWO, "", "");
    let workload = text.find("[workload]").unwrap()..text.find("[[slice]]").unwrap();
    let place = |slices: &str, rows: &str| {
        let mut experiment = text.clone();
        experiment.replace_range(workload.clone(), "[workload]\nflow_list = \"flows.csv\"\n");
        let place = Place::with(&experiment.replace(TWO, slices));
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
    let message = said("0,1,1000,0,0\n");
    for words in ["flows.csv: ", "no flow is of a slice", "leave [[slice]] out"] {
        assert!(message.contains(words), "{message}");
    }
    // Without slices the number is for statistics, so that a result's flows run under other schemes, too.
    for (slices, rows) in [(TWO, "0,1,1000,0,2\n0,2,1000,0,\n"), ("", "0,1,1000,0,7\n")] {
        let output = place(slices, rows).run(&["run", "x.toml"]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
}
