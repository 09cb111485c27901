//! What flow sources promise: order, rates, loads, common random numbers.

use std::collections::BTreeMap;

use tailrace_core::{Bytes, HostId, Rate, Time};
use tailrace_fabric::Racks;

use crate::feed::FlowSource;
use crate::{FlowSpec, HostLoad, Plan, Setting, Workload, published};

const SETTING: Setting = Setting {
    hosts: 16,
    speeds: Vec::new(),
    racks: Racks::bounded(&[0, 4, 8, 12, 16]),
    racks_per_pod: 4,
    slices: 0,
    host_rate: Rate::from_gbps(10),
    mss: 1460,
    base_rtt: Time::from_us(85),
};

fn workload(text: &str) -> Workload {
    Workload::from_table(&text.parse().unwrap(), &SETTING).unwrap()
}

fn plan(text: &str) -> Plan {
    workload(text).plan(&SETTING, 1).unwrap()
}

fn flows(text: &str) -> Vec<FlowSpec> {
    FlowSource::of_rules(&plan(text)).collect()
}

/// Load that flows put on each host's link until the last one starts, counted packet by packet.
fn measured_loads(flows: &[FlowSpec]) -> Vec<HostLoad> {
    let seconds = flows[flows.len() - 1].start.as_secs_f64();
    let mut loads = vec![HostLoad::default(); SETTING.hosts as usize];
    for flow in flows {
        let wire = flow.size.get() + 40 * flow.size.get().div_ceil(1460);
        let share = wire as f64 / seconds / SETTING.host_rate.bytes_per_sec();
        loads[flow.src as usize].sends += share;
        loads[flow.dst as usize].receives += share;
    }
    loads
}

#[test]
fn flows_come_in_order_and_number() {
    let flows = flows("sizes = \"web-search\"\nload = 0.5\nflows = 1000");
    assert_eq!(flows.len(), 1000);
    assert!(flows.is_sorted_by_key(|flow| flow.start));
    assert!(flows.iter().all(|flow| flow.src != flow.dst && flow.src < 16 && flow.dst < 16));
}

#[test]
fn all_to_all_offers_the_rate_of_the_papers() {
    // λ = load · C / (8 · E[size] · 1500/1460) for each host.
    let plan = plan("sizes = \"web-search\"\nload = 0.6\nflows = 1");
    let expected = 16.0 * 0.6 * 10e9 / (8.0 * 1_665_830.8 * 1500.0 / 1460.0);
    assert!((plan.flows_per_sec(0) / expected - 1.0).abs() < 1e-9);
    assert!((plan.peak_load() - 0.6).abs() < 1e-12);
}

#[test]
fn offered_loads_are_the_expected_ones() {
    for text in [
        "pattern = \"all-to-all\"",
        "pattern = \"permutation\"",
        "pattern = \"other-racks\"",
        "pattern = \"other-racks\"\ndestinations = 2",
        "pattern = \"pairs\"\nfrom = [1, 3]\nto = [0]",
        "pattern = \"pairs\"\nfrom = [0]\nto = [1, 2, 3, 4]",
        "pattern = \"pairs\"\nfrom = { racks = [0, 2] }\nto = { racks = [2, 3] }",
        "pattern = { incast = { fan_in = 4, receivers = [3, 9], jitter = \"100us\" } }",
        "pattern = { incast = { fan_in = 5 } }\narrivals = \"periodic\"",
        "pairs = \"ascending\"",
        "arrivals = \"periodic\"",
    ] {
        let text = format!("sizes = \"long-flow\"\nload = 0.7\nflows = 300_000\n{text}");
        let plan = plan(&text);
        let measured = measured_loads(&FlowSource::of_rules(&plan).collect::<Vec<_>>());
        for (host, (found, expected)) in measured.iter().zip(plan.host_loads(Time::ZERO)).enumerate() {
            let close = |found: f64, expected: f64| (found - expected).abs() <= 0.05 * expected.max(0.05);
            assert!(close(found.sends, expected.sends), "{text}: host {host} {found:?}, not {expected:?}");
            assert!(
                close(found.receives, expected.receives),
                "{text}: host {host} {found:?}, not {expected:?}"
            );
        }
        let whole_pattern = !text.contains("ascending");
        assert!((plan.peak_load() - 0.7).abs() < 1e-9 || !whole_pattern, "{text}: {}", plan.peak_load());
    }
}

#[test]
fn filtered_halves_make_up_the_whole() {
    // AWAFS, heterogeneous traffic (§5.6): web search upwards, data mining downwards, each alone at full load in both directions.
    let both = plan(
        r#"load = 0.8
        flows = 1
        [[rule]]
        sizes = "web-search"
        pairs = "ascending"
        [[rule]]
        sizes = "data-mining"
        pairs = "descending""#,
    );
    for load in both.host_loads(Time::ZERO) {
        assert!((load.sends - 0.8).abs() < 1e-9 && (load.receives - 0.8).abs() < 1e-9, "{load:?}");
    }
}

#[test]
fn shares_of_flows_share_the_load() {
    // AWAFS, micro benchmark (§5.3): hosts 1 and 3 send 1 MB, host 2 sends 10 KB, all to host 0; 80 % of flows are short.
    let micro = "load = 0.9
        flows = 200_000
        pattern = \"pairs\"
        to = [0]
        [[rule]]
        sizes = { fixed = \"10KB\" }
        from = [2]
        flow_share = 0.8
        [[rule]]
        sizes = { fixed = \"1MB\" }
        from = [1, 3]
        flow_share = 0.2";
    let plan = plan(micro);
    assert!((plan.peak_load() - 0.9).abs() < 1e-12);
    let flows: Vec<FlowSpec> = FlowSource::of_rules(&plan).collect();
    let short = flows.iter().filter(|flow| flow.class == 0).count();
    assert!(short.abs_diff(160_000) < 1_000, "{short}");
    assert!(flows.iter().all(|flow| (flow.src == 2) == (flow.size == Bytes::new(10_000)) && flow.dst == 0));
    assert!((measured_loads(&flows)[0].receives - 0.9).abs() < 0.01);
}

/// Flows under Γ control, 16 hosts.
fn under_gamma(load: f64, flows: u64, gamma: &str) -> Plan {
    let flows = format!("sizes = \"web-search\"\nload = {load}\nflows = {flows}");
    plan(&format!("{flows}\ndeadline = {{ gamma = {{ {gamma} }} }}"))
}

#[test]
fn gamma_gives_as_many_bytes_deadlines_as_planned() {
    for (load, share) in [(0.8, 0.1), (0.8, 0.5), (0.8, 0.9), (0.4, 0.9)] {
        for deadlines in ["scope = \"host\", flow_share = 0.25", "factor = 2.0", "factor = 10.0"] {
            let plan = under_gamma(load, 200_000, &format!("share = {share}, {deadlines}"));
            let planned = plan.classes(load)[0].load / load;
            let (mut due, mut all) = (0.0, 0.0);
            for flow in FlowSource::of_rules(&plan) {
                all += flow.size.as_f64();
                due += if flow.deadline.is_some() { flow.size.as_f64() } else { 0.0 };
            }
            let of = format!("load {load}, Γ {share}, {deadlines}");
            assert!((due / all / planned - 1.0).abs() < 0.03, "{of}: {}, not {planned}", due / all);
        }
    }
}

/// Every decision, counted anew over all flows before: a flow gets a deadline exactly if the expected rates of those
/// that have one and are not due yet, of all of them or of those at its hosts, stay below Γ.
#[test]
fn gamma_counts_what_brute_force_counts() {
    let (link, share) = (1.25e9, 0.3);
    for (scope, links) in [("network", 16.0), ("host", 1.0)] {
        let plan = under_gamma(0.8, 3_000, &format!("share = {share}, scope = \"{scope}\", factor = 3.0"));
        let flows: Vec<FlowSpec> = FlowSource::of_rules(&plan).collect();
        let expected = |flow: &FlowSpec| flow.size.as_f64() / (3.0 * (200e-6 + flow.size.as_f64() / link));
        let (mut given, mut most) = (0, 0.0_f64);
        for (number, flow) in flows.iter().enumerate() {
            let active = |other: &&FlowSpec| other.deadline.is_some_and(|deadline| deadline > flow.start);
            let sum = |counts: &dyn Fn(&FlowSpec) -> bool| -> f64 {
                flows[..number].iter().filter(active).filter(|&other| counts(other)).map(expected).sum()
            };
            let used = match scope {
                "network" => sum(&|_| true),
                _ => sum(&|other| other.src == flow.src).max(sum(&|other| other.dst == flow.dst)),
            };
            assert_eq!(flow.deadline.is_some(), used < share * links * link, "{scope}, flow {number}");
            if let Some(deadline) = flow.deadline {
                // Rounded up to milliseconds.
                let time = (flow.size.as_f64() / expected(flow) * 1e3).ceil() / 1e3;
                assert!(((deadline - flow.start).as_secs_f64() - time).abs() < 1e-9);
                given += 1;
                most = most.max(used + expected(flow));
            }
        }
        // Γ is used up, and exceeded by less than a flow's rate; both happened.
        assert!((300..2_900).contains(&given), "{scope}: {given}");
        assert!(most > share * links * link && most < share * links * link + link / 3.0, "{scope}: {most}");
    }
}

#[test]
fn rules_have_their_times() {
    let flows = flows(
        r#"load = 0.5
        duration = "60ms"
        [[rule]]
        sizes = "long-flow"
        stop = "35ms"
        class = 7
        [[rule]]
        sizes = { fixed = "100KB" }
        start = "35ms"
        slice = 3"#,
    );
    let change = Time::from_ms(35);
    assert!(flows.iter().all(|flow| (flow.start < change) == (flow.class == 7)));
    assert!(
        flows.iter().all(|flow| (flow.slice == 3) == (flow.class == 1) && flow.start < Time::from_ms(60))
    );
    assert!(flows.iter().any(|flow| flow.class == 7) && flows.iter().any(|flow| flow.class == 1));
}

#[test]
fn load_only_stretches_time() {
    let at = |load: f64| {
        flows(&format!(
            "load = {load}\nflows = 2_000\n[[rule]]\nsizes = \"web-search\"\n[[rule]]\nsizes = \"data-mining\""
        ))
    };
    for (low, high) in at(0.2).into_iter().zip(at(0.4)) {
        let expected = low.start.as_secs_f64() / 2.0;
        assert!((high.start.as_secs_f64() / expected - 1.0).abs() < 1e-6);
        assert_eq!(FlowSpec { start: Time::ZERO, ..low }, FlowSpec { start: Time::ZERO, ..high });
    }
}

#[test]
fn the_seed_changes_everything_and_nothing_else_does() {
    let workload = workload("sizes = \"web-search\"\nload = 0.5\nflows = 100");
    let with = |seed| FlowSource::of_rules(&workload.plan(&SETTING, seed).unwrap()).collect::<Vec<_>>();
    assert_eq!(with(1), with(1));
    assert!(with(1).iter().zip(with(2)).all(|(a, b)| a.start != b.start));
}

#[test]
fn racks_send_as_their_hosts_do() {
    let rule = |from: &str, to: &str| {
        flows(&format!(
            "sizes = \"web-search\"\nload = 0.5\nflows = 500\npattern = \"pairs\"\nfrom = {from}\nto = {to}"
        ))
    };
    let by_rack = rule("{ racks = [2, 0] }", "{ racks = [3] }");
    assert_eq!(by_rack, rule("[0, 1, 2, 3, 8, 9, 10, 11]", "[12, 13, 14, 15]"));
    assert!(by_rack.iter().all(|flow| [0, 2].contains(&(flow.src / 4)) && flow.dst / 4 == 3));
}

#[test]
fn bulk_senders_choose_one_host_of_another_rack() {
    let rule =
        "sizes = { fixed = \"1GB\" }\narrivals = \"once\"\npattern = \"other-racks\"\ndestinations = 1";
    let flows = flows(rule);
    assert_eq!(flows.iter().map(|flow| flow.src).collect::<Vec<_>>(), (0..16).collect::<Vec<_>>());
    assert!(flows.iter().all(|flow| flow.src / 4 != flow.dst / 4));
    let again: Vec<FlowSpec> = FlowSource::of_rules(&workload(rule).plan(&SETTING, 2).unwrap()).collect();
    assert_ne!(flows, again, "another seed, other destinations");
    let chosen: std::collections::BTreeSet<u32> = flows.iter().map(|flow| flow.dst).collect();
    assert!(chosen.len() > 6, "{chosen:?}");
}

#[test]
fn once_is_one_flow_a_pair() {
    let once = "sizes = { fixed = \"1MB\" }\narrivals = \"once\"\nstart = \"5us\"";
    let all = flows(once);
    assert_eq!(all.len(), 16 * 15);
    let pairs: BTreeMap<_, _> = all.iter().map(|flow| ((flow.src, flow.dst), flow.start)).collect();
    assert_eq!(pairs.len(), 16 * 15);
    assert!(pairs.values().all(|&start| start == Time::from_us(5)));
    assert_eq!(flows(&format!("{once}\npattern = \"permutation\"")).len(), 16);
    let incast = flows(&format!("{once}\npattern = {{ incast = {{ fan_in = 3, receivers = [4, 5] }} }}"));
    let to: Vec<HostId> = incast.iter().map(|flow| flow.dst).collect();
    assert_eq!(to, [4, 4, 4, 5, 5, 5]);
}

#[test]
fn bursts_overlap_in_order_and_are_tasks() {
    let flows = flows(
        "sizes = { fixed = \"10KB\" }\nevery = \"1us\"\nflows = 10_000\npattern = { incast = { fan_in = 8, jitter = \"50us\" } }",
    );
    assert!(flows.is_sorted_by_key(|flow| flow.start));
    let mut receivers: BTreeMap<u32, u32> = BTreeMap::new();
    for flow in &flows {
        assert_eq!(*receivers.entry(flow.task).or_insert(flow.dst), flow.dst);
    }
    let whole = receivers.len().abs_diff(10_000 / 8);
    assert!(whole < 100, "{} bursts", receivers.len());
    let seconds = flows[flows.len() - 1].start.as_secs_f64();
    assert!((10_000.0 / 8.0 / seconds / 1e6 - 1.0).abs() < 0.1);
}

#[test]
fn periodic_flows_have_equal_gaps() {
    let flows = flows(
        "sizes = { fixed = \"10KB\" }\nevery = \"3us\"\nflows = 5\narrivals = \"periodic\"\nstart = \"1us\"",
    );
    let starts: Vec<u64> = flows.iter().map(|flow| flow.start.as_ns()).collect();
    assert_eq!(starts, [1_000, 4_000, 7_000, 10_000, 13_000]);
}

#[test]
fn a_list_is_limited_like_rules_are() {
    let flow = |us, src| FlowSpec {
        src,
        dst: 9,
        size: Bytes::new(1),
        start: Time::from_us(us),
        ..FlowSpec::default()
    };
    let list = vec![flow(3, 1), flow(1, 2), flow(3, 0), flow(2, 3)];
    let source = FlowSource::from_records(list.clone(), &SETTING).unwrap();
    let order: Vec<HostId> = source.clone().map(|flow| flow.src).collect();
    assert_eq!(order, [2, 3, 1, 0]);
    assert_eq!(source.clone().limited(Some(3), None).count(), 3);
    assert_eq!(source.limited(None, Some(Time::from_us(3))).count(), 2);
    let error = FlowSource::from_records(list, &Setting { hosts: 3, ..SETTING }).unwrap_err();
    assert!(error.to_string().starts_with("flow[0]: host 9 does not exist"), "{error}");
}

#[test]
fn sizes_of_several_rules_are_mixed_by_flows() {
    let text = |seconds: u32| {
        format!(
            r#"duration = "{seconds}s"
            every = "1ms"
            [[rule]]
            sizes = {{ fixed = "1KB" }}
            stop = "3s"
            [[rule]]
            sizes = {{ fixed = "2KB" }}
            start = "3s""#
        )
    };
    let mean = |seconds| plan(&text(seconds)).sizes().unwrap().mean();
    assert_eq!(mean(6), 1_500.0);
    assert_eq!(mean(12), 1_750.0);
    assert_eq!(
        plan("sizes = \"web-search\"\nload = 0.1\nflows = 1").sizes(),
        Some(published::find("web-search").unwrap().distribution())
    );
}
