//! Mistakes about levels: schemes that do not exist at one, and fields that mean nothing there.

use crate::mistakes::place::{ExperimentFolder, FABRIC, accepted, refused, scheme, stderr};

/// An experiment of one scheme, with these lines before its sections.
fn at(level: &str, name: &str, params: &str) -> String {
    let workload = "[workload]\nsizes = { fixed = \"20KB\" }\nload = 0.5\nflows = 5\n";
    format!("{level}\n{FABRIC}{workload}{}", scheme(name, params))
}

#[test]
fn schemes_of_either_level_run_there() {
    accepted(&at("level = \"flow\"", "rcp", ""));
    accepted(&at("level = \"flow\"", "stf", ""));
    accepted(&at("level = \"packet\"", "rcp", "params = { router = \"exact\" }"));
}

#[test]
fn a_scheme_without_a_rule_for_rates_is_refused_at_flow_level() {
    refused(
        &at("level = \"flow\"", "dctcp", ""),
        &["x.toml:", "scheme[0].name: dctcp has no rule for rates", "exists at packet level only"],
    );
    refused(
        &at("level = \"flow\"", "pfabric", "params = { rank = \"sent\" }"),
        &["scheme[0].name: pfabric has no rule for rates with these parameters"],
    );
    // Strict priority is the only way in which queues share at flow level.
    for scheduler in ["drr", "wfq"] {
        let params = format!(
            "params = {{ thresholds = [\"10KB\"], port = {{ queues = 2, scheduler = \"{scheduler}\" }} }}"
        );
        refused(
            &at("level = \"flow\"", "mlfq", &params),
            &["scheme[0].name: mlfq has no rule for rates with these parameters"],
        );
        accepted(&at("level = \"flow\"", "mlfq", &params.replace(scheduler, "strict")));
        accepted(&at("", "mlfq", &params));
    }
    refused(&at("level = \"flow\"", "orchestre", ""), &["scheme[0].name", "did you mean \"orchestra\"?"]);
}

#[test]
fn what_a_level_cannot_express_is_said() {
    let said = |level: &str, name: &str| notes(&at(&format!("level = \"{level}\""), name, ""));
    let of_qjump = said("flow", "qjump");
    assert!(
        of_qjump.len() == 1 && of_qjump[0].starts_with("note: qjump at flow level: Under a cap"),
        "{of_qjump:?}"
    );
    assert_eq!([said("packet", "qjump"), said("flow", "rcp")], [[""; 0], [""; 0]]);
}

#[test]
fn fields_without_effect_at_flow_level_are_named() {
    let given = |level: &str| {
        let file = at(&format!("level = \"{level}\""), "rcp", "").replacen(
            "[fabric]",
            "[fabric]\nqueue_unit = \"packets\"",
            1,
        );
        notes(&format!("{file}\n[transport]\nmss = 1000\nmin_rto = \"5ms\"\nrto = \"standard\""))
    };
    let note = "note: rcp at flow level: There are no packets, queues or losses, so nothing depends on \
                fabric.queue_unit, transport.min_rto.";
    assert_eq!(given("flow"), [note]);
    assert_eq!(given("packet"), [""; 0]);
}

/// What a run of the file says beside its results.
fn notes(file: &str) -> Vec<String> {
    let output = ExperimentFolder::with(file).run(&["run", "x.toml"]);
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    said.lines().filter(|line| line.starts_with("note: ")).map(str::to_owned).collect()
}

#[test]
fn a_scheme_that_is_only_a_rule_is_refused_at_packet_level() {
    refused(
        &at("", "srpt", ""),
        &["scheme[0].name: is srpt, which exists at flow level only: write level = \"flow\""],
    );
    refused(&at("level = \"flow\"", "srpt", "params = { window = 3 }"), &["scheme[0].params.window"]);
}

#[test]
fn a_file_may_have_both_levels() {
    let setup = "[flow]\nsetup = \"2ms\"\n";
    accepted(&(at("", "rcp", "") + setup));
    accepted(&(at("", "rcp", "") + setup + "[sweep]\nlevel = [\"packet\", \"flow\"]\n"));
    accepted(&(at("", "rcp", "") + "with = { level = \"flow\", flow = { setup = \"2ms\" } }\n"));
}

#[test]
fn fields_of_the_flow_level_are_checked() {
    refused(&at("level = \"flows\"", "rcp", ""), &["level", "did you mean \"flow\"?"]);
    refused(
        &(at("level = \"flow\"", "rcp", "") + "[flow]\nsetups = \"2ms\"\n"),
        &["flow.setups", "did you mean \"setup\"?"],
    );
}

#[test]
fn what_tcp_of_the_kernel_cannot_do_is_refused() {
    let kernel = "level = \"live\"\nlive = { stack = \"kernel\" }";
    let problem =
        "scheme[0].name: is baraat, whose ports read a header that the TCP of programs cannot carry";
    refused(&at(kernel, "baraat", ""), &["x.toml:", problem, "stack = \"tailrace\""]);
    let own = "level = \"live\"\nlive = { tcp_congestion = \"cubic\" }";
    refused(&at(own, "pias", ""), &["x.toml:", "live.tcp_congestion: is for stack = \"kernel\""]);
}

fn in_a_row(switches: u16, level: &str, scheme: &str, more: &str) -> String {
    format!(
        "title = \"t\"\nlevel = \"{level}\"\n[fabric]\nkind = \"parking-lot\"\nswitches = {switches}\n\
         hosts_per_switch = 2\nhost_rate = \"1Gbps\"\nrow_rate = \"1Gbps\"\n[workload]\nsizes = \"web-search\"\n\
         load = 0.1\nflows = 9\n[[scheme]]\nname = \"{scheme}\"\n{more}"
    )
}

/// Headers with a place for each port have room for six: the sender's and five switches'.
#[test]
fn paths_that_a_header_has_no_room_for_are_refused() {
    for (scheme, params) in [("baraat", ""), ("d3", ""), ("rcp", "params = { router = \"exact\" }")] {
        accepted(&in_a_row(5, "packet", scheme, params));
        let problem = "cannot be used on this fabric: its header has room for 6 ports, the sender's and those of 5 \
                       switches, and there are paths over 7 switches";
        refused(&in_a_row(7, "packet", scheme, params), &["x.toml:", "scheme[0]", problem]);
    }
    for scheme in ["rcp", "pdq", "dctcp"] {
        accepted(&in_a_row(7, "packet", scheme, ""));
    }
}

#[test]
fn paths_are_refused_that_are_too_long_for_the_flow_level() {
    accepted(&in_a_row(5, "flow", "stf", ""));
    let problem = "fabric: has paths of 7 links, and at flow level there is room for 6";
    refused(&in_a_row(6, "flow", "stf", ""), &["x.toml:", problem]);
}

#[test]
fn a_row_has_an_end() {
    accepted(&in_a_row(64, "packet", "dctcp", ""));
    refused(&in_a_row(65, "packet", "dctcp", ""), &["fabric.switches: is 65, but a row has at most 64"]);
}
