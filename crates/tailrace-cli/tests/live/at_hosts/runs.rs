//! `tailrace run` with `live.agent`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;

use crate::place::{EmulatedFolder, stderr};

/// What came of a command on a machine that was not too slow for it; if it always was, that is said.
fn in_time(run: impl Fn() -> Output) -> Option<Output> {
    let output = (0..3).map(|_| run()).find(|output| !stderr(output).contains("the machine was too slow"));
    if output.is_none() {
        tailrace_linux::skip_test("the machine was too slow three times");
    }
    output
}

/// Hosts at one switch with 100 Mbps, a flow from 0 to 1 and one from 2 to 3, as these rules say.
fn flows(rules: &str, scheme: &str) -> String {
    format!(
        r#"
title = "tags"
[fabric]
kind = "star"
hosts = 4
host_rate = "100Mbps"
host_delay = "500us"
buffer = "1MB"
[transport]
min_rto = "200ms"
[workload]
flows = 9
pattern = "pairs"
arrivals = "once"
{rules}
[[scheme]]
{scheme}
with = {{ level = "live", live = {{ stack = "kernel", agent = true, tcp_congestion = "reno" }} }}
"#
    )
}

/// Bytes that a host's card has sent: all, and those in the first priority.
fn sent(place: &EmulatedFolder, host: usize) -> (u64, u64) {
    let runs = fs::read_dir(place.dir.path().join("out/tags/runs")).unwrap();
    let mut ports = runs.map(|run| run.unwrap().path().join("ports.parquet")).filter(|path| path.exists());
    let batch = tailrace_experiment::read_parquet(&ports.next().unwrap()).unwrap().remove(0);
    let column = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<UInt64Type>().value(host);
    (column("sent_bytes"), column("urgent_bytes"))
}

fn run(place: &EmulatedFolder, text: &str) -> Option<String> {
    fs::write(place.dir.path().join("tags.toml"), text).unwrap();
    let output = in_time(|| place.output("run tags.toml --fresh"))?;
    assert!(output.status.success(), "{}", stderr(&output));
    Some(stderr(&output))
}

#[test]
fn tags_change_at_the_first_segment_that_is_beyond_a_threshold() {
    let Some(place) = EmulatedFolder::new() else { return };
    let rule = "from = [0]\nto = [1]\nsizes = { fixed = \"1MB\" }";
    let pias = "name = \"pias\"\nparams = { thresholds = [\"100KB\"], port = { queues = 2 } }";
    let Some(said) = run(&place, &flows(rule, pias)) else { return };
    assert!(said.contains("at its hosts the agent tags packets; the kernel's TCP with reno sends"), "{said}");
    // 685 segments, of which 69 have at most 100 KB before them; what waits for a pull of a card is none of theirs.
    let (bytes, urgent) = sent(&place, 0);
    println!("{bytes} bytes, {urgent} in the first priority");
    assert!(bytes > 685 * 1500 - 1500 && urgent == 69 * 1500, "{bytes}, {urgent}");
    let (bytes, urgent) = sent(&place, 1);
    assert!(bytes == urgent && bytes > 40 * 300, "acknowledgements: {bytes}, {urgent}");
}

/// Two flows into one port: the scheme's law holds its queue near the threshold, where Reno without ECN would fill it.
#[test]
fn where_no_law_is_named_the_schemes_own_sends() {
    let Some(place) = EmulatedFolder::new() else { return };
    let rule =
        |src: u8| format!("[[workload.rule]]\nfrom = [{src}]\nto = [1]\nsizes = {{ fixed = \"5MB\" }}\n");
    let dctcp = "name = \"dctcp\"\nparams = { port = { marking_threshold = \"30KB\" } }";
    let text = flows(&(rule(0) + &rule(2)), dctcp).replace(", tcp_congestion = \"reno\"", "");
    let Some(said) = run(&place, &text) else { return };
    let law = "the agent leaves packets as they are; the kernel's TCP with dctcp's law, which the agent gives it, sends";
    assert!(said.contains(law), "{said}");
    let named = flows(&(rule(0) + &rule(2)), dctcp);
    fs::write(place.dir.path().join("named.toml"), named).unwrap();
    let refused = stderr(&place.output("run named.toml"));
    assert!(
        refused.contains("its congestion law runs where live.tcp_congestion names no other"),
        "{refused}"
    );
}

#[test]
fn agents_are_told_what_flows_reveal() {
    let Some(place) = EmulatedFolder::new() else { return };
    let rule = |src: u8, reveals: &str| {
        format!(
            "[[workload.rule]]\nfrom = [{src}]\nto = [{}]\nsizes = {{ fixed = \"300KB\" }}\n{reveals}\n",
            src + 1
        )
    };
    let karuna = "name = \"karuna\"\nparams = { thresholds = { splitting = [\"100KB\"], sieving = [\"100KB\"] }, port = { \
                  queues = 3 } }";
    let rules = rule(0, "deadline = { fixed = \"1s\" }") + &rule(2, "reveals = \"size\"");
    if run(&place, &flows(&rules, karuna)).is_none() {
        return;
    }
    let all = [0, 1, 2, 3].map(|host| sent(&place, host));
    println!("{all:?}");
    // What has a deadline is in the first queue, and so are its acknowledgements; all else is not.
    for host in [0, 1] {
        assert!(all[host].0 == all[host].1 && all[host].0 > 1_000, "{all:?}");
    }
    for host in [2, 3] {
        assert!(all[host].1 == 0 && all[host].0 > 1_000, "{all:?}");
    }
}

/// Mean completion by class and scheme, in ms.
type Means = BTreeMap<String, BTreeMap<String, f64>>;

fn means(summary: &Path) -> Means {
    let text = fs::read_to_string(summary).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| names.iter().position(|of| *of == name).unwrap();
    let (scheme, class, mean) = (at("scheme"), at("class"), at("fct_mean_us"));
    let mut means = Means::new();
    for line in lines {
        // Labels with commas are in quotes.
        let line = line.replace("\"", "").replace(", live", " live").replace(", agent", " agent");
        let fields: Vec<&str> = line.split(',').collect();
        // A class may have no flows.
        if let Ok(mean) = fields[mean].parse::<f64>() {
            means.entry(fields[class].to_owned()).or_default().insert(fields[scheme].to_owned(), mean / 1e3);
        }
    }
    means
}

#[test]
fn schemes_are_in_the_order_in_which_packets_have_them() {
    let Some(place) = EmulatedFolder::new() else { return };
    fs::write(place.dir.path().join("order.toml"), include_str!("order.toml")).unwrap();
    let Some(output) = in_time(|| place.output("run order.toml")) else { return };
    assert!(output.status.success(), "{}", stderr(&output));
    let means = means(&place.dir.path().join("out/order/summary.csv"));
    let mut compared = 0;
    for class in ["all", "all@0", "all@1", "all@2"] {
        let of = &means[class];
        let schemes = ["dctcp", "pias", "awafs", "karuna"];
        let line =
            |scheme: &str| format!("{scheme} {:.1} and {:.1} ms", of[scheme], of[&format!("{scheme} live")]);
        println!("{class}, packets and live: {}", schemes.map(line).join("; "));
        for (fast, slow) in schemes.iter().flat_map(|fast| schemes.map(|slow| (*fast, slow))) {
            if of[slow] > 1.15 * of[fast] {
                compared += 1;
                let [fast_live, slow_live] = [fast, slow].map(|scheme| of[&format!("{scheme} live")]);
                assert!(slow_live > fast_live, "{class}: {slow} {slow_live} ms, {fast} {fast_live} ms");
            }
        }
    }
    assert!(compared >= 6, "{compared} pairs differ by more than 15 % in packets: {means:?}");
}

/// Two flows of 2 MB that are due in 400 ms, where one takes 170 by itself, beside four that are not; all six end at two hosts.
#[test]
fn deadlines_are_met_under_karuna_where_dctcp_misses_them() {
    let Some(place) = EmulatedFolder::new() else { return };
    let due = "deadline = { fixed = \"400ms\" }";
    let rule = |src: u8, dst: u8, size: &str, more: &str| {
        format!("[[workload.rule]]\nfrom = [{src}]\nto = [{dst}]\nsizes = {{ fixed = \"{size}\" }}\n{more}\n")
    };
    let rules = [
        rule(0, 4, "2MB", due),
        rule(1, 4, "5MB", "reveals = \"size\""),
        rule(2, 4, "5MB", "reveals = \"nothing\""),
        rule(1, 5, "2MB", due),
        rule(3, 5, "5MB", "reveals = \"size\""),
        rule(2, 5, "5MB", "reveals = \"nothing\""),
    ];
    let missed = |scheme: &str| {
        let text = flows(&rules.concat(), scheme)
            .replace("hosts = 4", "hosts = 6")
            .replace(", tcp_congestion = \"reno\"", "");
        run(&place, &text)?;
        let summary = fs::read_to_string(place.dir.path().join("out/tags/summary.csv")).unwrap();
        let mut lines = summary.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let names = lines.next().unwrap();
        let at = |name: &str| names.iter().position(|of| *of == name).unwrap();
        let row = lines.find(|row| row[at("class")] == "all").unwrap();
        println!("{scheme}: {} of the deadlines missed", row[at("miss_rate")]);
        Some(row[at("miss_rate")].parse::<f64>().unwrap())
    };
    let dctcp = "name = \"dctcp\"\nparams = { port = { marking_threshold = \"30KB\" } }";
    let karuna = "name = \"karuna\"\nparams = { thresholds = { splitting = [\"100KB\"], sieving = [\"100KB\"] }, port = { \
                  queues = 3, marking_threshold = \"30KB\" } }";
    let (Some(dctcp), Some(karuna)) = (missed(dctcp), missed(karuna)) else { return };
    assert_eq!((dctcp, karuna), (1.0, 0.0));
}

/// Two flows of a slice beside four of another. By flows they would take half as long again.
#[test]
fn connections_have_the_weights_that_uranus_controller_gives_them() {
    let Some(place) = EmulatedFolder::new() else { return };
    let text = include_str!("../../../../../experiments/live/agent-slices.toml");
    fs::write(place.dir.path().join("slices.toml"), text).unwrap();
    let run = || {
        let mut command = place.command("run slices.toml --fresh --only uranus --only");
        command.arg("uranus, agent").output().unwrap()
    };
    let Some(output) = in_time(run) else { return };
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Its controller is told of flows every 50 ms"), "{said}");
    assert!(!said.contains("no update of the controller has reached a flow"), "{said}");
    let means = means(&place.dir.path().join("out/slices/summary.csv"));
    for class in ["all@deadline", "all@no-deadline"] {
        let [packets, live] = ["uranus", "uranus agent"].map(|scheme| means[class][scheme]);
        println!("{class}: {packets:.0} ms in packets, {live:.0} ms live");
        assert!((live / packets - 1.0).abs() < 0.1, "{class}: {packets} ms, {live} ms");
    }
}

#[test]
fn what_an_agent_cannot_do_is_said_before_anything_runs() {
    let Some(place) = EmulatedFolder::new() else { return };
    let refused = |scheme: &str, said: &[&str]| {
        fs::write(
            place.dir.path().join("tags.toml"),
            flows("from = [0]\nto = [1]\nsizes = { fixed = \"1KB\" }", scheme),
        )
        .unwrap();
        let output = place.output("run tags.toml");
        let text = stderr(&output);
        assert!(output.status.code() == Some(2) && text.lines().count() == 1, "{text}");
        assert!(said.iter().all(|part| text.contains(part)), "{text}");
    };
    let otherwise = "or run the scenario with stack = \"tailrace\"";
    refused("name = \"dctcp\"", &["scheme[0].name: is dctcp", "there is nothing to tag", otherwise]);
    refused("name = \"pfabric\"", &["whose ports read a header"]);
    let output = place.output("run star.toml --only Tags --level live --set live.agent=true");
    assert!(stderr(&output).contains("live.agent: is for stack = \"kernel\""), "{}", stderr(&output));
    assert!(!place.dir.path().join("out").exists());
}
