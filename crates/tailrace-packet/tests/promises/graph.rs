//! A fabric is what its nodes and links are, whatever describes it.

use tailrace_core::{Bytes, Time};
use tailrace_fabric::{Fabric, FabricKind, FabricParams, Failures, Graph, LoadBalancing};
use tailrace_schemes::NAMES;

use crate::setup::{Run, Setup, fabric, flow, preset, takes_one_path};

/// The same fabric by its nodes and links.
fn as_graph(fabric: &Fabric) -> Fabric {
    let params = FabricParams {
        kind: FabricKind::Graph(Graph::of(fabric)),
        load_balancing: fabric.load_balancing,
        ecmp_seed: fabric.ecmp_seed,
        buffer: fabric.buffer,
        port_rules: fabric.port_rules,
        failures: Failures::default(),
    };
    FabricParams::from_table(&params.to_table())
        .unwrap_or_else(|error| panic!("{error}"))
        .build()
        .as_ref()
        .clone()
}

fn some_flows(fabric: &Fabric) -> Vec<tailrace_workload::FlowSpec> {
    let hosts = fabric.hosts as u32;
    let one = |i: u32| {
        let src = i * 7 % hosts;
        flow(
            src,
            (src + 1 + i * 5 % (hosts - 1)) % hosts,
            1 + 9_000 * u64::from(i % 9),
            Time::from_us(2 * u64::from(i)),
        )
    };
    (0..120).map(one).collect()
}

#[test]
fn a_graph_of_a_kind_is_that_kind_to_the_last_event() {
    let rows = "kind = \"parking-lot\"\nswitches = 4\nhosts_per_switch = 3\nhost_rate = \"10Gbps\"\nrow_rate = \"10Gbps\"";
    for mut of_kind in [preset("spine144"), preset("fattree64"), preset("tree5x4"), fabric(rows)] {
        let balancings = [
            LoadBalancing::Ecmp,
            LoadBalancing::SprayRoundRobin,
            LoadBalancing::SprayRandom,
            LoadBalancing::Flowlet { gap: Time::from_us(20) },
        ];
        for (turn, name) in NAMES.iter().enumerate() {
            let spread = balancings[turn % balancings.len()];
            of_kind.load_balancing = if takes_one_path(name) { LoadBalancing::Ecmp } else { spread };
            of_kind.ecmp_seed = if of_kind.load_balancing == LoadBalancing::Ecmp { 3 } else { 0 };
            let horizon = Some(Time::from_ms(3));
            let run = |fabric: Fabric| -> Run {
                let flows = some_flows(&fabric);
                Setup { horizon, ..Setup::new(fabric, flows) }.run(name, "")
            };
            let (own, graph) = (run(of_kind.clone()), run(as_graph(&of_kind)));
            assert_eq!(own.digest, graph.digest, "{name}, {:?}", of_kind.load_balancing);
            assert_eq!(own.records, graph.records, "{name}");
        }
    }
}

/// Shares of one large flow's packets, and of many flows, over links of weights 3 and 1.
#[test]
fn equal_cost_links_share_by_their_weights() {
    let text = |balancing: &str| {
        format!(
            "kind = \"graph\"\nhosts = [\"a\", \"b\"]\nrate = \"10Gbps\"\nload_balancing = \"{balancing}\"\nlink = [\
             {{ ends = [\"a\", \"s\"] }}, {{ ends = [\"t\", \"b\"] }},\
             {{ ends = [\"s\", \"t\"], ecmp_weight = 3 }}, {{ ends = [\"s\", \"t\"], ecmp_weight = 1 }}]"
        )
    };
    for balancing in ["ecmp", "spray", "spray-random"] {
        let fabric = fabric(&text(balancing));
        let ports =
            ["s->t", "s->t#2"].map(|name| fabric.port_named(name).unwrap_or_else(|| panic!("{name}")));
        let flows = (0..400).map(|i| flow(0, 1, 14_600, Time::from_us(20 * i))).collect();
        let run = Setup::new(fabric, flows).run("dctcp", "");
        let sent = ports.map(|port| run.ports[port as usize].sent.bytes as f64);
        let share = sent[0] / (sent[0] + sent[1]);
        // 400 flows by their hash: three quarters, and a standard deviation of 2 %.
        let within = if balancing == "spray" { 0.001 } else { 0.07 };
        assert!((share - 0.75).abs() < within, "{balancing}: {share}");
    }
}

/// The metric decides, not the number of links: by way of two quick switches, past a slow link.
#[test]
fn packets_take_the_way_of_least_metric() {
    let text = |metric: u32| {
        format!(
            "kind = \"graph\"\nhosts = [\"a\", \"b\"]\nrate = \"10Gbps\"\nlink = [\
             {{ ends = [\"a\", \"s\"] }}, {{ ends = [\"t\", \"b\"] }}, {{ ends = [\"s\", \"t\"], rate = \"1Gbps\", metric = {metric} }},\
             {{ ends = [\"s\", \"x\"] }}, {{ ends = [\"x\", \"t\"] }}]"
        )
    };
    let passed = |metric: u32| {
        let fabric = fabric(&text(metric));
        let direct = fabric.port_named("s->t").unwrap_or_else(|| panic!("no such port"));
        let run = Setup::new(fabric, vec![flow(0, 1, 100_000, Time::ZERO)]).run("dctcp", "");
        Bytes::new(run.ports[direct as usize].sent.bytes) > Bytes::ZERO
    };
    assert!(passed(1) && !passed(3));
}
