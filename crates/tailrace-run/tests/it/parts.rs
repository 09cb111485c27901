//! A run is the same in any partition into logical processes, for every scheme, balancer and kind of memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{FailurePersistence, FileFailurePersistence};
use tailrace_core::transport::{FctEnd, LossDetection};
use tailrace_core::{Bytes, Ending, Outcome, Running, Time};
use tailrace_fabric::Buffer;
use tailrace_run::{
    Control, Mutation, TestPartition, ThreadPolicy, Threads, Unattended, feed, run, run_partitioned,
    threads_of,
};
use tailrace_scenario::Scenario;
use tailrace_schemes::NAMES;

/// All that comes of a run, as text.
fn told(outcome: &Outcome) -> Vec<String> {
    let Outcome { end, digest, events, tasks, ports, series, updates, ledger, .. } = outcome;
    let mut told = vec![
        format!("end {end}, digest {digest:x}, {events} events, {updates:?}, {tasks:?}"),
        format!("{ledger:?}"),
    ];
    told.extend(outcome.flows.iter().map(|flow| format!("{flow:?}")));
    told.extend(ports.iter().zip(0..).map(|(counts, port)| format!("port {port}: {counts:?}")));
    told.extend(series.rows.iter().map(|row| format!("{row:?}")));
    told
}

fn differs(whole: &Outcome, parallel: &Outcome) -> Option<String> {
    let (whole, parallel) = (told(whole), told(parallel));
    let first = whole.iter().zip(&parallel).find(|(one, other)| one != other);
    let lengths =
        (whole.len() != parallel.len()).then(|| format!("{} rows, {} in parts", whole.len(), parallel.len()));
    first.map(|(one, other)| format!("{one}\nin parts:\n{other}")).or(lengths)
}

/// A ring and a link across it, with unequal rates, delays and lengths; ways back differ from ways there.
const GRAPH: &str = r#"kind = "graph"
hosts = ["h0", "h1", "h2", "h3", "h4"]
switches = ["a", "b", "c", "d"]
rate = "10Gbps"
link = [
  { ends = ["h0", "a"] }, { ends = ["h1", "a"], rate = "5Gbps" }, { ends = ["h2", "b"] }, { ends = ["h3", "c"] },
  { ends = ["h4", "d"], delay = "3us" }, { ends = ["a", "b"] }, { ends = ["b", "c"], delay = "100ns" },
  { ends = ["c", "d"], rate = "40Gbps" }, { ends = ["d", "a"] }, { ends = ["a", "c"], metric = 2, ecmp_weight = 2 },
]"#;

/// A scenario that has something of everything, and how many hosts and switches it has.
fn scenario(fabric: usize, scheme: &str, balancer: &str, rest: &str) -> (Scenario, usize, usize) {
    scenario_of(fabric, "600ns", scheme, balancer, rest)
}

/// The same, with links as long as that, but for some.
fn scenario_of(
    fabric: usize,
    delay: &str,
    scheme: &str,
    balancer: &str,
    rest: &str,
) -> (Scenario, usize, usize) {
    let (shape, hosts, switches) = [
        (
            "kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 3\nspine_rate = \"20Gbps\"\n\
             spine_delay = \"200ns\"\nhost_rate = \"10Gbps\"",
            9,
            5,
        ),
        ("kind = \"star\"\nhosts = 6\nhost_rate = \"10Gbps\"", 6, 1),
        (
            "kind = \"dumbbell\"\nleft = 3\nright = 3\nhost_rate = \"10Gbps\"\nbottleneck_rate = \"10Gbps\"",
            6,
            2,
        ),
        (
            "kind = \"tree\"\npods = 2\nedges_per_pod = 2\nhosts_per_edge = 2\naggs_per_pod = 2\ncores = 2\nhost_rate = \"10Gbps\"\nedge_rate = \"10Gbps\"\ncore_rate = \"20Gbps\"",
            8,
            10,
        ),
        (GRAPH, 5, 4),
    ][fabric];
    let text = format!(
        "{rest}\n[scheme]\nname = \"{scheme}\"\n[transport]\nmin_rto = \"1ms\"\n[fabric]\n{shape}\ndelay = \"{delay}\"\n\
         load_balancing = \"{balancer}\"\n"
    );
    (Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")), hosts, switches)
}

/// Schemes that need one path for each flow.
const ONE_PATH: [&str; 4] = ["pdq", "d3", "rcp", "baraat"];

const BALANCERS: [&str; 5] = ["ecmp", "spray", "spray-random", "flowlet", "flowcell"];

/// The errors of `check` for runs whose switches cannot be split.
const SHARED: [&str; 2] = [
    "threads: the ports of a switch share its memory",
    "threads: the scheme's ports look at what comes back",
];

fn check(scenario: &Scenario, hosts: &[usize], switches: &[usize]) -> Result<(), String> {
    check_mutated(scenario, TestPartition::Nodes(hosts, switches), Mutation::None)
}

fn check_mutated(
    scenario: &Scenario,
    partition: TestPartition<'_>,
    mutation: Mutation,
) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let feed = feed(scenario).map_err(|error| text(&error))?;
    let whole = run(scenario, feed.clone(), &Unattended, Vec::new()).map_err(|error| text(&error))?;
    let (parallel, ending) =
        run_partitioned(scenario, feed, partition, mutation).map_err(|error| error.to_string())?;
    if ending != whole.1 {
        return Err(format!("{:?}, in parts {ending:?}", whole.1));
    }
    differs(&whole.0, &parallel).map_or(Ok(()), Err)
}

const WORKLOAD: &str =
    "[workload]\nsizes = \"web-search\"\nload = 0.9\nflows = 25\ndeadline = { exp = \"20ms\" }";

/// Workloads for the processes: the same, with pauses; bursts to one host; deadlines as others have them, and two rules.
const WORKLOADS: [&str; 4] = [
    WORKLOAD,
    "[workload]\nsizes = \"web-search\"\nload = 0.02\nflows = 25\ndeadline = { exp = \"20ms\" }",
    "[workload]\nsizes = { fixed = \"40KB\" }\nload = 0.6\nflows = 60\n\
     pattern = { incast = { receivers = [1], fan_in = 4, jitter = \"0s\" } }",
    "[workload]\nload = 0.9\nflows = 60\n\
     [[workload.rule]]\nsizes = \"data-mining\"\nflow_share = 0.2\n\
     deadline = { gamma = { share = 0.3, scope = \"network\", factor = 2.0 } }\n\
     [[workload.rule]]\nsizes = { fixed = \"3KB\" }\nclass = 3\nflow_share = 0.8\npattern = \"permutation\"\nreveals = \"nothing\"",
];

/// Schemes that decide at hosts and ports.
fn cuttable() -> Vec<&'static str> {
    NAMES.iter().copied().filter(|name| !WHOLE.contains(name)).collect()
}

/// Those that do not.
const WHOLE: [&str; 2] = ["uranus", "scc"];

/// Some schemes decide for all flows at once, and are not partitioned. The others are, and most of them within switches, too.
#[test]
fn every_scheme_that_decides_at_hosts_and_ports() {
    let (mut whole, mut shared) = (Vec::new(), Vec::new());
    for &scheme in NAMES {
        let slices = "[[slice]]\nweight = 1\n";
        let of_slices = WHOLE.contains(&scheme);
        let (slice, of) = if of_slices { (slices, "slice = 1\n") } else { ("", "") };
        let rest = format!("[measure]\nhorizon = \"2ms\"\n{slice}{WORKLOAD}\n{of}");
        let (star, _, _) = scenario(1, scheme, "ecmp", &rest);
        let (scenario, _, _) = scenario(0, scheme, "ecmp", &rest);
        match check(&scenario, &[0, 1, 0, 1, 2, 1, 1, 2, 0], &[0, 1, 2, 0, 1]) {
            Ok(()) => {}
            Err(why) if why.starts_with("threads: ") => whole.push(scheme),
            Err(why) => panic!("{scheme}: {why}"),
        }
        // The ports of a switch have nothing in common either, but for some schemes.
        let ports: Vec<usize> = (0..scenario.fabric.build().ports.len()).map(|port| port % 3).collect();
        for (scenario, partition) in [
            (&scenario, TestPartition::Ports(&ports)),
            (&scenario, TestPartition::Stages(3)),
            (&star, TestPartition::Hosts(3)),
        ] {
            match check_mutated(scenario, partition, Mutation::None) {
                Err(why) if SHARED.contains(&&why[..]) => shared.push(scheme),
                Err(why) if why.starts_with("threads: ") && of_slices => {}
                done => assert_eq!(done, Ok(()), "{scheme}"),
            }
        }
    }
    assert_eq!(whole, WHOLE);
    assert_eq!(shared, ["hull", "hull", "hull", "pdq", "pdq", "pdq"]);
}

/// Each with its racks in three processes, memory shared within a switch or not.
#[test]
fn every_scheme_under_every_balancer_in_every_memory() {
    let rest = format!("[measure]\nhorizon = \"1ms\"\n{WORKLOAD}\n");
    for (scheme, balancer) in
        cuttable().iter().flat_map(|scheme| BALANCERS.map(|balancer| (scheme, balancer)))
    {
        if balancer != "ecmp" && ONE_PATH.contains(scheme) {
            continue;
        }
        let (mut scenario, _, _) = scenario(0, scheme, balancer, &rest);
        for buffer in [
            Buffer::PerPort(Bytes::new(30_000)),
            Buffer::Shared { total: Bytes::new(90_000), alpha_percent: 100 },
        ] {
            scenario.fabric.buffer = buffer;
            let done = check(&scenario, &[0, 0, 0, 1, 1, 1, 2, 2, 2], &[0, 1, 2, 0, 1]);
            assert_eq!(done, Ok(()), "{scheme}, {balancer}, {buffer:?}");
        }
    }
}

/// Whoever follows a run wants no more of it.
struct Stops {
    looks: AtomicUsize,
    /// At the look of this number, from 0.
    at: usize,
}

impl Stops {
    fn at(at: usize) -> Self {
        Stops { looks: AtomicUsize::new(0), at }
    }
}

impl Control for Stops {
    fn progress(&self, _: &mut dyn Running) {
        self.looks.fetch_add(1, Ordering::Relaxed);
    }
    fn note(&self, text: String) {
        panic!("{text}");
    }
    fn interrupted(&self) -> bool {
        self.looks.load(Ordering::Relaxed) > self.at
    }
    fn threads(&self) -> Threads {
        Threads { at_most: 3, policy: ThreadPolicy::Always }
    }
}

/// Two racks of four hosts, and flows of one packet.
fn small_flows(load: f64, spine_delay: &str) -> Scenario {
    let text = format!(
        "[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 4\nhost_rate = \"10Gbps\"\n\
         spine_rate = \"30Gbps\"\nhost_delay = \"100ns\"\nspine_delay = \"{spine_delay}\"\n\
         [workload]\nsizes = {{ fixed = \"1KB\" }}\nload = {load}\nflows = 3000\n[scheme]\nname = \"dctcp\"\n"
    );
    Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Where a look-ahead is longer than a flow within a rack takes, the other process gets its end before it has started it.
#[test]
fn flows_that_are_shorter_than_a_look_ahead() {
    check(&small_flows(0.2, "50us"), &[0, 0, 0, 0, 1, 1, 1, 1], &[0, 1, 1]).unwrap();
}

/// Where all processes are idle for seconds, they do not go there by look-aheads, of which there would be too many.
#[test]
fn long_pauses_are_passed_over() {
    let scenario = small_flows(1e-6, "200ns");
    let whole = run(&scenario, feed(&scenario).unwrap(), &Unattended, Vec::new()).unwrap();
    assert!(whole.0.end > Time::from_secs_f64(100.0), "{}", whole.0.end);
    for (hosts, switches) in [([0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 1]), ([0, 1, 2, 3, 4, 5, 6, 6], [0, 3, 5])] {
        check(&scenario, &hosts, &switches).unwrap();
    }
}

/// A process may be far beyond its last event when the run is to stop, or have announced that it is idle until long after.
#[test]
fn a_run_at_rest_stops() {
    for (load, looks) in [(0.0001, 1), (1e-6, 6)] {
        let scenario = small_flows(load, "200ns");
        for at in (0..looks).cycle().take(12) {
            let control = Stops::at(at);
            let (outcome, ending) = run(&scenario, feed(&scenario).unwrap(), &control, Vec::new()).unwrap();
            // Flows may be over before so many looks.
            let looked = control.looks.load(Ordering::Relaxed);
            assert_eq!(ending, if looked > at { Ending::Interrupted } else { Ending::Finished });
            assert!(outcome.end > Time::ZERO);
        }
    }
}

/// All processes stop at the same time, and packets on their way between them are counted: the ledger of a run that does not balance is
/// a panic.
#[test]
fn a_run_in_parts_stops_where_it_is_to() {
    // By racks, and, where links of hosts are long, by stages (`rounds_decide_how_a_fabric_is_cut` in `partition.rs`).
    for delay in ["600ns", "20us"] {
        // So many events that there is a look in the middle, however far a process goes in a turn.
        let workload = WORKLOAD.replace("flows = 25", "flows = 250");
        let rest = format!("[measure]\nsample_every = \"10us\"\nsample_ports = \"all\"\n{workload}");
        let (scenario, _, _) = scenario_of(0, delay, "pias", "ecmp", &rest);
        let control = Stops::at(0);
        assert_eq!(threads_of(&scenario, control.threads()).unwrap(), 3);
        let feed = feed(&scenario).unwrap();
        let (outcome, ending) = run(&scenario, feed, &control, Vec::new()).unwrap();
        assert_eq!(ending, Ending::Interrupted);
        assert_eq!(control.looks.load(Ordering::Relaxed), 1, "it stops at the first look");
        let ledger = outcome.ledger.unwrap();
        assert!(ledger.delivered.packets > 0 && outcome.end > Time::ZERO);
    }
}

/// A process that is idle until the end may still have packets waiting at ports that lead out: they leave, and arrive in
/// time for the events of others until then.
#[test]
fn what_leaves_a_part_at_rest_is_not_held_back_at_the_end() {
    for seed in [346, 1, 2, 3] {
        let rest = format!("seed = {seed}\n[measure]\nhorizon = \"3ms\"\n{WORKLOAD}\n");
        let (scenario, _, _) = scenario(1, "fifo", "spray-random", &rest);
        check(&scenario, &[1, 1, 1, 0, 0, 0], &[3]).unwrap();
    }
}

/// Processes without a link between them, one of them with no hosts and ports at all.
#[test]
fn a_part_may_be_empty() {
    let (scenario, _, _) = scenario(1, "pias", "ecmp", WORKLOAD);
    check(&scenario, &[1; 6], &[1]).unwrap();
}

/// Processes that simulate half a look-ahead too far get messages too late, which is noticed: the look-ahead is tight.
#[test]
fn nothing_arrives_in_the_past() {
    let (star, _, _) = scenario(1, "tcp", "ecmp", WORKLOAD);
    let (scenario, _, _) = scenario(0, "tcp", "ecmp", WORKLOAD);
    let hosts = [0, 0, 0, 1, 1, 1, 1, 1, 1];
    let ports: Vec<usize> = (0..scenario.fabric.build().ports.len()).map(|port| port % 3).collect();
    let run = |scenario, partition, mutation| {
        let feed = feed(scenario).unwrap();
        let run = || run_partitioned(scenario, feed.clone(), partition, mutation).expect("it can be cut");
        std::panic::catch_unwind(run)
    };
    // Racks, all ports dealt out, so that packets may leave for the process itself, and one rack by hosts.
    for (scenario, partition) in [
        (&scenario, TestPartition::Nodes(&hosts, &[0, 1, 1, 0, 1])),
        (&scenario, TestPartition::Ports(&ports)),
        (&star, TestPartition::Hosts(2)),
    ] {
        assert!(run(scenario, partition, Mutation::None).is_ok());
        assert!(run(scenario, partition, Mutation::TooFar).is_err());
    }
}

/// The canary: where each process breaks ties in an order of its own, [`check`] sees it, on every kind of fabric but graphs, in any partition.
#[test]
fn ties_that_are_broken_otherwise_are_noticed() {
    // The receiver must not be in the first process, whose order is that of the whole.
    let (star, _, _) =
        scenario(1, "dctcp", "ecmp", &WORKLOADS[2].replace("receivers = [1]", "receivers = [5]"));
    assert_eq!(check_mutated(&star, TestPartition::Hosts(3), Mutation::None), Ok(()));
    assert!(
        check_mutated(&star, TestPartition::Hosts(3), Mutation::Ties).is_err(),
        "in one rack nothing is noticed"
    );
    for (fabric, processes) in [(0, 3), (2, 2), (3, 4)] {
        let (scenario, hosts, switches) = scenario(fabric, "dctcp", "ecmp", WORKLOAD);
        let process = |count: usize| (0..count).map(|node| node % processes).collect::<Vec<_>>();
        let (hosts, switches) = (process(hosts), process(switches));
        for partition in [TestPartition::Nodes(&hosts, &switches), TestPartition::Stages(processes)] {
            assert_eq!(check_mutated(&scenario, partition, Mutation::None), Ok(()));
            let noticed = check_mutated(&scenario, partition, Mutation::Ties);
            assert!(noticed.is_err(), "on fabric {fabric} nothing is noticed");
        }
    }
}

/// Ports of every kind of switch are in any processes, however it chooses between them, and whether or not links have a delay.
#[test]
fn ports_of_a_switch_may_be_of_any_parts() {
    for (fabric, delay) in [(0, "0ns"), (1, "600ns"), (2, "20us"), (3, "0ns"), (4, "600ns")] {
        for balancer in BALANCERS.into_iter().filter(|&balancer| fabric != 4 || balancer != "flowcell") {
            let rest = format!("[measure]\nhorizon = \"3ms\"\n{WORKLOAD}");
            let (scenario, _, _) = scenario_of(fabric, delay, "pias", balancer, &rest);
            let ports = scenario.fabric.build().ports.len();
            let dealt = |way: usize| (0..ports).map(|port| (port * way + port / 5) % 4).collect::<Vec<_>>();
            for ports in [dealt(1), dealt(3)] {
                let done = check_mutated(&scenario, TestPartition::Ports(&ports), Mutation::None);
                assert_eq!(done, Ok(()), "fabric {fabric}, {balancer}");
            }
        }
    }
}

/// Where seeds are kept that fail; they are tried first.
const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/parts.proptest-regressions");

/// With `TAILRACE_CANARY` each process breaks ties in an order of its own, and the search below must fail: `make soak` begins so.
fn mutation() -> Mutation {
    if std::env::var_os("TAILRACE_CANARY").is_some() { Mutation::Ties } else { Mutation::None }
}

fn kept_seeds() -> Option<Box<dyn FailurePersistence>> {
    (mutation() == Mutation::None).then(|| Box::new(FileFailurePersistence::Direct(SEEDS)) as _)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: kept_seeds(), ..tailrace_cases::cases(24) })]
    #[test]
    fn any_cut(
        seed in 1u64..1_000,
        (fabric, balancer) in (0usize..5, 0usize..5),
        scheme in prop::sample::select(cuttable()),
        processes in 2usize..8,
        draws in prop::collection::vec(0usize..64, 64),
        (by, delay) in (0usize..4, prop::sample::select(vec!["0ns", "600ns", "20us"])),
        memory in 0usize..3,
        workload in prop::sample::select(WORKLOADS.to_vec()),
        (horizon, duplicates, acked) in any::<(bool, bool, bool)>(),
        (ack_every, scheduler) in (1u32..4, prop::sample::select(vec!["strict", "drr", "wfq"])),
    ) {
        let balancer = match BALANCERS[balancer] {
            _ if ONE_PATH.contains(&scheme) => "ecmp",
            "flowcell" if fabric == 4 => "flowlet",
            other => other,
        };
        let horizon = if horizon { "horizon = \"3ms\"\n" } else { "" };
        let rest = format!(
            "seed = {seed}\n[measure]\n{horizon}sample_every = \"100us\"\nsample_ports = \"all\"\n{workload}\n"
        );
        let (mut scenario, hosts, switches) = scenario_of(fabric, delay, scheme, balancer, &rest);
        scenario.fabric.buffer = match memory {
            0 => scenario.fabric.buffer,
            1 => Buffer::PerPort(Bytes::new(15_000)),
            _ => Buffer::Shared { total: Bytes::new(150_000), alpha_percent: 100 },
        };
        scenario.transport.loss_detection =
            if duplicates { LossDetection::DuplicateAcks } else { LossDetection::TimeoutOnly };
        scenario.transport.fct_end = if acked { FctEnd::Acked } else { FctEnd::Receiver };
        // Some schemes ask for an acknowledgement of each packet.
        if matches!(scheme, "fifo" | "tcp" | "dctcp" | "pias") {
            scenario.transport.ack_every = ack_every;
            let port = format!("port = {{ queues = 4, scheduler = \"{scheduler}\" }}");
            scenario.scheme.params.extend(port.parse::<toml::Table>().unwrap());
        }
        let process = |node: usize| draws[node] % processes;
        let hosts: Vec<usize> = (0..hosts).map(process).collect();
        let switches: Vec<usize> = (0..switches).map(|switch| process(9 + switch)).collect();
        let ports: Vec<usize> = (0..scenario.fabric.build().ports.len()).map(|port| process(port % draws.len())).collect();
        let whole = TestPartition::Nodes(&hosts, &switches);
        let partition = [whole, TestPartition::Ports(&ports), TestPartition::Stages(processes), TestPartition::Hosts(processes)][by];
        let done = match check_mutated(&scenario, partition, mutation()) {
            Err(why) if SHARED.contains(&&why[..]) => check_mutated(&scenario, whole, mutation()),
            done => done,
        };
        match done {
            Err(why) if why.starts_with("threads: ") => {
                prop_assert!(matches!(partition, TestPartition::Ports(_)) && ports.iter().max() == Some(&0)
                    || hosts.iter().chain(&switches).max() == Some(&0), "{why}");
            }
            done => prop_assert!(done.is_ok(), "{scheme}: {}", done.unwrap_err()),
        }
    }
}
