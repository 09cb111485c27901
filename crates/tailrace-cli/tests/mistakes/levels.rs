//! Mistakes about levels: schemes that do not exist at one, and fields that mean nothing there.

use crate::place::{FABRIC, accepted, refused, scheme};

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
        &["scheme[0].name: pfabric has no rule for rates (with these parameters)"],
    );
    refused(&at("level = \"flow\"", "orchestre", ""), &["scheme[0].name", "did you mean \"orchestra\"?"]);
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
