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
use crate::control::{Control, Threads, Unattended, Wish, look, processors};
use crate::pays::{Cutter, shares_what};

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
        let cut = cut::<S>(scenario, &fabric, threads, !taps.is_empty())?;
        if threads.wish == Wish::Asked
            && let Some(word) = word_on(threads.at_most, &cut)
        {
            control.note(format!("{} {word}", scenario.scheme.label()));
        }
        if let Ok((cut, _)) = cut {
            return in_parts::<S>(scenario, &fabric, &feed, cut, 100, control);
        }
        let mut world = world::<S>(scenario, &fabric, feed)?;
        for (port, tap) in taps {
            world = world.tapping(port, tap);
        }
        let ending = world.run(&mut |run| look(control, run));
        Ok((balanced(world.into_outcome()), ending))
    }
}

/// On how many threads a scenario's packets would be run, if nothing is captured.
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
        let cut = cut::<S>(scenario, &scenario.fabric.build(), threads, false)?;
        Ok(cut.map_or(1, |(cut, _)| cut.processes()))
    }
}

/// Why two threads are refused.
const TOO_LITTLE: &str =
    "so little goes on while a packet is on a link that two would do little but wait for each other";

/// How a run is cut for the threads that it may have, and why it has no more parts; or why it is not cut.
type Granted = Result<(Partition, String), String>;

fn cut<S: Scheme>(
    scenario: &Scenario,
    fabric: &Fabric,
    threads: Threads,
    captured: bool,
) -> Result<Granted, ScenarioError> {
    if captured {
        return Ok(Err("packets of a port are captured".to_owned()));
    }
    if let Some(why) = whole_because::<S>(scenario, fabric)? {
        return Ok(Err(why.to_owned()));
    }
    let shares = shares_what::<S>(fabric);
    let cutter = Cutter::new(scenario, fabric, shares.is_none());
    Ok(granted(&cutter, threads, processors(), shares))
}

/// What a run gets that can be cut, on so many processors, where `shares` says what keeps the ports of a switch together.
fn granted(cutter: &Cutter<'_>, threads: Threads, processors: usize, shares: Option<&str>) -> Granted {
    let most = if threads.wish == Wish::Asked { threads.at_most.min(processors) } else { threads.at_most };
    if most <= 1 {
        return Err("there is one processor".to_owned());
    }
    let cut = match threads.wish {
        Wish::WhereItPays => cutter.where_it_pays(most),
        Wish::Asked | Wish::Quietly => cutter.as_asked(most),
        Wish::Whenever => Some(cutter.best(most)).filter(|cut| cut.processes() > 1),
    };
    if threads.wish != Wish::Asked {
        // Nobody wants to know why.
        return cut.map(|cut| (cut, String::new())).ok_or_else(String::new);
    }
    match cut {
        Some(cut) if cut.processes() == processors => Ok((cut, format!("there are {processors} processors"))),
        Some(cut) if cutter.best(most).processes() > cut.processes() => {
            Ok((cut, "more would do little but wait for each other".to_owned()))
        }
        Some(cut) => Ok((cut, "the fabric has no more parts".to_owned())),
        None if cutter.best(2).processes() > 1 => Err(TOO_LITTLE.to_owned()),
        None => Err(format!("the fabric has one rack, and {}", shares.unwrap_or("one host"))),
    }
}

/// What is to be said to somebody who has asked for so many threads, and gets one for each of the parts; or one, and why.
fn word_on(asked: usize, granted: &Granted) -> Option<String> {
    let (threads, why) = match granted {
        Err(why) => (1, why),
        Ok((cut, why)) => (cut.processes(), why),
    };
    let on = if threads == 1 { "one thread".to_owned() } else { format!("{threads} threads") };
    (threads < asked).then(|| format!("on {on}, since {why}"))
}

/// Why a run cannot be cut, if it cannot: what reaches across the fabric without delay.
fn whole_because<S: Scheme>(
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

/// What decides which flows get deadlines, if the workload leaves that open.
fn gamma(scenario: &Scenario) -> Option<GammaControl> {
    GammaControl::new(scenario.workload.rules.iter(), true, scenario.setting(), scenario.seed)
}

/// Runs a scenario on a thread for each part.
fn in_parts<S: Scheme>(
    scenario: &Scenario,
    fabric: &Fabric,
    feed: &Feed,
    cut: Partition,
    percent: u64,
    control: &dyn Control,
) -> Result<(Outcome, Ending), ScenarioError> {
    let ahead = LookAheads::new(&cut, fabric, &scenario.transport).percent(percent);
    let build = |part| part_of::<S>(scenario, fabric, feed.clone(), watch(scenario, fabric)?, Some(part));
    let (outcome, ending) = run_parallel(&Arc::new(cut), &ahead, &build, &mut |run| look(control, run))?;
    Ok((balanced(outcome), ending))
}

/// What is not as it must be in a run of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Nothing.
    None,
    /// Parts go on half a look-ahead too far.
    TooFar,
    /// Each part breaks ties in an order of its own.
    Ties,
}

/// What is of which part in a run of tests.
#[derive(Clone, Copy, Debug)]
pub enum Parts<'a> {
    /// Hosts, and switches with all their ports.
    Whole(&'a [usize], &'a [usize]),
    /// Ports, and hosts as their network cards.
    Ports(&'a [usize]),
    /// So many stages.
    Stages(usize),
    /// So many lots of hosts, with the ports towards them.
    Hosts(usize),
}

/// Runs a scenario in these parts, whatever is given for them: for tests of cuts. Fails as [`crate::run`] does, and with the reason
/// where the run cannot be cut like this.
///
/// # Panics
///
/// If packets arrive in the past, as they do with some mutations.
pub fn run_cut(
    scenario: &Scenario,
    feed: Feed,
    parts: Parts<'_>,
    mutation: Mutation,
) -> Result<(Outcome, Ending), ScenarioError> {
    build::visit(scenario, Tester { scenario, feed, parts, mutation })
}

struct Tester<'a> {
    scenario: &'a Scenario,
    feed: Feed,
    parts: Parts<'a>,
    mutation: Mutation,
}

impl SchemeVisitor for Tester<'_> {
    type Output = Result<(Outcome, Ending), ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let Tester { scenario, feed, parts, mutation } = self;
        let fabric = scenario.fabric.build();
        let whole = matches!(parts, Parts::Whole(..));
        let mut cut = match parts {
            Parts::Whole(hosts, switches) => Partition::new(&fabric, hosts, switches),
            Parts::Ports(ports) => Partition::of_ports(&fabric, ports),
            Parts::Stages(parts) => Partition::by_stages(&fabric, parts).expect("a small fabric"),
            Parts::Hosts(parts) => Partition::by_hosts(&fabric, parts, |_| 1),
        };
        if mutation == Mutation::Ties {
            cut = cut.skewed();
        }
        let percent = if mutation == Mutation::TooFar { 150 } else { 100 };
        let shared = shares_what::<S>(&fabric).filter(|_| !whole);
        let one = (cut.processes() < 2).then_some("there is one part");
        match one.or(whole_because::<S>(scenario, &fabric)?).or(shared) {
            Some(why) => Err(ScenarioError::new("threads", why)),
            None => in_parts::<S>(scenario, &fabric, &feed, cut, percent, &Unattended),
        }
    }
}

/// What a run leaves behind, however it ended.
///
/// # Panics
///
/// If the network has lost packets or made some up.
pub(crate) fn balanced(outcome: Outcome) -> Outcome {
    let balanced = outcome.ledger.is_some_and(|ledger| ledger.balances());
    assert!(balanced, "packets were lost or made up: {:?}", outcome.ledger);
    outcome
}

/// The world of a scenario under scheme `S`, at time zero.
pub(crate) fn world<S: Scheme>(
    scenario: &Scenario,
    fabric: &Fabric,
    feed: Feed,
) -> Result<World<S>, ScenarioError> {
    world_watching(scenario, fabric, feed, watch(scenario, fabric)?)
}

/// The same, with something else observed.
pub(crate) fn world_watching<S: Scheme>(
    scenario: &Scenario,
    fabric: &Fabric,
    feed: Feed,
    watch: Watch,
) -> Result<World<S>, ScenarioError> {
    part_of(scenario, fabric, feed, watch, None)
}

/// The same, or a part of it.
fn part_of<S: Scheme>(
    scenario: &Scenario,
    fabric: &Fabric,
    feed: Feed,
    watch: Watch,
    part: Option<ProcessSpec>,
) -> Result<World<S>, ScenarioError> {
    let scheme = build::for_packets::<S>(scenario, fabric)?;
    let horizon = scenario.measure.horizon;
    let world =
        World::for_process(scheme, fabric, scenario.transport, feed, horizon, watch, scenario.seed, part);
    Ok(world.controlled(gamma(scenario)).omniscient(scenario.scheme.oracle))
}

/// What is observed: the ports that the scenario names, and the hosts whose network cards are among them.
pub(crate) fn watch(scenario: &Scenario, fabric: &Fabric) -> Result<Watch, ScenarioError> {
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

    /// What somebody is told who asks for threads on four processors.
    fn told(asked: usize, fabric: &str, load: f64, shares: Option<&'static str>) -> Option<String> {
        let text = format!(
            "[fabric]\n{fabric}\n[workload]\nsizes = \"web-search\"\nload = {load}\nflows = 9\n[scheme]\nname = \"dctcp\"\n"
        );
        let scenario = Scenario::parse(&text).unwrap();
        let fabric = scenario.fabric.build();
        let cutter = Cutter::new(&scenario, &fabric, shares.is_none());
        word_on(asked, &granted(&cutter, Threads::of(Some(asked)), 4, shares))
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
