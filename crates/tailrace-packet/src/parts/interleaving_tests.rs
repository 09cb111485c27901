//! What keeps parts in step, in many orders of their steps: the same [`mail`](self::mail), with the atomics and threads of
//! [shuttle](https://docs.rs/shuttle), which decides before each access who goes on.

mod sync {
    pub(super) use shuttle::sync::atomic;
    pub(super) use shuttle::{hint, thread};
}

#[expect(clippy::duplicate_mod, reason = "the same with other threads")]
#[path = "mail.rs"]
mod mail;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use self::mail::{END, Mail, mail};

/// Orders that are tried of each kind.
const ORDERS: usize = 100;

/// When parts stop that are not stopped before.
const HORIZON: u64 = 3_000;

/// How far a part goes before others may know.
const STEP: u64 = 9;

/// That all are to stop.
const STOP: u64 = u64::MAX >> 8;

/// Something that happens, by when and of what: what comes of it follows from that.
type Event = (u64, u64);

/// What comes of an event of part `own`, and in which part: there, long after or soon, or in another one, a look-ahead later or more.
fn comes_of(own: usize, (at, what): Event, ahead: &[Vec<u64>]) -> (usize, Event) {
    let drawn = (at * 31 + what * 17 + own as u64 * 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    if drawn % 5 < 2 {
        let other = (own + 1 + drawn as usize % (ahead.len() - 1)) % ahead.len();
        return (other, (at + ahead[own][other] + drawn % 3, what));
    }
    let pause = if drawn.is_multiple_of(3) { 700 } else { 40 };
    (own, (at + 1 + drawn % pause, what))
}

/// What each part begins with.
fn first(part: usize) -> Vec<Event> {
    let part = part as u64;
    vec![(part * 3, 2 * part), (part * 50, 2 * part + 1)]
}

/// All that happens in each part, as it does in one world.
fn whole(ahead: &[Vec<u64>]) -> Vec<Vec<Event>> {
    let parts = 0..ahead.len();
    let mut agenda: BinaryHeap<_> =
        parts.flat_map(|part| first(part).into_iter().map(move |event| Reverse((event, part)))).collect();
    let mut done = vec![Vec::new(); ahead.len()];
    while let Some(Reverse((event, part))) = agenda.pop()
        && event.0 < HORIZON
    {
        done[part].push(event);
        let (next, event) = comes_of(part, event, ahead);
        agenda.push(Reverse((event, next)));
    }
    done.iter_mut().for_each(|events| events.sort_unstable());
    done
}

/// A part that goes on as [`run_parts`](super::run_parts) has its parts go on, and after so many turns wants all to stop. Returns what
/// has happened in it, and when it stopped.
fn part(own: usize, mut mail: Mail<Event>, ahead: &[Vec<u64>], turns: Option<u32>) -> (Vec<Event>, u64) {
    let mut agenda: BinaryHeap<_> = first(own).into_iter().map(Reverse).collect();
    let (mut events, mut done, mut end) = (Vec::new(), 0, HORIZON);
    let mut letters = vec![Vec::new(); ahead.len()];
    let (mut turn, mut stops) = (0, None);
    while done < end {
        let limit = take_in(&mut mail, done + 1, done, &mut agenda);
        match agenda.peek().map_or(END, |event| event.0.0) {
            // Who has letters to write does not rest: they may be for before that.
            next if next >= limit && stops.is_none() && letters.iter().all(Vec::is_empty) => mail.rest(next),
            _ => mail.stir(),
        }
        while done < limit.min(end) {
            let next = agenda.peek().map_or(END, |event| event.0.0);
            done = next.max(done).saturating_add(STEP).min(limit);
            while let Some(&Reverse(event)) = agenda.peek()
                && event.0 < done
            {
                agenda.pop();
                if event.1 == STOP {
                    (end, done) = (event.0, event.0);
                    break;
                }
                match comes_of(own, event, ahead) {
                    (next, event) if next == own => agenda.push(Reverse(event)),
                    (other, event) => letters[other].push(event),
                }
                events.push(event);
            }
            while !mail.send(&mut letters) {
                take_in(&mut mail, 0, done, &mut agenda);
            }
            mail.advance(done);
        }
        if stops.take_if(|since: &mut Vec<u64>| mail.have_moved(since)).is_some() {
            let farthest = ahead.iter().flatten().max().expect("there are parts");
            let stop = (done.max(mail.quiet()) + farthest, STOP);
            letters.iter_mut().for_each(|letters| letters.push(stop));
            agenda.push(Reverse(stop));
            letters[own].clear();
        }
        turn += 1;
        if turns == Some(turn) {
            mail.stir();
            stops = Some(mail.clocks());
        }
    }
    mail.advance(END);
    take_in(&mut mail, END, end, &mut agenda);
    events.retain(|event| event.0 < end);
    events.sort_unstable();
    (events, end)
}

/// Waits until `time`, with what comes meanwhile, none of which is of what is done.
fn take_in(mail: &mut Mail<Event>, time: u64, done: u64, agenda: &mut BinaryHeap<Reverse<Event>>) -> u64 {
    let hear = |&event: &Event| {
        assert!(event.0 >= done, "{event:?} is heard of at {done}");
        agenda.push(Reverse(event));
    };
    mail.wait(time, hear).expect("nobody is gone")
}

/// Whatever the order, each event happens once, in time, and all parts stop at the same time.
fn check(ahead: Vec<Vec<u64>>, turns: Option<u32>) {
    let expected = whole(&ahead);
    assert!(expected.iter().all(|events| events.len() > 5), "{expected:?}");
    let run = move || {
        let threads: Vec<_> = std::iter::zip(0.., mail(turned(&ahead)))
            .map(|(own, mail)| {
                let (ahead, turns) = (ahead.clone(), turns.filter(|_| own == 0));
                sync::thread::spawn(move || part(own, mail, &ahead, turns))
            })
            .collect();
        let done: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no part panics")).collect();
        let end = done[0].1;
        assert!(turns.is_some() || end == HORIZON);
        for (expected, (events, own_end)) in expected.iter().zip(done) {
            assert_eq!(own_end, end);
            assert!(expected.iter().filter(|event| event.0 < end).eq(&events), "{events:?} until {end}");
        }
    };
    shuttle::check_random(run.clone(), ORDERS);
    shuttle::check_pct(run, ORDERS, 3);
}

/// Look-aheads to each part instead of from it.
fn turned(ahead: &[Vec<u64>]) -> Vec<Vec<u64>> {
    (0..ahead.len()).map(|to| ahead.iter().map(|from| from[to]).collect()).collect()
}

const TWO: [[u64; 2]; 2] = [[0, 20], [20, 0]];

/// Some are far apart.
const THREE: [[u64; 3]; 3] = [[0, 15, 90], [40, 0, 15], [30, 90, 0]];

#[test]
fn parts_do_the_same_in_any_order() {
    check(TWO.map(Vec::from).to_vec(), None);
    check(THREE.map(Vec::from).to_vec(), None);
}

/// Early, and after pauses.
#[test]
fn parts_stop_at_the_same_time_in_any_order() {
    for turns in [1, 4, 9] {
        check(TWO.map(Vec::from).to_vec(), Some(turns));
        check(THREE.map(Vec::from).to_vec(), Some(turns));
    }
}
