//! A run of several parts, a thread each.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{panic, thread};

use tailrace_core::{Ending, FlowRecord, Outcome, Progress, Running, Scheme, Time};

use super::Cut;
use super::border::Crossing;
use super::meeting::{Barrier, Board, Presence};
use crate::World;
use crate::world::{Edict, Stretch};

/// Which part of a run a world is to be.
#[derive(Clone, Debug)]
pub struct PartOf {
    /// The cut.
    pub cut: Arc<Cut>,
    /// The part's number.
    pub own: usize,
}

/// Windows between two looks at the caller.
const WINDOWS_PER_REPORT: u32 = 1 << 12;

/// What the threads share.
struct Shared<H> {
    barrier: Barrier,
    boards: [Board<Crossing<H>, Edict>; 2],
    window: Time,
    /// Packet-hops of each part, now and then.
    hops: Vec<AtomicU64>,
}

/// Runs a scenario in the parts of `cut`, in windows of `window`, which is no longer than its look-ahead. `build` makes the
/// world of one part at time zero. `report` is called now and then and may end the run.
///
/// # Panics
///
/// If a thread does, with what it said.
pub fn run_parts<S: Scheme, E: Send>(
    cut: &Arc<Cut>,
    window: Time,
    build: &(impl Fn(PartOf) -> Result<World<S>, E> + Sync),
    report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>,
) -> Result<(Outcome, Ending), E> {
    let parts = cut.parts();
    let shared = Shared {
        barrier: Barrier::new(parts),
        boards: [Board::new(parts), Board::new(parts)],
        window,
        hops: (0..parts).map(|_| AtomicU64::new(0)).collect(),
    };
    let of = |own| PartOf { cut: Arc::clone(cut), own };
    let part = |own, report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>| {
        let _presence = Presence(&shared.barrier);
        let world = build(of(own)).inspect_err(|_| shared.barrier.break_up())?;
        Ok(run_part(world, own, &shared, report))
    };
    #[expect(clippy::disallowed_methods, reason = "parts have threads of their own, which end with the run")]
    let done: Vec<Result<(Outcome, Ending), E>> = thread::scope(|scope| {
        let part = &part;
        let others: Vec<_> = (1..parts)
            .map(|own| scope.spawn(move || part(own, &mut |_| ControlFlow::Continue(()))))
            .collect();
        let first = part(0, report);
        let others = others.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(said) => panic::resume_unwind(said),
        });
        std::iter::once(first).chain(others).collect()
    });
    let mut whole = Vec::new();
    for part in done {
        whole.push(part?);
    }
    let ending = whole[0].1;
    Ok((join(cut, whole.into_iter().map(|(outcome, _)| outcome)), ending))
}

/// One part's share of a run.
fn run_part<S: Scheme>(
    mut world: World<S>,
    own: usize,
    shared: &Shared<S::Header>,
    report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>,
) -> (Outcome, Ending) {
    let (mut windows, mut stop) = (0, false);
    world.begin();
    for board in shared.boards.iter().cycle() {
        hand_over(&mut world, own, board, stop);
        if !shared.barrier.wait() {
            return (world.into_outcome(), Ending::Interrupted);
        }
        take_over(&mut world, own, board);
        if board.stop.load(Ordering::Relaxed) {
            return (world.into_outcome(), Ending::Interrupted);
        }
        let first = board.first();
        // Not without end: there is always the next look for a stall.
        let end = Time::from_ps(first.saturating_add(shared.window.as_ps()));
        if let Stretch::Ended(ending) = world.run_before(end, u32::MAX) {
            return (world.into_outcome(), ending);
        }
        windows += 1;
        if windows % WINDOWS_PER_REPORT == 0 {
            shared.hops[own].store(world.progress().packet_hops, Ordering::Relaxed);
            let packet_hops = shared.hops.iter().map(|hops| hops.load(Ordering::Relaxed)).sum();
            let mut all = Progress { packet_hops, ..world.progress() };
            stop = own == 0 && report(&mut all).is_break();
        }
    }
    unreachable!("there are always more boards")
}

fn hand_over<S: Scheme>(
    world: &mut World<S>,
    own: usize,
    board: &Board<Crossing<S::Header>, Edict>,
    stop: bool,
) {
    let mut next = world.next_event().map_or(u64::MAX, Time::as_ps);
    for (reader, letters) in world.exports().iter_mut().enumerate() {
        if !letters.is_empty() {
            next = letters.iter().map(|letter| letter.at.as_ps()).fold(next, u64::min);
            board.post(own, reader, letters);
        }
    }
    board.announce(own, world.news(), next);
    if own == 0 {
        board.stop.store(stop, Ordering::Relaxed);
    }
}

fn take_over<S: Scheme>(world: &mut World<S>, own: usize, board: &Board<Crossing<S::Header>, Edict>) {
    for writer in (0..world.exports().len()).filter(|&writer| writer != own) {
        board.fetch(writer, own, |letters| world.import(letters));
        board.news(writer, |edict| world.hear(edict));
    }
}

/// What comes of all parts together.
fn join(cut: &Cut, parts: impl Iterator<Item = Outcome>) -> Outcome {
    let mut parts = parts.enumerate();
    let (_, mut whole) = parts.next().expect("there is a part");
    for (own, part) in parts {
        whole.end = whole.end.max(part.end);
        whole.digest = whole.digest.wrapping_add(part.digest);
        whole.events += part.events;
        for flow in 0..whole.flows.len() as u32 {
            let (mine, theirs) = (whole.flows.of_mut(flow), part.flows.of(flow));
            mine.end = mine.end.min(theirs.end);
            if cut.of_host(theirs.src) == own {
                *mine = FlowRecord { end: mine.end, ..*theirs };
            }
        }
        for (port, counts) in (0..).zip(part.ports) {
            if cut.ends(port).0 == own {
                whole.ports[port as usize] = counts;
            }
        }
        whole.series.rows.extend(part.series.rows);
        whole.ledger = whole.ledger.zip(part.ledger).map(|(one, other)| one + other);
    }
    whole.settled()
}
