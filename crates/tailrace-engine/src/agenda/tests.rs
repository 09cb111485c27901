use super::due::turn;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The agenda in three lines: a map from entity to time.
#[derive(Clone, Default)]
struct Naive(BTreeMap<Entity, u64>);
impl Naive {
    fn wake(&mut self, entity: Entity, at: u64) {
        let pending = self.0.entry(entity).or_insert(at);
        *pending = (*pending).min(at);
    }
    fn next(&mut self) -> Option<(u64, Entity)> {
        let (at, _, entity) = self.0.iter().map(|(&e, &t)| (t, turn(t, e), e)).min()?;
        self.0.remove(&entity);
        Some((at, entity))
    }
}

/// Distances that hit every level: the same bucket, near, next rotations, far.
fn distance() -> impl Strategy<Value = u64> {
    prop_oneof![
        0u64..4,
        0u64..50_000,
        0u64..40_000_000,
        0u64..2_000_000_000,
        0u64..3_000_000_000_000,
        0u64..1 << 57
    ]
}

proptest! {
    #![proptest_config(tailrace_cases::cases(400))]
    #[test]
    fn agrees_with_a_map(operations in prop::collection::vec((0u32..12, distance(), 0..4u8), 1..300)) {
        let (mut agenda, mut naive) = (Agenda::new(12, 20_000_000), Naive::default());
        let (mut now, mut given) = (0, 0);
        for (entity, ahead, pops) in operations {
            agenda.wake(entity, now + ahead);
            naive.wake(entity, now + ahead);
            for _ in 0..pops {
                let (peeked, got, want) = (agenda.peek(), agenda.next(), naive.next());
                prop_assert_eq!(got, want);
                prop_assert_eq!(peeked, want.map(|(at, _)| at));
                if let Some((at, _)) = got { now = at }
                given += u64::from(got.is_some());
                prop_assert_eq!(agenda.given_out(), given);
                // Up to an end, and then on from there.
                let next = naive.clone().next().map(|(at, _)| at);
                let end = now + ahead / 2;
                agenda.run_until(end);
                match next {
                    Some(at) if at < end => {
                        prop_assert_eq!(agenda.next(), naive.next());
                        (now, given) = (at, given + 1);
                    }
                    _ => {
                        prop_assert_eq!(agenda.next(), None);
                        now = now.max(end);
                    }
                }
                agenda.run_until(u64::MAX);
            }
        }
        while let Some(want) = naive.next() {
            prop_assert_eq!(agenda.next(), Some(want));
        }
        prop_assert_eq!(agenda.next(), None);
        prop_assert!(agenda.peek().is_none());
    }
}

proptest! {
    /// Many at once and close together, as in a large fabric: lists are long, and what is due is asked for again meanwhile.
    #[test]
    fn agrees_with_a_map_in_a_crowd(
        span in 3_000u64..1_000_000,
        start in prop::collection::vec(0u64..1_000, 200),
        again in prop::collection::vec((0u32..200, 0u64..1_000, prop::option::weighted(0.2, 0u64..200)), 400),
        times in 1usize..9,
    ) {
        // A bucket holds a hundred of them, or one.
        let (mut agenda, mut naive) = (Agenda::new(200, 20_000_000), Naive::default());
        agenda.thin_out(times);
        for (entity, at) in (0..).zip(start) {
            agenda.wake(entity, at * span / 1_000);
            naive.wake(entity, at * span / 1_000);
        }
        let mut now = 0;
        for (entity, ahead, until) in again {
            // What others ask for before some end is put among what is in order already.
            let end = until.map_or(u64::MAX, |until| now + until * span / 1_000);
            agenda.run_until(end);
            let mut coming = Vec::new();
            let got = agenda.next_and(|due| coming.extend(due.iter().map(|due| (due.at, due.entity))));
            let want = naive.clone().next().filter(|&(at, _)| at < end);
            prop_assert_eq!(got, want);
            match coming.first() {
                Some(&first) if first.0 < end => prop_assert_eq!(Some(first), got),
                Some(_) => prop_assert_eq!(None, got),
                None => {}
            }
            prop_assert!(coming.is_sorted_by_key(|&(at, entity)| (at, turn(at, entity))));
            if let Some((at, woken)) = got {
                agenda.wake_again(woken, None);
                naive.next();
                now = at;
            } else if end < u64::MAX {
                now = end;
            }
            agenda.wake(entity, now + ahead * span / 1_000);
            naive.wake(entity, now + ahead * span / 1_000);
            prop_assert_eq!(agenda.peek(), naive.clone().next().map(|(at, _)| at));
        }
        agenda.run_until(u64::MAX);
        while let Some(want) = naive.next() {
            prop_assert_eq!(agenda.next(), Some(want));
        }
        prop_assert_eq!(agenda.next(), None);
    }
}

#[test]
fn the_end_of_time_is_given_out_too() {
    for span in [1, 1 << 20] {
        let mut agenda = Agenda::new(2, span);
        agenda.wake(1, u64::MAX);
        assert_eq!(agenda.next(), Some((u64::MAX, 1)));
        agenda.wake(0, u64::MAX);
        agenda.run_until(u64::MAX - 1);
        assert_eq!(agenda.next(), None);
        agenda.run_until(u64::MAX);
        assert_eq!(agenda.next(), Some((u64::MAX, 0)));
    }
}

#[test]
fn ties_favour_nobody() {
    let first = |a, b| {
        let wins = |at: u64| u32::from(turn(at, a) < turn(at, b));
        (0..10_000).map(|packet| wins(83_896_000 + packet * 1_200_000)).sum::<u32>()
    };
    for (a, b) in [(0, 1), (0, 2), (3, 143), (7, 400)] {
        assert!((4_800..5_200).contains(&first(a, b)), "{a} before {b}: {} of 10000", first(a, b));
    }
}

#[test]
fn nodes_are_sixteen_bytes() {
    assert_eq!(size_of::<Node>(), 16);
}
