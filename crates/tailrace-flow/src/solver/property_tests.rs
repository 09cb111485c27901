//! The solver against progressive filling from nothing, after every change of random networks.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tailrace_core::Rank;

use super::naive_tests::{Wanted, levels};
use super::{BundleId, Change, ClassId, LinkId, Precision, Solver};

/// What may happen to the bundles in the network.
#[derive(Clone, Debug)]
enum Step {
    Add(Wanted),
    Remove(usize),
    Weigh(usize, f64),
    Widen(usize, f64),
    Rank(usize, u64),
}

fn a_path(links: usize) -> impl Strategy<Value = Vec<LinkId>> {
    let all: Vec<LinkId> = (0..links as LinkId).collect();
    prop::sample::subsequence(all, 1..=links.min(6)).prop_shuffle()
}

fn a_weight() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), Just(2.0), 0.01..10.0_f64]
}

/// Changes in a network of so many links, with ranks below `ranks`.
fn changes(links: usize, ranks: u64) -> impl Strategy<Value = Vec<Step>> {
    let add = (a_path(links), 0..ranks, a_weight(), prop::bool::weighted(0.2)).prop_map(
        |(path, rank, weight, apart)| Step::Add(Wanted { path, rank: Rank(rank, 0), weight, apart }),
    );
    let change = prop_oneof![
        4 => add,
        2 => any::<prop::sample::Index>().prop_map(|at| Step::Remove(at.index(1 << 20))),
        1 => (any::<prop::sample::Index>(), a_weight())
            .prop_map(|(at, weight)| Step::Weigh(at.index(1 << 20), weight)),
        1 => (0..links, 1.0..1e10_f64).prop_map(|(link, capacity)| Step::Widen(link, capacity)),
        1 => (any::<prop::sample::Index>(), 0..ranks)
            .prop_map(|(at, rank)| Step::Rank(at.index(1 << 20), rank)),
    ];
    prop::collection::vec(change, 1..60)
}

/// Few different capacities, so that links fill together, or any.
fn capacities(links: usize) -> impl Strategy<Value = Vec<f64>> {
    let capacity = prop_oneof![Just(1.25e8), Just(1.25e9), 1.0..1e10_f64];
    prop::collection::vec(capacity, links)
}

fn network(ranks: u64) -> impl Strategy<Value = (Vec<f64>, Vec<Vec<Step>>)> {
    let batches = move |links| prop::collection::vec(changes(links, ranks), 1..4);
    (2_usize..12).prop_flat_map(move |links| (capacities(links), batches(links)))
}

/// Makes a batch of changes; several at once are solved together.
fn play(capacities: &[f64], batches: Vec<Vec<Step>>, at_once: bool) -> Result<(), TestCaseError> {
    let mut solver = Solver::new(capacities.iter().copied(), Precision::EXACT);
    let mut capacities = capacities.to_vec();
    let mut there: Vec<(BundleId, Wanted)> = Vec::new();
    let mut told = ReportedRates::default();
    for batch in batches {
        for change in batch {
            match change {
                Step::Add(wanted) => {
                    let bundle = solver.add(&wanted.path, wanted.rank, wanted.apart, |_| wanted.rank);
                    solver.set_weight(bundle, wanted.weight);
                    told.bundles.insert(bundle, Pace::Level(0.0));
                    there.push((bundle, wanted));
                }
                Step::Remove(at) if !there.is_empty() => {
                    let (bundle, _) = there.swap_remove(at % there.len());
                    solver.set_weight(bundle, 0.0);
                }
                Step::Weigh(at, weight) if !there.is_empty() => {
                    let at = at % there.len();
                    there[at].1.weight = weight;
                    solver.set_weight(there[at].0, weight);
                }
                Step::Widen(link, capacity) => {
                    capacities[link] = capacity;
                    solver.set_capacity(link as LinkId, capacity);
                }
                Step::Rank(at, rank) if !there.is_empty() => {
                    let at = at % there.len();
                    there[at].1.rank = Rank(rank, 0);
                    solver.set_rank(there[at].0, Rank(rank, 0));
                }
                _ => {}
            }
            if !at_once {
                check(&mut solver, &capacities, &there, &mut told)?;
            }
        }
        check(&mut solver, &capacities, &there, &mut told)?;
    }
    Ok(())
}

/// Rates by the changes that the solver has reported.
#[derive(Default)]
struct ReportedRates {
    bundles: BTreeMap<BundleId, Pace>,
    classes: BTreeMap<ClassId, f64>,
}

#[derive(Clone, Copy)]
enum Pace {
    Level(f64),
    Class(ClassId),
}

impl ReportedRates {
    fn hear(&mut self, change: Change) {
        match change {
            Change::Alone { bundle, level } => {
                self.bundles.insert(bundle, Pace::Level(level));
            }
            Change::Tied { bundle, class, level } => {
                self.bundles.insert(bundle, Pace::Class(class));
                self.classes.insert(class, level);
            }
            Change::Class { class, level } => {
                self.classes.insert(class, level);
            }
        }
    }

    fn level(&self, bundle: BundleId) -> f64 {
        match self.bundles[&bundle] {
            Pace::Level(level) => level,
            Pace::Class(class) => self.classes[&class],
        }
    }
}

fn check(
    solver: &mut Solver,
    capacities: &[f64],
    there: &[(BundleId, Wanted)],
    told: &mut ReportedRates,
) -> Result<(), TestCaseError> {
    solver.solve(|change| told.hear(change));
    solver.loosen_idle();
    for (bundle, wanted) in there {
        prop_assert_eq!(told.level(*bundle), solver.level(*bundle), "a change was not told");
        let is_alone = matches!(told.bundles[bundle], Pace::Level(_));
        prop_assert!(is_alone || !wanted.apart, "it wants to hear of each level");
    }
    check_links(solver, capacities, there)?;
    let wanted: Vec<Wanted> = there.iter().map(|(_, wanted)| wanted.clone()).collect();
    let expected = levels(capacities, &wanted);
    for ((bundle, wanted), expected) in there.iter().zip(expected) {
        let level = solver.level(*bundle);
        let scale = wanted.path.iter().map(|&link| capacities[link as usize]).fold(f64::INFINITY, f64::min);
        prop_assert!((level - expected).abs() <= 1e-9 * scale, "{wanted:?}: {level} is not {expected}");
    }
    check_bounds(solver)?;
    check_bottlenecks(solver, capacities, there, |_, rank| rank, 1e-9)
}

/// Links know who is on them, and who gets anything there.
fn check_links(
    solver: &Solver,
    capacities: &[f64],
    there: &[(BundleId, Wanted)],
) -> Result<(), TestCaseError> {
    prop_assert_eq!(solver.links(), capacities.len());
    for (link, &capacity) in (0..).zip(capacities) {
        prop_assert_eq!(solver.capacity(link), capacity);
        let here = there.iter().filter(|(_, wanted)| wanted.path.contains(&link)).map(|(bundle, _)| *bundle);
        let here: BTreeSet<BundleId> = here.collect();
        prop_assert_eq!(&solver.members(link).collect::<BTreeSet<_>>(), &here);
        let served: BTreeSet<BundleId> =
            here.into_iter().filter(|&bundle| solver.level(bundle) > 0.0).collect();
        prop_assert_eq!(solver.served(link).collect::<BTreeSet<_>>(), served);
    }
    Ok(())
}

/// Classes know the sum of their members' bounds, those that are slack have room for it, and nobody exceeds its own.
fn check_bounds(solver: &Solver) -> Result<(), TestCaseError> {
    let classes = solver.links.iter().flat_map(|link| &link.classes);
    for class in classes.map(|&(_, class)| &solver.classes[class as usize]) {
        let mut sum = 0.0;
        prop_assert!(class.tied.entities().all(|bundle| solver.bundles[bundle as usize].tied));
        for number in class.members() {
            let bundle = &solver.bundles[number as usize];
            let here = |hop: &usize| solver.classes[bundle.hops[*hop].class as usize].link == class.link;
            let hop = (0..usize::from(bundle.length)).find(here).expect("a member");
            prop_assert_eq!(bundle.is_slack(hop), class.slack);
            prop_assert!(solver.rate(number) <= bundle.bound);
            sum += bundle.bound;
        }
        let scale = solver.links[class.link as usize].capacity.max(sum);
        prop_assert!((sum - class.bound).abs() <= 1e-9 * scale, "{sum} is not {}", class.bound);
        let room = class.free * (1.0 + solver.precision.sums) + 1e-9 * scale;
        prop_assert!(!class.slack || (class.loose && sum <= room));
    }
    Ok(())
}

/// Whoever has a level has it from a link on its path which its class and those before it fill, and where nobody of its
/// class has more: that is what makes levels max–min fair (Bertsekas and Gallager 1987, §6.5.2).
fn check_bottlenecks(
    solver: &Solver,
    capacities: &[f64],
    there: &[(BundleId, Wanted)],
    class: impl Fn(LinkId, Rank) -> Rank,
    tolerance: f64,
) -> Result<(), TestCaseError> {
    for (bundle, wanted) in there {
        let level = solver.level(*bundle);
        let is_bottleneck = |&&link: &&LinkId| {
            let here = there.iter().filter(|(_, other)| other.path.contains(&link));
            let own = class(link, wanted.rank);
            let upto = here.filter(|(_, other)| class(link, other.rank) <= own);
            let (mut used, mut most) = (0.0, 0.0_f64);
            for (other, Wanted { rank, weight, .. }) in upto {
                used += weight * solver.level(*other);
                if class(link, *rank) == own {
                    most = most.max(solver.level(*other));
                }
            }
            let scale = capacities[link as usize];
            used >= scale * (1.0 - tolerance) && level >= most - tolerance * scale
        };
        prop_assert!(
            wanted.path.iter().find(is_bottleneck).is_some(),
            "{wanted:?} may have more than {level}"
        );
    }
    Ok(())
}

/// No link carries more than it can.
fn check_feasible(
    solver: &Solver,
    capacities: &[f64],
    there: &[(BundleId, Wanted)],
    tolerance: f64,
) -> Result<(), TestCaseError> {
    let mut used = vec![0.0; capacities.len()];
    for (bundle, wanted) in there {
        prop_assert!(solver.level(*bundle) >= 0.0);
        wanted.path.iter().for_each(|&link| used[link as usize] += wanted.weight * solver.level(*bundle));
    }
    for (used, capacity) in used.iter().zip(capacities) {
        prop_assert!(*used <= capacity * (1.0 + tolerance), "{used} of {capacity}");
    }
    Ok(())
}

/// Whether classes of different links have chased each other in the latest solution, until one was stopped.
fn went_round(solver: &Solver) -> bool {
    solver.classes.iter().any(|class| class.goes_round(solver.solved, solver.precision))
}

/// The class of a rank on a link, where so many ranks make one.
fn joint_class(joint: &[u64], link: LinkId, rank: Rank) -> Rank {
    let several = joint[link as usize];
    Rank(rank.0 / several * several, 0)
}

/// On links that have become tight, moves bundles to the classes that they are to be in; tells whether there are such links.
fn join_ranks(solver: &mut Solver, there: &[(BundleId, Wanted)], joint: &[u64]) -> bool {
    let turned = solver.turned();
    let some = !turned.is_empty();
    for link in turned {
        let members: Vec<BundleId> = solver.members(link).collect();
        for (bundle, wanted) in there.iter().filter(|(bundle, _)| members.contains(bundle)) {
            solver.move_to(*bundle, link, joint_class(joint, link, wanted.rank));
        }
    }
    some
}

proptest! {
    #[test]
    fn links_may_join_ranks_as_each_likes(
        (capacities, batches) in network(6),
        joint in prop::collection::vec(1..6_u64, 12),
        (precision, tolerance) in prop_oneof![Just((Precision::EXACT, 1e-9)), Just((Precision::CLOSE, 3e-4))],
    ) {
        let mut solver = Solver::new(capacities.iter().copied(), precision);
        let mut there: Vec<(BundleId, Wanted)> = Vec::new();
        let (mut has_solution, mut told) = (true, ReportedRates::default());
        for change in batches.into_iter().flatten() {
            match change {
                Step::Add(wanted) => {
                    let class = |link| joint_class(&joint, link, wanted.rank);
                    let bundle = solver.add(&wanted.path, wanted.rank, wanted.apart, class);
                    solver.set_weight(bundle, wanted.weight);
                    told.bundles.insert(bundle, Pace::Level(0.0));
                    there.push((bundle, wanted));
                }
                Step::Remove(at) if !there.is_empty() => {
                    let (bundle, _) = there.swap_remove(at % there.len());
                    solver.set_weight(bundle, 0.0);
                }
                _ => {}
            }
            solver.solve(|change| told.hear(change));
            solver.loosen_idle();
            has_solution &= !went_round(&solver);
            for turns in 0.. {
                if !join_ranks(&mut solver, &there, &joint) {
                    break;
                }
                // As a run does it: links that turn back and forth stay tight after a while.
                prop_assert!(turns < 20, "links turn without end");
                solver.solve(|change| told.hear(change));
                has_solution &= !went_round(&solver);
                if turns < 4 {
                    solver.loosen_idle();
                }
            }
            for (bundle, _) in &there {
                prop_assert_eq!(told.level(*bundle), solver.level(*bundle), "a change was not told");
            }
            check_feasible(&solver, &capacities, &there, tolerance)?;
            check_bounds(&solver)?;
            if has_solution {
                let class = |link, rank| joint_class(&joint, link, rank);
                check_bottlenecks(&solver, &capacities, &there, class, tolerance)?;
            }
        }
    }

    #[test]
    fn one_class_is_max_min((capacities, batches) in network(1), at_once: bool) {
        play(&capacities, batches, at_once)?;
    }

    #[test]
    fn classes_are_served_in_order((capacities, batches) in network(4), at_once: bool) {
        play(&capacities, batches, at_once)?;
    }
}
