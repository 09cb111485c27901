//! What holds for every graph of stages, whenever its flows end.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;
use tailrace_core::Time;

use super::live::{Task, Tasks};
use crate::FlowSpec;
use crate::task::{Origin, Role, Shape};

/// A flow of a test: its number in the shape is its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    flow: usize,
    start: Time,
    end: Time,
}

/// Stages by how many flows they have, and which earlier ones they wait for.
fn any_graph() -> impl Strategy<Value = Vec<(u16, Vec<u32>)>> {
    prop::collection::vec((1u16..4, prop::collection::vec(any::<prop::sample::Index>(), 0..3)), 1..8)
        .prop_map(|stages| {
            let graph = |(number, (flows, after)): (usize, (u16, Vec<prop::sample::Index>))| {
                let mut after: Vec<u32> = after
                    .iter()
                    .filter(|_| number > 0)
                    .map(|index| index.index(number.max(1)) as u32)
                    .collect();
                after.sort_unstable();
                after.dedup();
                (flows, after)
            };
            stages.into_iter().enumerate().map(graph).collect()
        })
}

fn shape(graph: &[(u16, Vec<u32>)]) -> Shape {
    let mut shape = Shape::default();
    for (flows, after) in graph {
        let first = shape.flows.len() as Role;
        shape.stage(after, (first..first + flows).map(|flow| (flow, flow + 1, Origin::Share)));
    }
    shape
}

fn task(shape: &Shape, id: u32, start: Time, delays: Vec<Time>) -> Task {
    let flows = shape.flows.len();
    let hosts = (0..=flows as u32).collect();
    let sizes = vec![u64::from(id); flows];
    Task { id, start, class: 0, slice: 0, shape: Arc::new(shape.clone()), hosts, sizes, delays }
}

/// Lets every flow of `tasks` last as long as `duration` says; ends at one time are told in either order.
fn simulate(tasks: &mut Tasks, duration: impl Fn(usize) -> Time, backwards: bool) -> Vec<(u32, Seen)> {
    let mut ends: BTreeMap<Time, Vec<FlowSpec>> = BTreeMap::new();
    let mut seen = Vec::new();
    loop {
        let next_end = ends.keys().next().copied();
        match (tasks.head(), next_end) {
            (None, None) => return seen,
            (Some(start), end) if end.is_none_or(|end| start <= end) => {
                let Some(flow) = tasks.pop() else { panic!("the head is gone") };
                let number = flow.src as usize;
                let end = start + duration(number);
                seen.push((flow.task, Seen { flow: number, start, end }));
                ends.entry(end).or_default().push(flow);
            }
            _ => {
                let Some((now, mut flows)) = ends.pop_first() else { panic!("no flow is in progress") };
                if backwards {
                    flows.reverse();
                }
                flows.iter().for_each(|flow| tasks.ended(now, flow.ticket));
            }
        }
    }
}

proptest! {
    /// Every flow exactly once, none before all that its stage waits for have ended; the last one ends the task.
    #[test]
    fn stages_wait_for_their_inputs(
        graph in any_graph(),
        durations in prop::collection::vec(1u64..5, 24),
        delays in prop::collection::vec(0u64..3, 24),
        computes in any::<bool>(),
    ) {
        let shape = shape(&graph);
        let delay = |flow: usize| Time::from_us(if computes { delays[flow] } else { 0 });
        let delays = if computes { (0..shape.flows.len()).map(delay).collect() } else { Vec::new() };
        let mut tasks = Tasks::default();
        let arrival = Time::from_us(7);
        tasks.arrive(task(&shape, 3, arrival, delays));
        let seen = simulate(&mut tasks, |flow| Time::from_us(durations[flow]), false);
        let mut by_flow: Vec<Seen> = seen.iter().map(|(_, seen)| *seen).collect();
        prop_assert!(by_flow.is_sorted_by_key(|seen| seen.start));
        by_flow.sort_unstable();
        prop_assert_eq!(by_flow.iter().map(|seen| seen.flow).collect::<Vec<_>>(), (0..shape.flows.len()).collect::<Vec<_>>());
        let flows_of = |stage: u32| {
            let Range { start, end } = shape.stages[stage as usize].flows.clone();
            &by_flow[start as usize..end as usize]
        };
        for (stage, (_, after)) in (0..).zip(&graph) {
            let inputs = after.iter().flat_map(|&before| flows_of(before)).map(|flow| flow.end).max();
            for flow in flows_of(stage) {
                prop_assert_eq!(flow.start, inputs.unwrap_or(arrival) + delay(flow.flow));
            }
        }
        let record = tasks.records()[0];
        prop_assert_eq!(Some(record.end), by_flow.iter().map(|seen| seen.end).max());
        prop_assert_eq!(record.bytes.get(), 3 * shape.flows.len() as u64);
        prop_assert!(tasks.is_empty());
    }

    /// What starts when does not depend on which of several ends at one time is told first.
    #[test]
    fn ends_at_one_time_may_be_told_in_any_order(
        graphs in prop::collection::vec((any_graph(), 0u64..4), 1..4),
        durations in prop::collection::vec(1u64..3, 24),
    ) {
        let run = |backwards| {
            let mut tasks = Tasks::default();
            let mut graphs = graphs.clone();
            graphs.sort_by_key(|(_, arrival)| *arrival);
            for (id, (graph, arrival)) in (1..).zip(graphs) {
                tasks.arrive(task(&shape(&graph), id, Time::from_us(arrival), Vec::new()));
            }
            let seen = simulate(&mut tasks, |flow| Time::from_us(durations[flow]), backwards);
            (seen, tasks.records().to_vec())
        };
        prop_assert_eq!(run(false), run(true));
    }
}
