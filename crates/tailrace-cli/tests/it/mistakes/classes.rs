//! Mistakes about flow classes, deadlines and what is claimed of them.

use crate::mistakes::place::{ExperimentFolder, FABRIC, accepted, refused, rule, said_of, scheme};

/// Several rules, of web search.
fn rules(each: &[&str]) -> String {
    let rules: Vec<String> = each.iter().map(|fields| format!("[[workload.rule]]\n{fields}\n")).collect();
    rule("") + &rules.concat()
}

#[test]
fn deadlines_have_one_form_and_can_be_met() {
    for (deadline, words) in [
        ("\"1ms\"", ["x.toml:11: workload.deadline: must be a table", "such as { fixed = \"1ms\" }"]),
        ("5", ["workload.deadline: must be a table with one of fixed, exp, ideal, gamma", "20ms"]),
        ("{}", ["workload.deadline: must be a table with one of", "20ms"]),
        ("{ fixed = \"1ms\", exp = \"1ms\" }", ["workload.deadline: must be a table with one of", "20ms"]),
        ("{ fixd = \"1ms\" }", ["workload.deadline: unknown form", "did you mean \"fixed\"?"]),
        ("{ fixed = \"0s\" }", ["x.toml:11: workload.deadline.fixed: is 0s", "one byte get 4.081us"]),
        ("{ fixed = \"1us\" }", ["workload.deadline.fixed: is 1us", "1.25 times what they take alone"]),
        ("{ fixed = \"-1ms\" }", ["workload.deadline.fixed: cannot read \"-1ms\" as a time", "\"250ms\""]),
        ("{ fixed = 5 }", ["workload.deadline.fixed: is integer `5`", "text in quotes"]),
        ("{ exp = \"0ms\" }", ["workload.deadline.exp: is 0", "positive time, such as \"20ms\""]),
        ("{ exp = \"nan\" }", ["workload.deadline.exp: cannot read \"nan\" as a time", "\"250ms\""]),
        ("{ ideal = { factor = 0.5 } }", ["workload.deadline.ideal.factor: is 0.5", "from 1 to 1000000"]),
        ("{ ideal = { factor = nan } }", ["workload.deadline.ideal.factor: is NaN", "from 1 to 1000000"]),
        ("{ ideal = { factor = 1e300 } }", ["workload.deadline.ideal.factor: is 1e300", "from 1 to 1000000"]),
        ("{ ideal = { round = \"0s\" } }", ["workload.deadline.ideal.round: is 0", "\"1ms\""]),
        ("{ ideal = { fcator = 2 } }", ["workload.deadline.ideal.fcator", "did you mean \"factor\"?"]),
    ] {
        refused(
            &(FABRIC.to_owned() + &rule(&format!("deadline = {deadline}")) + &scheme("dctcp", "")),
            &words,
        );
    }
}

#[test]
fn gamma_is_a_share_of_a_link() {
    let gamma = |gamma: &str, scheme_name: &str| {
        let rule = rule(&format!("deadline = {{ gamma = {gamma} }}"));
        FABRIC.to_owned() + &rule + &scheme(scheme_name, "")
    };
    for share in ["0", "1", "2", "-0.1", "nan", "inf"] {
        let words = ["x.toml:11: workload.deadline.gamma.share: is", "between 0 and 1, both excluded"];
        refused(&gamma(&format!("{{ share = {share} }}"), "dctcp"), &words);
    }
    for (fields, words) in [
        ("0.5", ["workload.deadline.gamma: is number `0.5`", "must be a table"]),
        ("{}", ["workload.deadline.gamma: missing field `share`", ""]),
        ("{ share = \"half\" }", ["workload.deadline.gamma.share: is string", "must be a number"]),
        (
            "{ share = 0.5, observed = 1 }",
            ["workload.deadline.gamma.observed: is integer `1`", "true or false"],
        ),
        ("{ share = 0.5, observd = true }", ["gamma.observd: unknown field", "did you mean \"observed\"?"]),
        ("{ share = 0.5, round = \"0s\" }", ["workload.deadline.gamma.round: is 0", "\"1ms\""]),
        ("{ share = 0.5, scope = \"rack\" }", ["workload.deadline.gamma.scope: unknown", "network"]),
        ("{ share = 0.5, factor = 0.9 }", ["workload.deadline.gamma.factor: is 0.9", "from 1 to 1000000"]),
        ("{ share = 0.5, flow_share = 0 }", ["workload.deadline.gamma.flow_share: is 0", "at most 1"]),
        ("{ share = 0.5, flow_share = 1.1 }", ["workload.deadline.gamma.flow_share: is 1.1", "at most 1"]),
        (
            "{ share = 0.5, factor = 2, flow_share = 0.2 }",
            ["workload.deadline.gamma.flow_share: give factor or flow_share", "not both"],
        ),
    ] {
        refused(&gamma(fields, "dctcp"), &words);
    }
    // More than there is gives all flows deadlines, hardly anything nearly none: both can be met.
    for share in ["0.999", "1e-9"] {
        accepted(&gamma(&format!("{{ share = {share} }}"), "karuna"));
    }
}

#[test]
fn classes_that_gamma_control_takes_are_not_taken_twice() {
    let due = |share: &str| format!("byte_share = 0.5\ndeadline = {{ gamma = {{ share = {share} }} }}");
    let plain = "byte_share = 0.5";
    let words = ["workload.rule[1].class: is 1", "gives rule[0] the classes 0 to 2"];
    refused(&(FABRIC.to_owned() + &rules(&[&due("0.3"), plain]) + &scheme("dctcp", "")), &words);
    let same = ["0.3", "0.4"].map(|share| format!("class = 0\n{}", due(share)));
    let words = ["workload.rule[1].class: is 0", "gives rule[0] the classes 0 to 2"];
    refused(&(FABRIC.to_owned() + &rules(&[&same[0], &same[1]]) + &scheme("dctcp", "")), &words);
    let last = format!("class = 254\n{}", due("0.3"));
    let words = ["workload.rule[0].class: must be at most 253"];
    refused(&(FABRIC.to_owned() + &rules(&[&last, plain]) + &scheme("dctcp", "")), &words);
    let named = format!("class = 1\n{plain}");
    accepted(&(FABRIC.to_owned() + &rules(&[&due("0.3"), &named]) + &scheme("dctcp", "")));
    accepted(&(FABRIC.to_owned() + &rules(&[plain, &due("0.3")]) + &scheme("dctcp", "")));
    accepted(&(FABRIC.to_owned() + &rules(&[&same[0], &same[0]]) + &scheme("dctcp", "")));
}

#[test]
fn flows_reveal_what_they_have() {
    for (fields, words) in [
        ("reveals = \"deadline\"", ["workload.deadline: is missing", "{ exp = \"20ms\" }"]),
        ("reveals = \"deadlines\"", ["x.toml:11: workload.reveals", "did you mean \"deadline\"?"]),
        ("reveals = \"all\"", ["workload.reveals", "known are deadline, size, nothing"]),
        ("reveals = true", ["workload.reveals", "must be a name in quotes"]),
        (
            "reveals = \"size\"\ndeadline = { gamma = { share = 0.3 } }",
            ["x.toml:11: workload.reveals", "cannot be combined with deadline.gamma"],
        ),
    ] {
        refused(&(FABRIC.to_owned() + &rule(fields) + &scheme("dctcp", "")), &words);
    }
}

#[test]
fn shares_of_rules_are_of_one_kind_and_add_up_to_one() {
    for (first, second, words) in [
        (
            "byte_share = 0.5",
            "byte_share = 0.4",
            ["rule[0].byte_share: adds up to 0.9000", "must add up to 1"],
        ),
        (
            "flow_share = 0.5",
            "flow_share = 0.6",
            ["rule[0].flow_share: adds up to 1.1000", "must add up to 1"],
        ),
        ("byte_share = nan", "byte_share = 1", ["rule[0].byte_share: adds up to NaN", "must add up to 1"]),
        ("byte_share = 0", "byte_share = 1", ["rule[0].byte_share: is 0", "above 0 and at most 1"]),
        ("byte_share = 1.5", "byte_share = -0.5", ["rule[0].byte_share: is 1.5", "above 0 and at most 1"]),
        ("byte_share = \"half\"", "byte_share = 1", ["rule[0].byte_share: is string", "must be a number"]),
        ("byte_share = 0.5", "", ["rule[1].byte_share: is missing", "all must"]),
        (
            "byte_share = 0.5",
            "flow_share = 0.5",
            ["rule[0].byte_share", "all rules a flow_share or all a byte_share"],
        ),
        (
            "flow_share = 0.5",
            "byte_share = 0.5",
            ["rule[1].byte_share", "all rules a flow_share or all a byte_share"],
        ),
        (
            "byte_share = 0.5\nload = 0.3",
            "byte_share = 0.5",
            ["rule[0].byte_share", "load or byte_share, not both"],
        ),
        ("byte_share = 0.5\nevery = \"1ms\"", "byte_share = 0.5", ["rule[0].every", "byte_share or every"]),
        (
            "byte_share = 0.5\narrivals = \"once\"",
            "byte_share = 0.5",
            ["rule[0].byte_share", "start at once"],
        ),
    ] {
        refused(&(FABRIC.to_owned() + &rules(&[first, second]) + &scheme("dctcp", "")), &words);
    }
    let alone = FABRIC.to_owned() + &rule("byte_share = 1") + &scheme("dctcp", "");
    refused(&alone, &["x.toml:11: workload.byte_share", "belongs into each [[workload.rule]]"]);
    let unloaded = FABRIC.to_owned() + &rules(&["byte_share = 1"]) + &scheme("dctcp", "");
    refused(&unloaded.replace("load = 0.5\n", ""), &["workload.load: is missing", "shares need"]);
}

#[test]
fn flow_lists_say_what_is_wrong_with_deadlines_and_types() {
    for (row, said) in [
        ("0,1,1000,5,0,", "deadline_ns is 0: it counts from the start"),
        ("0,1,1000,5,-5,", "deadline_ns is \"-5\", but must be a number of nanoseconds"),
        ("0,1,1000,5,nan,", "deadline_ns is \"nan\""),
        (
            "0,1,1000000,0,1000,",
            "deadline_ns is 1000, but 1MB alone take 800000 ns on a host's link of 10Gbps",
        ),
        ("0,1,1000,5,18446744073709551,", "the deadline after it, is above 1000000000000000"),
        ("0,1,1000,5,,1", "flow_type is 1, but there is no deadline_ns"),
        ("0,1,1000,5,,4", "flow_type is 4, but must be 1, 2 or 3"),
        ("0,1,1000,5,,300", "flow_type is \"300\", but must be 1, 2 or 3"),
        ("0,1,1000,5,,-1", "flow_type is \"-1\", but must be 1, 2 or 3"),
        ("0,1,1000,5,,deadline", "flow_type is \"deadline\", but must be 1, 2 or 3"),
    ] {
        let place = ExperimentFolder::new();
        let list = format!("src,dst,size_bytes,start_ns,deadline_ns,flow_type\n0,1,1000,0,9000,1\n{row}\n");
        place.write("flows.csv", &list);
        let experiment = FABRIC.to_owned() + "[workload]\nflow_list = \"flows.csv\"\n" + &scheme("dctcp", "");
        place.write("x.toml", &experiment);
        let message = place.mistake(&["run", "x.toml"]);
        assert!(message.contains("flows.csv:3: ") && message.contains(said), "{said:?} is not in: {message}");
    }
}

#[test]
fn claims_ask_for_metrics_and_classes_that_exist() {
    for (metric, class, words) in [
        ("miss_rat", "all", ["metric: unknown metric \"miss_rat\"", "did you mean \"miss_rate\"?"]),
        ("miss_rate", "all@deadlin", ["class: \"@deadlin\"", "nor @deadline or @no-deadline"]),
        ("miss_rate", "all@256", ["class: \"@256\" is neither a traffic class", "0 to 255"]),
        ("miss_rate", "shrt@deadline", ["class: unknown class \"shrt\"", "did you mean \"short\"?"]),
        (
            "urgent_share",
            "all@deadline",
            ["class: means nothing for urgent_share", "the whole run: leave it out"],
        ),
    ] {
        let number = format!("{{ metric = \"{metric}\", class = \"{class}\", of = \"dctcp\" }}");
        let experiment = FABRIC.to_owned() + &rule("deadline.exp = \"5ms\"") + &scheme("dctcp", "");
        let expect = format!("[[expect]]\ntext = \"t\"\nmax = 1\nnumber = {number}\n");
        let claim = format!("[[claim]]\nid = \"1\"\npaper = 1\nnumber = {number}\ntolerance = 0\n");
        for (kind, table) in [("expect", expect), ("claim", claim)] {
            let message = said_of(&(experiment.clone() + &table));
            for word in words {
                assert!(message.contains(word), "{word:?} is not in: {message}");
            }
            assert!(message.contains(&format!("x.toml:18: {kind}[0].number.")), "{message}");
        }
    }
}

#[test]
fn flows_that_depend_on_the_run_cannot_be_listed() {
    let place = ExperimentFolder::new();
    let gamma = |fields: &str| {
        let rule = rule(&format!("deadline = {{ gamma = {{ share = 0.3{fields} }} }}"));
        place.write("x.toml", &(FABRIC.to_owned() + &rule + &scheme("karuna", "")));
    };
    gamma(", observed = true");
    for file in ["flows.csv", "flows.parquet"] {
        let message = place.mistake(&["flows", "x.toml", "--out", file]);
        assert!(message.contains("x.toml:11: workload.deadline.gamma.observed: is true"), "{message}");
        assert!(message.contains("with observed = false"), "{message}");
        assert!(!place.path(file).exists());
    }
    gamma("");
    assert!(place.run(&["flows", "x.toml", "--out", "flows.csv"]).status.success());
    let list = FABRIC.to_owned() + "[workload]\nflow_list = \"flows.csv\"\n" + &scheme("dctcp", "");
    place.write("x.toml", &list);
    assert!(place.run(&["run", "x.toml"]).status.success());
}
