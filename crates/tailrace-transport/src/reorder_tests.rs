//! What is held back, by hand and against a model that keeps to the words of the rule.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tailrace_core::{Packet, Time};

use crate::reorder::Reorder;

/// Segments in a cell.
const CELL: u32 = 4;

/// The buffer, and what has passed it.
struct Buffer {
    reorder: Reorder<()>,
    passed: BTreeSet<u32>,
}

impl Buffer {
    fn new(cell: u32) -> Self {
        Buffer { reorder: Reorder::new(cell), passed: BTreeSet::new() }
    }

    /// Segment `seq` arrives as the packet of number `id`; the numbers of those that pass.
    fn arrive(&mut self, now: Time, seq: u32, id: u64) -> Vec<u64> {
        let packet = Packet { seq, sent_ps: id, ..Packet::EMPTY };
        let mut passing = Vec::new();
        if self.reorder.admits(now, &packet) {
            self.passed.insert(seq);
            passing.push(id);
        }
        self.release(now, passing)
    }

    fn wake(&mut self, now: Time) -> Vec<u64> {
        self.release(now, Vec::new())
    }

    fn release(&mut self, now: Time, mut passing: Vec<u64>) -> Vec<u64> {
        let passed = &mut self.passed;
        while let Some(packet) =
            self.reorder.next(now, |mut segments| segments.all(|seq| passed.contains(&seq)))
        {
            passed.insert(packet.seq);
            passing.push(packet.sent_ps);
        }
        passing
    }
}

/// Segments that arrive one a microsecond from `start_us` on: what passes, by segment.
fn arrive(buffer: &mut Buffer, start_us: u64, segments: &[u32]) -> Vec<u64> {
    let arrival = |(us, &seq)| buffer.arrive(Time::from_us(us), seq, u64::from(seq));
    (start_us..).zip(segments).flat_map(arrival).collect()
}

#[test]
fn a_cell_passes_as_it_comes_and_the_next_waits_for_it() {
    let mut buffer = Buffer::new(CELL);
    // Within the current cell order is not the buffer's business.
    assert_eq!(arrive(&mut buffer, 0, &[2, 0, 3]), [2, 0, 3]);
    // Two later cells mixed: both wait, and leave in order when segment 1 completes the cell before them.
    assert!(arrive(&mut buffer, 3, &[8, 4, 9, 6, 5]).is_empty());
    assert_eq!(arrive(&mut buffer, 8, &[1]), [1, 4, 5, 6]);
    assert_eq!(arrive(&mut buffer, 9, &[7]), [7, 8, 9]);
    assert_eq!(buffer.reorder.due(), Time::MAX);
}

#[test]
fn a_lost_tail_is_waited_for_as_long_as_one_and_a_half_cells_take() {
    let mut buffer = Buffer::new(CELL);
    arrive(&mut buffer, 0, &[0, 1, 2, 3]);
    arrive(&mut buffer, 100, &[4, 5, 6]);
    // Cells follow each other every 100 µs; segment 7 is lost.
    assert!(arrive(&mut buffer, 200, &[8, 9]).is_empty());
    assert_eq!(buffer.reorder.due(), Time::from_us(200 + 150));
    assert_eq!(buffer.wake(Time::from_us(350)), [8, 9]);
    assert_eq!(buffer.reorder.due(), Time::MAX);
    // A cell that was given up is history: what comes of it passes, and the next cells do not wait for it.
    assert_eq!(arrive(&mut buffer, 400, &[10, 7, 11, 12]), [10, 7, 11, 12]);
}

#[test]
fn a_cell_that_is_still_coming_is_waited_for() {
    let mut buffer = Buffer::new(CELL);
    arrive(&mut buffer, 0, &[0, 1, 2, 3]);
    arrive(&mut buffer, 100, &[4]);
    assert!(arrive(&mut buffer, 200, &[8]).is_empty());
    arrive(&mut buffer, 340, &[5]);
    assert_eq!(buffer.reorder.due(), Time::from_us(340 + 150));
}

#[test]
fn a_wait_that_turns_out_too_long_ends_at_once() {
    let mut buffer = Buffer::new(CELL);
    // Cells follow each other every 8 ms, and segments 1 to 3 are lost.
    arrive(&mut buffer, 0, &[0]);
    assert!(arrive(&mut buffer, 8_000, &[4]).is_empty());
    assert!(arrive(&mut buffer, 16_000, &[8]).is_empty());
    // After k cells a microsecond apart the delay is 8 ms · (7/8)ᵏ: the wait of 8 ms so far is too long at k = 4.
    assert!(arrive(&mut buffer, 16_001, &[12, 16, 20]).is_empty());
    assert_eq!(arrive(&mut buffer, 16_004, &[24]), [4]);
}

#[test]
fn no_cell_is_waited_for_longer_than_ten_milliseconds() {
    let mut buffer = Buffer::new(CELL);
    // All of the first cell is missing: there is no delay between cells yet.
    arrive(&mut buffer, 0, &[4]);
    assert_eq!(buffer.reorder.due(), Time::from_ms(10));
    // A pause of a second between cells is no delay to wait for.
    let mut buffer = Buffer::new(CELL);
    arrive(&mut buffer, 0, &[0]);
    arrive(&mut buffer, 1_000_000, &[4]);
    assert_eq!(buffer.reorder.due(), Time::from_ms(1_000 + 10));
}

#[test]
fn delays_are_smoothed_by_an_eighth() {
    let mut buffer = Buffer::new(CELL);
    for (us, first) in [(0, 0), (80, 4), (240, 8)] {
        arrive(&mut buffer, us, &[first, first + 1, first + 2, first + 3]);
    }
    // 80 µs, and then 7/8 · 80 + 1/8 · 160 = 90 µs, of which the wait is 135; the sample of cell 4 is 90 again.
    arrive(&mut buffer, 330, &[16]);
    assert_eq!(buffer.reorder.due(), Time::from_us(330 + 135));
}

#[test]
fn another_flow_finds_the_buffer_as_new() {
    let mut buffer = Buffer::new(CELL);
    arrive(&mut buffer, 0, &[0, 5, 6, 7, 8]);
    buffer.reorder.clear();
    buffer.passed.clear();
    assert_eq!(buffer.reorder.due(), Time::MAX);
    assert_eq!(arrive(&mut buffer, 0, &[0]), [0]);
    arrive(&mut buffer, 100, &[4]);
    assert_eq!(buffer.reorder.due(), Time::from_us(100 + 150));
}

/// The rule word by word: everything is looked up anew each time.
#[derive(Default)]
struct Model {
    cell: u32,
    current: u32,
    /// Segment and number, in order of arrival.
    held: Vec<(u32, u64)>,
    passed: BTreeSet<u32>,
    since: Time,
    firsts: Vec<(u32, Time)>,
}

impl Model {
    fn arrive(&mut self, now: Time, seq: u32, id: u64) -> Vec<u64> {
        let cell = seq / self.cell;
        if self.firsts.iter().all(|&(newest, _)| cell > newest) {
            self.firsts.push((cell, now));
        }
        if cell == self.current || self.held.is_empty() {
            self.since = now;
        }
        self.held.push((seq, id));
        self.release(now)
    }

    fn release(&mut self, now: Time) -> Vec<u64> {
        let mut passing = Vec::new();
        loop {
            let turn = |&(seq, _): &(u32, u64)| seq / self.cell <= self.current;
            if let Some(&(seq, id)) = self.held.iter().filter(|one| turn(one)).min_by_key(|&&(seq, _)| seq) {
                self.held.retain(|&(_, other)| other != id);
                self.passed.insert(seq);
                passing.push(id);
            } else if (0..self.cell).all(|i| self.passed.contains(&(self.current * self.cell + i))) {
                (self.current, self.since) = (self.current + 1, now);
            } else if let Some(first) = self.held.iter().map(|&(seq, _)| seq).min()
                && self.due() <= now
            {
                (self.current, self.since) = (first / self.cell, now);
            } else {
                return passing;
            }
        }
    }

    fn due(&self) -> Time {
        let longest = 10_000_000_000;
        let samples = self.firsts.windows(2).map(|pair| (pair[1].1 - pair[0].1).as_ps().min(longest));
        let smoothed = samples.reduce(|delay, sample| delay - delay / 8 + sample / 8);
        let wait = smoothed.map_or(longest, |delay| (delay + delay / 2).min(longest));
        if self.held.is_empty() { Time::MAX } else { self.since + Time::from_ps(wait) }
    }
}

/// Segments of a flow in the order of their arrival, with times: cells on paths of unequal delay, packets that
/// come late (as if sent again), twice, or never.
fn any_arrivals() -> impl Strategy<Value = (u32, Vec<(Time, u32)>)> {
    let fate = prop_oneof![
        12 => Just((0u64, 1)),
        1 => (1u64..3_000).prop_map(|late| (late, 1)),
        1 => (1u64..300).prop_map(|late| (late, 2)),
        1 => Just((0, 0)),
    ];
    let fates = prop::collection::vec(fate, 1..120);
    (1u32..12, fates, prop::collection::vec(0u64..400, 1..5), 1u64..40).prop_map(
        |(cell, fates, paths, step)| {
            let mut arrivals = Vec::new();
            for (seq, (late, copies)) in (0u32..).zip(fates) {
                let path = paths[(seq / cell) as usize % paths.len()];
                for copy in 0..copies {
                    let us = u64::from(seq) * step + path + late + copy * 17;
                    arrivals.push((Time::from_us(us), seq));
                }
            }
            arrivals.sort_by_key(|&(at, _)| at);
            (cell, arrivals)
        },
    )
}

proptest! {
    #![proptest_config(tailrace_cases::cases(3_000))]
    /// Every packet passes exactly once, when the model says so.
    #[test]
    fn agrees_with_the_rule_word_by_word((cell, arrivals) in any_arrivals()) {
        let (mut buffer, mut model) = (Buffer::new(cell), Model { cell, ..Model::default() });
        let mut all = Vec::new();
        let wakes = |buffer: &mut Buffer, model: &mut Model, all: &mut Vec<u64>, until: Time| {
            while buffer.reorder.due() < until {
                let due = buffer.reorder.due();
                let passing = buffer.wake(due);
                prop_assert_eq!(&passing, &model.release(due));
                prop_assert_eq!(buffer.reorder.due(), model.due());
                prop_assert!(!passing.is_empty(), "woken for nothing");
                all.extend(passing);
            }
            Ok(())
        };
        for (id, &(now, seq)) in (0u64..).zip(&arrivals) {
            wakes(&mut buffer, &mut model, &mut all, now)?;
            let passing = buffer.arrive(now, seq, id);
            prop_assert_eq!(&passing, &model.arrive(now, seq, id));
            prop_assert_eq!(buffer.reorder.due(), model.due());
            all.extend(passing);
        }
        let segments: BTreeSet<u32> = arrivals.iter().map(|&(_, seq)| seq).collect();
        if segments.iter().copied().eq(0..segments.len() as u32) {
            prop_assert_eq!(buffer.reorder.due(), Time::MAX, "nothing is held of what is complete");
        }
        wakes(&mut buffer, &mut model, &mut all, Time::MAX)?;
        all.sort_unstable();
        prop_assert!(all.iter().copied().eq(0..arrivals.len() as u64), "{:?}", all);
    }
}
