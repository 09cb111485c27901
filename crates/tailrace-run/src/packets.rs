//! Runs at packet level.

use std::sync::Arc;

use tailrace_config::ScenarioError;
use tailrace_core::{Ending, Outcome, PortId, Scheme};
use tailrace_fabric::Fabric;
use tailrace_packet::{LookAheads, Partition, ProcessSpec, Tap, Watch, World, run_parallel};
use tailrace_scenario::Scenario;
use tailrace_schemes::SchemeVisitor;
use tailrace_workload::feed::{Feed, GammaControl};

use crate::build;
use crate::control::{Control, ThreadPolicy, Threads, Unattended, look, processors};
use crate::partition::{Partitioner, shared_by_ports};

/// Runs a scenario packet by packet.
pub(crate) fn run(
    scenario: &Scenario,
    feed: Feed,
    control: &dyn Control,
    taps: Vec<(PortId, Tap)>,
) -> Result<(Outcome, Ending), ScenarioError> {
    build::visit(scenario, Runner { scenario, feed, control, taps })
}

struct Runner<'a> {
    scenario: &'a Scenario,
    feed: Feed,
    control: &'a dyn Control,
    taps: Vec<(PortId, Tap)>,
}

impl SchemeVisitor for Runner<'_> {
    type Output = Result<(Outcome, Ending), ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let Runner { scenario, feed, control, taps } = self;
        let fabric = scenario.fabric.build();
        let threads = control.threads();
        let partition = partition::<S>(scenario, &fabric, threads, !taps.is_empty())?;
        if threads.policy == ThreadPolicy::Requested
            && let Some(note) = note_on(threads.at_most, &partition)
        {
            control.note(format!("{} {note}", scenario.scheme.label()));
        }
        if let Ok((partition, _)) = partition {
            return run_in_parallel::<S>(scenario, &fabric, &feed, partition, 100, control);
        }
        let mut world = world::<S>(scenario, &fabric, feed)?;
        for (port, tap) in taps {
            world = world.tapping(port, tap);
        }
        let ending = world.run(&mut |run| look(control, run));
        Ok((balanced(world.into_outcome()), ending))
    }
}

/// How many threads a packet-level run of a scenario would have, if no packets are captured.
pub fn threads_of(scenario: &Scenario, threads: Threads) -> Result<usize, ScenarioError> {
    build::visit(scenario, Counter { scenario, threads })
}

struct Counter<'a> {
    scenario: &'a Scenario,
    threads: Threads,
}

impl SchemeVisitor for Counter<'_> {
    type Output = Result<usize, ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let Counter { scenario, threads } = self;
        let partition = partition::<S>(scenario, &scenario.fabric.build(), threads, false)?;
        Ok(partition.map_or(1, |(partition, _)| partition.processes()))
    }
}

/// The reason why two threads are refused.
const TOO_LITTLE: &str =
    "so little goes on while a packet is on a link that two would do little but wait for each other";

/// The partition of a run for the threads that it may have, and the reason why it has no more processes; or the reason why it is sequential.
type Granted = Result<(Partition, String), String>;

fn partition<S: Scheme>(
    scenario: &Scenario,
    fabric: &Fabric,
    threads: Threads,
    captured: bool,
) -> Result<Granted, ScenarioError> {
    if captured {
        return Ok(Err("packets of a port are captured".to_owned()));
    }
    if let Some(why) = sequential_because::<S>(scenario, fabric)? {
        return Ok(Err(why.to_owned()));
    }
    let shared = shared_by_ports::<S>(fabric);
    let partitioner = Partitioner::new(scenario, fabric, shared.is_none());
    Ok(granted(&partitioner, threads, processors(), shared))
}

/// The partition of a run that may be parallel, on so many processors; `shared` is the reason why the ports of a switch stay together.
fn granted(
    partitioner: &Partitioner<'_>,
    threads: Threads,
    processors: usize,
    shared: Option<&str>,
) -> Granted {
    let max = if threads.policy == ThreadPolicy::Requested {
        threads.at_most.min(processors)
    } else {
        threads.at_most
    };
    if max <= 1 {
        return Err("there is one processor".to_owned());
    }
    let partition = match threads.policy {
        ThreadPolicy::IfFaster => partitioner.if_faster(max),
        ThreadPolicy::Requested | ThreadPolicy::RequestedQuietly => partitioner.as_requested(max),
        ThreadPolicy::Always => Some(partitioner.best(max)).filter(|partition| partition.processes() > 1),
    };
    if threads.policy != ThreadPolicy::Requested {
        // The reason is not shown.
        return partition.map(|partition| (partition, String::new())).ok_or_else(String::new);
    }
    match partition {
        Some(partition) if partition.processes() == processors => {
            Ok((partition, format!("there are {processors} processors")))
        }
        Some(partition) if partitioner.best(max).processes() > partition.processes() => {
            Ok((partition, "more would do little but wait for each other".to_owned()))
        }
        Some(partition) => Ok((partition, "the fabric has no more parts".to_owned())),
        None if partitioner.best(2).processes() > 1 => Err(TOO_LITTLE.to_owned()),
        None => Err(format!("the fabric has one rack, and {}", shared.unwrap_or("one host"))),
    }
}

/// The note to a user who has asked for so many threads, and gets fewer: how many, and why.
fn note_on(asked: usize, granted: &Granted) -> Option<String> {
    let (threads, why) = match granted {
        Err(why) => (1, why),
        Ok((partition, why)) => (partition.processes(), why),
    };
    let on = if threads == 1 { "one thread".to_owned() } else { format!("{threads} threads") };
    (threads < asked).then(|| format!("on {on}, since {why}"))
}

/// The reason why a run must be sequential, if it must: something acts across the fabric without delay.
fn sequential_because<S: Scheme>(
    scenario: &Scenario,
    fabric: &Fabric,
) -> Result<Option<&'static str>, ScenarioError> {
    let reasons = [
        (
            build::for_packets::<S>(scenario, fabric)?.controller().is_some(),
            "the scheme's controller sees all flows at once",
        ),
        (gamma(scenario).is_some(), "deadlines are given by what all other flows do"),
        (scenario.workload.has_tasks(), "flows of tasks start when others have ended"),
        (!scenario.slices.is_empty(), "throughput of slices is sampled over all hosts at once"),
        (scenario.measure.trace_every_flow.is_some(), "flows are traced beside the queues on their way"),
        (!fabric.outages.is_empty(), "links fail"),
    ];
    Ok(reasons.into_iter().find_map(|(reaches, why)| reaches.then_some(why)))
}

/// The control that decides which flows get deadlines, if the workload leaves that open.
fn gamma(scenario: &Scenario) -> Option<GammaControl> {
    GammaControl::new(scenario.workload.rules.iter(), true, scenario.setting(), scenario.seed)
}

/// Runs a scenario in parallel, with a thread for each logical process.
fn run_in_parallel<S: Scheme>(
    scenario: &Scenario,
    fabric: &Fabric,
    feed: &Feed,
    partition: Partition,
    percent: u64,
    control: &dyn Control,
) -> Result<(Outcome, Ending), ScenarioError> {
    let look_aheads = LookAheads::new(&partition, fabric, &scenario.transport).percent(percent);
    let build =
        |process| world_of::<S>(scenario, fabric, feed.clone(), watch(scenario, fabric)?, Some(process));
    let (outcome, ending) =
        run_parallel(&Arc::new(partition), &look_aheads, &build, &mut |run| look(control, run))?;
    Ok((balanced(outcome), ending))
}

/// A fault that tests put into a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Nothing.
    None,
    /// Processes simulate half a look-ahead too far.
    TooFar,
    /// Each process breaks ties in an order of its own.
    Ties,
}

/// A partition for tests: the logical process of each of these.
#[derive(Clone, Copy, Debug)]
pub enum TestPartition<'a> {
    /// Hosts, and switches with all their ports.
    Nodes(&'a [usize], &'a [usize]),
    /// Ports, and hosts as their network cards.
    Ports(&'a [usize]),
    /// So many stages.
    Stages(usize),
    /// So many lots of hosts, with the ports towards them.
    Hosts(usize),
}

/// Runs a scenario in parallel in this partition: for tests of partitions. Fails as [`crate::run`] does, and with the reason
/// where the run cannot be partitioned like this.
///
/// # Panics
///
/// If packets arrive in the past, as they do with some mutations.
pub fn run_partitioned(
    scenario: &Scenario,
    feed: Feed,
    test_partition: TestPartition<'_>,
    mutation: Mutation,
) -> Result<(Outcome, Ending), ScenarioError> {
    build::visit(scenario, Tester { scenario, feed, test_partition, mutation })
}

struct Tester<'a> {
    scenario: &'a Scenario,
    feed: Feed,
    test_partition: TestPartition<'a>,
    mutation: Mutation,
}

impl SchemeVisitor for Tester<'_> {
    type Output = Result<(Outcome, Ending), ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let Tester { scenario, feed, test_partition, mutation } = self;
        let fabric = scenario.fabric.build();
        let whole = matches!(test_partition, TestPartition::Nodes(..));
        let mut partition = match test_partition {
            TestPartition::Nodes(hosts, switches) => Partition::new(&fabric, hosts, switches),
            TestPartition::Ports(ports) => Partition::of_ports(&fabric, ports),
            TestPartition::Stages(processes) => {
                Partition::by_stages(&fabric, processes).expect("a small fabric")
            }
            TestPartition::Hosts(processes) => Partition::by_hosts(&fabric, processes, |_| 1),
        };
        if mutation == Mutation::Ties {
            partition = partition.skewed();
        }
        let percent = if mutation == Mutation::TooFar { 150 } else { 100 };
        let shared = shared_by_ports::<S>(&fabric).filter(|_| !whole);
        let one = (partition.processes() < 2).then_some("there is one part");
        match one.or(sequential_because::<S>(scenario, &fabric)?).or(shared) {
            Some(why) => Err(ScenarioError::new("threads", why)),
            None => run_in_parallel::<S>(scenario, &fabric, &feed, partition, percent, &Unattended),
        }
    }
}

/// The outcome of a run, however it ended, after a check of its ledger.
///
/// # Panics
///
/// If the network has lost packets or made some up.
pub fn balanced(outcome: Outcome) -> Outcome {
    let balanced = outcome.ledger.is_some_and(|ledger| ledger.balances());
    assert!(balanced, "packets were lost or made up: {:?}", outcome.ledger);
    outcome
}

/// The world of a scenario under scheme `S`, at time zero.
pub fn world<S: Scheme>(scenario: &Scenario, fabric: &Fabric, feed: Feed) -> Result<World<S>, ScenarioError> {
    world_watching(scenario, fabric, feed, watch(scenario, fabric)?)
}

/// The same, with something else observed.
pub fn world_watching<S: Scheme>(
    scenario: &Scenario,
    fabric: &Fabric,
    feed: Feed,
    watch: Watch,
) -> Result<World<S>, ScenarioError> {
    world_of(scenario, fabric, feed, watch, None)
}

/// The same; that of one logical process, if `process` is given.
fn world_of<S: Scheme>(
    scenario: &Scenario,
    fabric: &Fabric,
    feed: Feed,
    watch: Watch,
    process: Option<ProcessSpec>,
) -> Result<World<S>, ScenarioError> {
    let scheme = build::for_packets::<S>(scenario, fabric)?;
    let horizon = scenario.measure.horizon;
    let world =
        World::for_process(scheme, fabric, scenario.transport, feed, horizon, watch, scenario.seed, process);
    Ok(world.controlled(gamma(scenario)).omniscient(scenario.scheme.oracle))
}

/// What is observed: the ports that the scenario names, and the hosts whose network cards are among them.
pub fn watch(scenario: &Scenario, fabric: &Fabric) -> Result<Watch, ScenarioError> {
    let measure = &scenario.measure;
    let within = |e: ScenarioError| e.within("measure.sample_ports");
    let ports = measure.sample_ports.of(fabric).map_err(within)?;
    let hosts = ports.iter().copied().filter(|&port| (port as usize) < fabric.hosts);
    let (every, every_flow) = (measure.sample_every, measure.trace_every_flow);
    let slices = scenario.slices.clone();
    Ok(Watch { hosts: hosts.collect(), every, ports, every_flow, slices })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of a run of pFabric, which ranks by what it may know.
    fn digest(reveals: &str, oracle: bool) -> u64 {
        let text = format!(
            r#"
            [fabric]
            preset = "micro4"
            [workload]
            sizes = "web-search"
            load = 0.7
            flows = 200
            reveals = "{reveals}"
            [scheme]
            name = "pfabric"
            oracle = {oracle}
            "#
        );
        let scenario = Scenario::parse(&text).unwrap();
        run(&scenario, crate::feed(&scenario).unwrap(), &Unattended, Vec::new()).unwrap().0.digest
    }

    /// The note to a user who asks for threads on four processors.
    fn told(asked: usize, fabric: &str, load: f64, shared: Option<&'static str>) -> Option<String> {
        let text = format!(
            "[fabric]\n{fabric}\n[workload]\nsizes = \"web-search\"\nload = {load}\nflows = 9\n[scheme]\nname = \"dctcp\"\n"
        );
        let scenario = Scenario::parse(&text).unwrap();
        let fabric = scenario.fabric.build();
        let partitioner = Partitioner::new(&scenario, &fabric, shared.is_none());
        note_on(asked, &granted(&partitioner, Threads::of(Some(asked)), 4, shared))
    }

    #[test]
    fn who_gets_other_threads_than_asked_for_is_told_why() {
        let racks = "kind = \"leaf-spine\"\nleaves = 3\nspines = 1\nhosts_per_leaf = 4\nhost_rate = \"10Gbps\"\nspine_rate = \"40Gbps\"";
        let large = "preset = \"spine144\"";
        let word = |asked, fabric: &str, load| told(asked, fabric, load, None).unwrap_or_default();
        assert_eq!([word(1, large, 0.6), word(4, large, 0.6)], ["", ""]);
        assert_eq!(word(7, large, 0.6), "on 4 threads, since there are 4 processors");
        // By hand: a round of two links of 1 us and the 8 ns of 40 bytes has 19 hops at this load.
        let near = format!("{racks}\ndelay = \"1us\"");
        assert_eq!(word(4, &near, 0.12), "on 2 threads, since more would do little but wait for each other");
        assert_eq!(
            word(2, &format!("{racks}\ndelay = \"0s\""), 0.6),
            "on one thread, since so little goes on while a packet is on a link that two would do little but wait for each other"
        );
        let shared = told(
            4,
            &format!("{racks}\ndelay = \"5us\""),
            0.6,
            Some("the ports of a switch share its memory"),
        );
        assert_eq!(shared.unwrap(), "on 3 threads, since the fabric has no more parts");
        let one_rack = told(2, "preset = \"micro4\"", 0.6, Some("the ports of a switch share its memory"));
        assert_eq!(
            one_rack.unwrap(),
            "on one thread, since the fabric has one rack, and the ports of a switch share its memory"
        );
    }

    #[test]
    fn a_scheme_sees_no_size_that_is_not_revealed_unless_it_is_an_oracle() {
        assert_eq!(digest("size", false), digest("size", true));
        assert_eq!(digest("nothing", true), digest("size", true));
        assert_ne!(digest("nothing", false), digest("size", false));
    }
}
