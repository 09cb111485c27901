//! What workflows give, from the fields of `[[workload.task]]` to flows.

use std::collections::{BTreeMap, BTreeSet};

use tailrace_core::{HEADER_BYTES, HostId, Rate, TaskRecord, Time};
use tailrace_fabric::Racks;

use crate::feed::Feed;
use crate::{FlowSpec, HostLoad, Setting, Workload};

/// Two pods of three racks of five hosts.
const SETTING: Setting = Setting {
    hosts: 30,
    speeds: Vec::new(),
    racks: Racks::bounded(&[0, 5, 10, 15, 20, 25, 30]),
    racks_per_pod: 3,
    slices: 0,
    host_rate: Rate::from_gbps(1),
    mss: 1460,
    base_rtt: Time::from_us(100),
};

fn workload(fields: &str) -> Result<Workload, String> {
    let table = format!("[[task]]\n{fields}").parse().unwrap();
    Workload::from_table(&table, &SETTING).map_err(|error| error.to_string())
}

fn feed(fields: &str) -> Feed {
    let workload = workload(fields).unwrap();
    Feed::new(&workload, "".as_ref(), SETTING, 1).unwrap()
}

/// All flows with their ends, each of which takes so long.
fn run(mut feed: Feed, each: Time) -> (Vec<(FlowSpec, Time)>, Vec<TaskRecord>) {
    let mut flows: Vec<(FlowSpec, Time)> = Vec::new();
    let mut ended = 0;
    while !feed.is_empty() {
        let end = flows.get(ended).map(|(_, end)| *end);
        match feed.peek() {
            Some(start) if end.is_none_or(|end| start < end) => {
                let flow = feed.pop().unwrap();
                assert_eq!(flow.start, start);
                flows.push((flow, start + each));
            }
            _ => {
                let (flow, end) = flows[ended];
                feed.ended(end, flow.ticket);
                ended += 1;
            }
        }
    }
    (flows, feed.task_records(Time::MAX).to_vec())
}

/// The flows of one task of these fields, wave by wave.
fn waves(workflow: &str, bytes: &str) -> Vec<Vec<(HostId, HostId, u64)>> {
    let fields = format!("workflow = {workflow}\n{bytes}\narrivals = \"once\"\ncount = 1");
    let (flows, tasks) = run(feed(&fields), Time::from_us(10));
    let total: u64 = flows.iter().map(|(flow, _)| flow.size.get()).sum();
    assert_eq!((tasks[0].bytes.get(), tasks[0].flows), (total, flows.len() as u32));
    assert!(flows.iter().all(|(flow, _)| flow.task_size.get() == total && flow.src != flow.dst));
    let mut waves: BTreeMap<Time, Vec<(HostId, HostId, u64)>> = BTreeMap::new();
    for (flow, _) in flows {
        waves.entry(flow.start).or_default().push((flow.src, flow.dst, flow.size.get()));
    }
    assert_eq!(tasks[0].end, *waves.keys().next_back().unwrap() + Time::from_us(10));
    waves.into_values().collect()
}

fn bytes(wave: &[(HostId, HostId, u64)]) -> u64 {
    wave.iter().map(|flow| flow.2).sum()
}

#[test]
fn servers_send_to_a_client_at_once() {
    let waves = waves(
        "{ parallel = { clients = [3], servers = 7, from = { racks = [1, 2] } } }",
        "sizes = { fixed = \"70KB\" }",
    );
    assert_eq!(waves.len(), 1);
    assert_eq!((waves[0].len(), bytes(&waves[0])), (7, 70_000));
    let servers: BTreeSet<u32> = waves[0].iter().map(|flow| flow.0).collect();
    assert!(servers.len() == 7 && servers.iter().all(|server| (5..15).contains(server)));
    assert!(waves[0].iter().all(|flow| flow.1 == 3 && (70_000 / 150..70_000).contains(&flow.2)));
}

#[test]
fn an_aggregator_hears_from_its_rack() {
    let waves = waves("{ partition-aggregate = { aggregators = [14] } }", "flow_sizes = { fixed = \"2KB\" }");
    let mut workers: Vec<HostId> = waves[0].iter().map(|flow| flow.0).collect();
    workers.sort_unstable();
    assert_eq!((waves.len(), workers), (1, vec![10, 11, 12, 13]));
    assert!(waves[0].iter().all(|flow| flow.1 == 14 && flow.2 == 2000));
}

#[test]
fn two_stages_join_at_the_top_of_a_pod() {
    let waves =
        waves("{ partition-aggregate = { stages = 2, aggregators = [29] } }", "sizes = { fixed = \"1MB\" }");
    assert_eq!((waves.len(), waves[0].len(), bytes(&waves[0])), (2, 8, 1_000_000));
    // Each sends on three per cent of what it has received.
    for &(mid, top, sent) in &waves[1] {
        let received: u64 = waves[0].iter().filter(|flow| flow.1 == mid).map(|flow| flow.2).sum();
        assert_eq!((top, sent), (29, (received as f64 * 0.03).round() as u64));
    }
    let mids: BTreeSet<u32> = waves[1].iter().map(|flow| flow.0).collect();
    assert_eq!(mids, [19, 24].into());
}

#[test]
fn by_default_aggregators_are_the_last_of_racks_and_of_pods() {
    // Who receives without ever sending on is at the top.
    let tops = |workflow: &str| {
        let fields =
            format!("workflow = {workflow}\nsizes = {{ fixed = \"9KB\" }}\nevery = \"1ms\"\ncount = 300");
        let (flows, _) = run(feed(&fields), Time::from_us(1));
        let senders: BTreeSet<(u32, u32)> = flows.iter().map(|(flow, _)| (flow.task, flow.src)).collect();
        let ends = flows.iter().filter(|(flow, _)| !senders.contains(&(flow.task, flow.dst)));
        ends.map(|(flow, _)| flow.dst).collect::<BTreeSet<u32>>()
    };
    assert_eq!(tops("{ partition-aggregate = {} }"), [4, 9, 14, 19, 24, 29].into());
    assert_eq!(tops("{ partition-aggregate = { stages = 2 } }"), [14, 29].into());
}

#[test]
fn a_second_shuffle_goes_back_with_what_is_left() {
    let shuffle = "{ shuffle = { mappers = 3, reducers = 2, stages = 2, selectivity = 0.5 } }";
    let waves = waves(shuffle, "sizes = { fixed = \"600KB\" }");
    assert_eq!(waves.iter().map(Vec::len).collect::<Vec<_>>(), [6, 6]);
    let received = |host: HostId, wave: &[(HostId, HostId, u64)]| {
        wave.iter().filter(|f| f.1 == host).map(|f| f.2).sum::<u64>()
    };
    let sent = |host: HostId, wave: &[(HostId, HostId, u64)]| {
        wave.iter().filter(|f| f.0 == host).map(|f| f.2).sum::<u64>()
    };
    for reducer in waves[0].iter().map(|flow| flow.1) {
        assert_eq!(sent(reducer, &waves[1]), (received(reducer, &waves[0]) as f64 * 0.5).round() as u64);
    }
}

#[test]
fn a_ring_sends_every_part_round_twice_but_for_two_steps() {
    let waves = waves("{ ring-all-reduce = { hosts = [4, 2, 9] } }", "sizes = { fixed = \"1000B\" }");
    assert_eq!(waves.len(), 4);
    for wave in &waves {
        let ends: BTreeSet<(HostId, HostId)> = wave.iter().map(|flow| (flow.0, flow.1)).collect();
        assert_eq!(ends, [(4, 2), (2, 9), (9, 4)].into());
        assert_eq!(bytes(wave), 1000);
    }
}

#[test]
fn a_tree_adds_up_and_spreads() {
    let waves = waves("{ tree-all-reduce = { hosts = [0, 1, 2, 3, 4] } }", "sizes = { fixed = \"1000B\" }");
    let ends: Vec<BTreeSet<(HostId, HostId)>> =
        waves.iter().map(|wave| wave.iter().map(|flow| (flow.0, flow.1)).collect()).collect();
    // 3 and 4 are below 1; 1 and 2 are below 0.
    assert_eq!(ends[0], [(3, 1), (4, 1), (2, 0)].into());
    assert_eq!(ends[1..], [[(1, 0)].into(), [(0, 1), (0, 2)].into(), [(1, 3), (1, 4)].into()]);
    assert!(waves.iter().flatten().all(|flow| flow.2 == 1000));
}

#[test]
fn all_to_all_keeps_one_part() {
    let waves = waves("{ all-to-all = { hosts = { racks = [1] } } }", "sizes = { fixed = \"1000B\" }");
    assert_eq!((waves.len(), waves[0].len()), (1, 20));
    assert!(waves[0].iter().all(|flow| flow.2 == 200));
}

#[test]
fn micro_batches_go_there_and_back() {
    let waves =
        waves("{ pipeline = { hosts = [7, 8, 9], microbatches = 2 } }", "sizes = { fixed = \"1000B\" }");
    let ends: Vec<Vec<(HostId, HostId)>> =
        waves.iter().map(|wave| wave.iter().map(|flow| (flow.0, flow.1)).collect()).collect();
    let expected: [&[(HostId, HostId)]; 5] =
        [&[(7, 8)], &[(8, 9), (7, 8)], &[(9, 8), (8, 9)], &[(8, 7), (9, 8)], &[(8, 7)]];
    assert_eq!(ends, expected);
    assert!(waves.iter().flatten().all(|flow| flow.2 == 500));
}

#[test]
fn a_graph_says_which_stage_comes_after_which() {
    let graph = "{ graph = [
        { name = \"join\", from = [2, 3], to = [4], after = [\"left\", \"right\"], selectivity = 0.1 },
        { name = \"left\", from = [0], to = [2] },
        { name = \"right\", from = [1], to = [2, 3] },
    ] }";
    let waves = waves(graph, "flow_sizes = { fixed = \"1KB\" }");
    assert_eq!(waves[0], [(0, 2, 1000), (1, 2, 1000), (1, 3, 1000)]);
    assert_eq!(waves[1], [(2, 4, 200), (3, 4, 100)]);
}

#[test]
fn senders_compute_first() {
    let fields = "workflow = { parallel = { servers = 2 } }\nsizes = { fixed = \"9KB\" }\nevery = \"1ms\"\ncount = 400";
    let (plain, _) = run(feed(fields), Time::from_us(1));
    let (late, tasks) = run(feed(&format!("{fields}\ncompute = {{ exp = \"2ms\" }}")), Time::from_us(1));
    assert!(late.is_sorted_by_key(|(flow, _)| flow.start));
    let mean_start = |flows: &[(FlowSpec, Time)]| {
        flows.iter().map(|(flow, _)| flow.start.as_secs_f64()).sum::<f64>() / flows.len() as f64
    };
    let delay = mean_start(&late) - mean_start(&plain);
    assert!((delay / 2e-3 - 1.0).abs() < 0.15, "{delay}");
    // Tasks last from their arrival on.
    assert!(tasks.is_sorted_by_key(|task| task.start));
    assert_eq!(tasks[0].start, plain[0].0.start);
}

/// Load that flows put on each host's link until the last one starts, counted packet by packet.
fn measured_loads(flows: &[(FlowSpec, Time)]) -> Vec<HostLoad> {
    let seconds = flows[flows.len() - 1].0.start.as_secs_f64();
    let mut loads = vec![HostLoad::default(); SETTING.hosts as usize];
    for (flow, _) in flows {
        let wire = flow.size.get() as f64 * (1460.0 + f64::from(HEADER_BYTES)) / 1460.0;
        let share = wire / seconds / SETTING.host_rate.bytes_per_sec();
        loads[flow.src as usize].sends += share;
        loads[flow.dst as usize].receives += share;
    }
    loads
}

#[test]
fn offered_loads_are_the_expected_ones() {
    for workflow in [
        "{ parallel = { servers = 5 } }",
        "{ parallel = { clients = [0, 7, 12], servers = 3, from = { racks = [0, 2] } } }",
        "{ parallel = { clients = { racks = [1] }, servers = 2, same_rack = true } }",
        "{ partition-aggregate = { workers = 3 } }",
        "{ partition-aggregate = { stages = 2, mids = 1, workers = 2, selectivity = 0.2 } }",
        "{ shuffle = { mappers = 4, reducers = 3, stages = 2, selectivity = 0.4 } }",
        "{ ring-all-reduce = { hosts = 4 } }",
        "{ tree-all-reduce = { hosts = [1, 2, 3, 8] } }",
        "{ all-to-all = { hosts = 6 } }",
        "{ pipeline = { hosts = 3, microbatches = 2 } }",
        "{ graph = [{ name = \"a\", from = [0], to = [1, 2] }, { name = \"b\", from = [2], to = [0], after = [\"a\"] }] }",
    ] {
        let fields =
            format!("workflow = {workflow}\nsizes = {{ fixed = \"1MB\" }}\nload = 0.7\ncount = 100_000");
        let plan = workload(&fields).unwrap().plan(&SETTING, 1).unwrap();
        assert!((plan.peak_load() - 0.7).abs() < 1e-9, "{workflow}: {}", plan.peak_load());
        let (flows, _) = run(feed(&fields), Time::from_us(1));
        for (host, (found, expected)) in
            measured_loads(&flows).iter().zip(plan.host_loads(Time::ZERO)).enumerate()
        {
            for (found, expected) in [(found.sends, expected.sends), (found.receives, expected.receives)] {
                assert!(
                    (found - expected).abs() <= 0.06 * expected.max(0.05),
                    "{workflow}: host {host} {found}, not {expected}"
                );
            }
        }
    }
}

#[test]
fn the_load_only_stretches_time() {
    let with = |rate: &str| {
        let fields = format!(
            "workflow = {{ parallel = {{ servers = 3 }} }}\nsizes = \"web-search\"\n{rate}\ncount = 200"
        );
        run(feed(&fields), Time::from_ps(1)).0
    };
    let (slow, fast) = (with("load = 0.2"), with("load = 0.8"));
    for ((a, _), (b, _)) in slow.iter().zip(&fast) {
        assert_eq!((a.src, a.dst, a.size, a.task), (b.src, b.dst, b.size, b.task));
        let stretch = a.start.as_secs_f64() / b.start.as_secs_f64();
        assert!((stretch - 4.0).abs() < 1e-6, "{stretch}");
    }
}

#[test]
fn a_load_is_that_of_the_tasks_that_are_drawn() {
    // The tail is so heavy that the mean of a thousand tasks is far from that of the distribution.
    let fields = "workflow = { partition-aggregate = { aggregators = [4] } }\nsizes = { pareto = { shape = 0.5, min = \"1KB\", max = \"1000GB\" } }\nload = 0.8\ncount = 1000";
    let plan = workload(fields).unwrap().plan(&SETTING, 1).unwrap();
    let (_, tasks) = run(feed(fields), Time::from_ps(1));
    let bytes: u64 = tasks.iter().map(|task| task.bytes.get()).sum();
    let rate = plan.expected_bytes().unwrap() / bytes as f64;
    assert!((rate - 1.0).abs() < 1e-6, "{rate}");
}

#[test]
fn numbers_come_from_the_counter_of_the_entry_point() {
    let text = "task_counters = 4
        [[task]]
        workflow = { parallel = { clients = [0, 1, 2, 3], servers = 3, from = { racks = [1, 2, 3, 4] } } }
        sizes = { fixed = \"800KB\" }
        load = 0.5
        count = 200
        [[task]]
        workflow = { parallel = { servers = 3 } }
        sizes = { fixed = \"8MB\" }
        every = \"20ms\"
        stop = \"100ms\"
        background = true";
    let workload = Workload::from_table(&text.parse().unwrap(), &SETTING).unwrap();
    let (flows, tasks) = run(Feed::new(&workload, "".as_ref(), SETTING, 1).unwrap(), Time::from_ms(1));
    for (flow, _) in flows.iter().filter(|(flow, _)| flow.class == 0) {
        assert_eq!(flow.task % 4, (flow.dst + 1) % 4, "{flow:?}");
    }
    let distinct: BTreeSet<u32> = tasks.iter().map(|task| task.id).collect();
    assert_eq!(distinct.len(), tasks.len());
    assert!(tasks.iter().all(|task| (task.class == 1) == (task.id > 1 << 31)));
    assert_eq!(Workload::from_table(&workload.to_table(), &SETTING), Ok(workload));
}

#[test]
fn tasks_that_arrive_at_once_are_drawn_one_by_one() {
    // Would they all be drawn at the first look, this took gigabytes.
    let fields = "workflow = { parallel = { servers = 20 } }\nsizes = { fixed = \"1MB\" }\narrivals = \"once\"\ncount = 2_500_000";
    let first: Vec<FlowSpec> = feed(fields).take(100).collect();
    let tasks: Vec<u32> = first.iter().map(|flow| flow.task).collect();
    assert_eq!(tasks, (0..100).map(|flow| 1 + flow / 20).collect::<Vec<u32>>());
    let bytes: u64 = first.iter().map(|flow| flow.size.get()).sum();
    assert_eq!(bytes, 5_000_000);
}

#[test]
fn rules_and_tasks_run_side_by_side() {
    let text = "flows = 100\nduration = \"10ms\"\n[[rule]]\nsizes = { fixed = \"1KB\" }\nevery = \"50us\"
        [[task]]\nworkflow = { parallel = { servers = 2 } }\nsizes = { fixed = \"1KB\" }\nevery = \"1ms\"\narrivals = \"periodic\"";
    let workload = Workload::from_table(&text.parse().unwrap(), &SETTING).unwrap();
    let (flows, tasks) = run(Feed::new(&workload, "".as_ref(), SETTING, 1).unwrap(), Time::from_us(1));
    assert!(flows.is_sorted_by_key(|(flow, _)| flow.start));
    assert_eq!((flows.iter().filter(|(flow, _)| flow.task == 0).count(), tasks.len()), (100, 10));
    assert!(
        flows
            .iter()
            .all(|(flow, _)| (flow.task == 0) == (flow.ticket == 0) && (flow.task == 0) == (flow.class == 0))
    );
}
