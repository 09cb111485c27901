//! Mailboxes of logical processes in many interleavings: the same [`mailbox`](self::mailbox), with the atomics and threads of
//! [shuttle](https://docs.rs/shuttle), which decides before each access which thread goes on.

mod sync {
    pub(super) use shuttle::sync::atomic;
    pub(super) use shuttle::{hint, thread};
}

#[expect(clippy::duplicate_mod, reason = "the same with other threads")]
#[path = "mailbox.rs"]
mod mailbox;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use self::mailbox::{END, Mailbox, mailboxes};

/// Interleavings that are tried of each kind.
const INTERLEAVINGS: usize = 100;

/// When processes stop that are not stopped before.
const HORIZON: u64 = 3_000;

/// How far a process goes before it publishes its clock.
const STEP: u64 = 9;

/// The event by which all stop.
const STOP: u64 = u64::MAX >> 8;

/// An event, by its time and its kind, from which the next event follows.
type Event = (u64, u64);

/// The event that follows from one of process `own`, and its process: the same one, long after or soon, or another one, a look-ahead later or more.
fn follows(own: usize, (at, what): Event, look_aheads: &[Vec<u64>]) -> (usize, Event) {
    let drawn = (at * 31 + what * 17 + own as u64 * 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    if drawn % 5 < 2 {
        let other = (own + 1 + drawn as usize % (look_aheads.len() - 1)) % look_aheads.len();
        return (other, (at + look_aheads[own][other] + drawn % 3, what));
    }
    let pause = if drawn.is_multiple_of(3) { 700 } else { 40 };
    (own, (at + 1 + drawn % pause, what))
}

/// The events that each process begins with.
fn first(process: usize) -> Vec<Event> {
    let process = process as u64;
    vec![(process * 3, 2 * process), (process * 50, 2 * process + 1)]
}

/// All events of each process, simulated sequentially.
fn sequential(look_aheads: &[Vec<u64>]) -> Vec<Vec<Event>> {
    let processes = 0..look_aheads.len();
    let mut agenda: BinaryHeap<_> = processes
        .flat_map(|process| first(process).into_iter().map(move |event| Reverse((event, process))))
        .collect();
    let mut done = vec![Vec::new(); look_aheads.len()];
    while let Some(Reverse((event, process))) = agenda.pop()
        && event.0 < HORIZON
    {
        done[process].push(event);
        let (next, event) = follows(process, event, look_aheads);
        agenda.push(Reverse((event, next)));
    }
    done.iter_mut().for_each(|events| events.sort_unstable());
    done
}

/// A process that goes on as those of [`run_parallel`](super::run_parallel) do, and after so many turns stops all. Returns its events
/// and when it stopped.
fn process(
    own: usize,
    mut mailbox: Mailbox<Event>,
    look_aheads: &[Vec<u64>],
    turns: Option<u32>,
) -> (Vec<Event>, u64) {
    let mut agenda: BinaryHeap<_> = first(own).into_iter().map(Reverse).collect();
    let (mut events, mut done, mut end) = (Vec::new(), 0, HORIZON);
    let mut messages = vec![Vec::new(); look_aheads.len()];
    let (mut turn, mut stops) = (0, None);
    while done < end {
        let safe_time = take_in(&mut mailbox, done + 1, done, &mut agenda);
        match agenda.peek().map_or(END, |event| event.0.0) {
            // A process with messages to send is not idle: they may count from before that.
            next if next >= safe_time && stops.is_none() && messages.iter().all(Vec::is_empty) => {
                mailbox.announce_idle(next)
            }
            _ => mailbox.announce_busy(),
        }
        while done < safe_time.min(end) {
            let next = agenda.peek().map_or(END, |event| event.0.0);
            done = next.max(done).saturating_add(STEP).min(safe_time);
            while let Some(&Reverse(event)) = agenda.peek()
                && event.0 < done
            {
                agenda.pop();
                if event.1 == STOP {
                    (end, done) = (event.0, event.0);
                    break;
                }
                match follows(own, event, look_aheads) {
                    (next, event) if next == own => agenda.push(Reverse(event)),
                    (other, event) => messages[other].push(event),
                }
                events.push(event);
            }
            while !mailbox.send(&mut messages) {
                take_in(&mut mailbox, 0, done, &mut agenda);
            }
            mailbox.advance(done);
        }
        if stops.take_if(|since: &mut Vec<u64>| mailbox.have_advanced(since)).is_some() {
            let farthest = look_aheads.iter().flatten().max().expect("there are processes");
            let stop = (done.max(mailbox.quiescent_until()) + farthest, STOP);
            messages.iter_mut().for_each(|messages| messages.push(stop));
            agenda.push(Reverse(stop));
            messages[own].clear();
        }
        turn += 1;
        if turns == Some(turn) {
            mailbox.announce_busy();
            stops = Some(mailbox.clocks());
        }
    }
    mailbox.advance(END);
    take_in(&mut mailbox, END, end, &mut agenda);
    events.retain(|event| event.0 < end);
    events.sort_unstable();
    (events, end)
}

/// Waits until `time` is safe, and takes in the messages that arrive meanwhile, none of which is from before `done`.
fn take_in(
    mailbox: &mut Mailbox<Event>,
    time: u64,
    done: u64,
    agenda: &mut BinaryHeap<Reverse<Event>>,
) -> u64 {
    let receive = |&event: &Event| {
        assert!(event.0 >= done, "{event:?} is heard of at {done}");
        agenda.push(Reverse(event));
    };
    mailbox.wait(time, receive).expect("no thread is gone")
}

/// In any interleaving each event happens once, in time, and all processes stop at the same time.
fn check(look_aheads: Vec<Vec<u64>>, turns: Option<u32>) {
    let expected = sequential(&look_aheads);
    assert!(expected.iter().all(|events| events.len() > 5), "{expected:?}");
    let run = move || {
        let threads: Vec<_> = std::iter::zip(0.., mailboxes(turned(&look_aheads)))
            .map(|(own, mailbox)| {
                let (look_aheads, turns) = (look_aheads.clone(), turns.filter(|_| own == 0));
                sync::thread::spawn(move || process(own, mailbox, &look_aheads, turns))
            })
            .collect();
        let done: Vec<_> =
            threads.into_iter().map(|thread| thread.join().expect("no process panics")).collect();
        let end = done[0].1;
        assert!(turns.is_some() || end == HORIZON);
        for (expected, (events, own_end)) in expected.iter().zip(done) {
            assert_eq!(own_end, end);
            assert!(expected.iter().filter(|event| event.0 < end).eq(&events), "{events:?} until {end}");
        }
    };
    shuttle::check_random(run.clone(), INTERLEAVINGS);
    shuttle::check_pct(run, INTERLEAVINGS, 3);
}

/// Look-aheads to each process instead of from it.
fn turned(look_aheads: &[Vec<u64>]) -> Vec<Vec<u64>> {
    (0..look_aheads.len()).map(|to| look_aheads.iter().map(|from| from[to]).collect()).collect()
}

const TWO: [[u64; 2]; 2] = [[0, 20], [20, 0]];

/// Some are far apart.
const THREE: [[u64; 3]; 3] = [[0, 15, 90], [40, 0, 15], [30, 90, 0]];

#[test]
fn processes_do_the_same_in_any_interleaving() {
    check(TWO.map(Vec::from).to_vec(), None);
    check(THREE.map(Vec::from).to_vec(), None);
}

/// Early, and after pauses.
#[test]
fn processes_stop_at_the_same_time_in_any_interleaving() {
    for turns in [1, 4, 9] {
        check(TWO.map(Vec::from).to_vec(), Some(turns));
        check(THREE.map(Vec::from).to_vec(), Some(turns));
    }
}
