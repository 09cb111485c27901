//! A bundle against flows that are followed one by one.

use proptest::prelude::*;
use tailrace_core::Time;

use crate::bundle::Bundle;
use crate::clocks::Clocks;
use crate::routes::Path;
use crate::solver::ClassId;

#[derive(Clone, Debug)]
enum Step {
    Enter(u32),
    Level(f64),
    /// By the clock of a class, or by its own rate.
    Follow(Option<ClassId>),
    Weigh(f64),
    Wait(u64),
}

fn a_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u32..2_000_000).prop_map(Step::Enter),
        2 => prop_oneof![Just(0.0), 1e6..1e10_f64].prop_map(Step::Level),
        2 => prop::option::of(0..3_u32).prop_map(Step::Follow),
        1 => (0.1..10.0_f64).prop_map(Step::Weigh),
        4 => (1_u64..5_000_000_000).prop_map(Step::Wait),
    ]
}

/// What grows beyond that costs each event: look what it is that grew.
#[test]
fn a_bundle_has_two_lines_of_memory() {
    assert_eq!(size_of::<Bundle>(), 2 * 64);
}

/// The bundle, and each of its flows by its number: what it has yet to send.
struct Pair {
    bundle: Bundle,
    clocks: Clocks,
    left: Vec<(u32, f64)>,
    now: Time,
    level: f64,
    each: f64,
    /// Bytes that all flows have been served.
    sent: f64,
    flows: u32,
}

fn nearly(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-3 + 1e-9 * a.abs().max(b.abs())
}

impl Pair {
    fn new() -> Self {
        let bundle = Bundle::new(Path::from_iter([0]), Time::ZERO);
        let clocks = Clocks::default();
        Pair { bundle, clocks, left: Vec::new(), now: Time::ZERO, level: 0.0, each: 1.0, sent: 0.0, flows: 0 }
    }

    fn go_to(&mut self, at: Time) {
        let each = self.level * self.each * (at - self.now).as_secs_f64();
        self.sent += each * self.left.len() as f64;
        self.left.iter_mut().for_each(|(_, left)| *left -= each);
        self.now = at;
    }

    /// When the first is done, by division.
    fn first_end(&self) -> Option<f64> {
        let least = self.left.iter().map(|(_, left)| *left).reduce(f64::min)?;
        let rate = self.level * self.each;
        (rate > 0.0).then(|| self.now.as_ps() as f64 + least.max(0.0) / rate * 1e12)
    }

    /// Has the bundle go by the clock of a class, or by its own rate.
    fn follow(&mut self, class: Option<ClassId>) {
        let before = self.bundle.clock();
        if let Some(class) = class {
            self.clocks.set_level(class, self.now, self.level);
        }
        if before != class {
            if let Some(class) = class {
                self.clocks.enter(class, self.now);
            }
            if let Some(before) = before {
                self.clocks.leave(before, 0);
            }
        }
        match class {
            Some(class) => self.bundle.follow(self.now, &self.clocks, class),
            None => self.bundle.set_level(self.now, &self.clocks, self.level),
        }
    }

    /// When the bundle is to be looked at.
    fn next_event(&mut self) -> Time {
        let Some(class) = self.bundle.clock() else { return self.bundle.arm().unwrap_or(Time::MAX) };
        if let Some(reading) = self.bundle.next_reading() {
            self.clocks.expect(class, 0, reading);
        }
        // Earlier than it was asked for before, or as it was.
        self.clocks.arm(class, self.now).unwrap_or(Time::MAX)
    }

    /// It is looked at, or nothing has been asked for.
    fn disarm(&mut self) -> Vec<u32> {
        self.bundle.disarm();
        let mut due = Vec::new();
        if let Some(class) = self.bundle.clock() {
            self.clocks.take_due(class, self.now, &mut due);
        }
        due
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Enter(bytes) => {
                self.flows += 1;
                self.bundle.enter(self.now, &self.clocks, bytes.into(), self.flows, self.flows + 1000);
                self.left.push((self.flows, bytes.into()));
            }
            Step::Level(level) => {
                self.level = level;
                self.follow(self.bundle.clock());
            }
            Step::Follow(class) => self.follow(class),
            Step::Weigh(each) => {
                self.follow(None);
                self.each = each;
                self.bundle.weigh(each);
                self.follow(None);
            }
            Step::Wait(ps) => {
                let until = self.now + Time::from_ps(ps);
                loop {
                    self.disarm();
                    let at = self.next_event();
                    if at > until {
                        break;
                    }
                    self.let_leave(at)?;
                }
                prop_assert!(self.first_end().is_none_or(|end| end > until.as_ps() as f64 - 3.0));
                self.go_to(until);
            }
        }
        self.check()
    }

    /// Goes on to the bundle's next event, at which a flow is done.
    fn let_leave(&mut self, at: Time) -> Result<(), TestCaseError> {
        let expected = self.first_end();
        prop_assert!(
            expected.is_some_and(|end| (at.as_ps() as f64 - end).abs() <= 3.0 + end * 1e-9),
            "{at}, not {expected:?}"
        );
        self.go_to(at);
        let due = self.disarm();
        prop_assert_eq!(due.len(), usize::from(self.bundle.clock().is_some()));
        let mut done = 0;
        while let Some(flow) = self.bundle.leave(at, &self.clocks) {
            prop_assert_eq!(flow.ticket, flow.flow + 1000);
            let place = self.left.iter().position(|(number, _)| *number == flow.flow).unwrap();
            let (_, left) = self.left.swap_remove(place);
            prop_assert!(left <= 1e-3 + self.level * self.each * 4e-12, "{left} bytes were left");
            done += 1;
        }
        prop_assert!(done > 0, "nobody was done at {at}");
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.bundle.len(), self.left.len());
        prop_assert!(nearly(self.bundle.level(&self.clocks), self.level));
        prop_assert!(nearly(self.bundle.weight(), self.left.len() as f64 * self.each));
        prop_assert!(
            nearly(self.bundle.sent(self.now, &self.clocks), self.sent),
            "{} {}",
            self.bundle.sent(self.now, &self.clocks),
            self.sent
        );
        let least = self.left.iter().map(|(_, left)| *left).reduce(f64::min);
        let only = self.bundle.only(self.now, &self.clocks).map(|(_, left)| left);
        prop_assert_eq!(only.is_some(), least.is_some());
        prop_assert!(only.zip(least).is_none_or(|(only, least)| nearly(only, least.max(0.0))));
        Ok(())
    }
}

proptest! {
    #[test]
    fn every_flow_is_served_as_if_it_were_followed_alone(steps in prop::collection::vec(a_step(), 1..80)) {
        let mut pair = Pair::new();
        for step in &steps {
            pair.step(step)?;
        }
    }
}

#[test]
fn a_rank_is_looked_at_after_its_bytes_and_not_before() {
    for clock in [None, Some(2)] {
        let mut pair = Pair::new();
        let us = Time::from_us;
        pair.bundle.enter(us(0), &pair.clocks, 1e6, 1, 1);
        pair.level = 1e9;
        pair.follow(clock);
        // At a thousand bytes a microsecond.
        pair.bundle.turn_after(us(10), &pair.clocks, 5_000.0);
        assert_eq!(pair.next_event(), us(15));
        let Pair { bundle, clocks, .. } = &mut pair;
        assert!(!bundle.has_turned(us(15) - Time::from_ps(10), clocks));
        assert!(bundle.has_turned(us(15), clocks) && bundle.has_turned(us(16), clocks));
        assert!(bundle.leave(us(16), clocks).is_none());
        bundle.turn_after(us(16), clocks, f64::INFINITY);
        assert!(!bundle.has_turned(us(900), clocks));
        pair.disarm();
        assert_eq!(pair.next_event(), us(1_000));
    }
}

#[test]
fn a_bundle_without_flows_or_without_a_rate_has_no_event() {
    for clock in [None, Some(0)] {
        let mut pair = Pair::new();
        pair.follow(clock);
        assert_eq!(pair.next_event(), Time::MAX);
        pair.bundle.enter(Time::ZERO, &pair.clocks, 1e6, 1, 1);
        assert_eq!(pair.next_event(), Time::MAX);
        pair.bundle.count(70);
        pair.bundle.count(30);
        assert_eq!(pair.bundle.finished_bytes(), 100.0);
    }
}

#[test]
fn of_those_who_go_by_one_clock_each_is_due_in_its_turn() {
    let (mut clocks, us) = (Clocks::default(), Time::from_us);
    clocks.set_level(4, us(1), 1e6);
    for bundle in 0..3 {
        clocks.enter(4, us(1));
        clocks.expect(4, bundle, [30.0, 10.0, 10.0][bundle as usize]);
    }
    assert_eq!((clocks.arm(4, us(1)), clocks.arm(4, us(1))), (Some(us(11)), None));
    clocks.set_level(4, us(6), 5e6);
    assert_eq!(clocks.arm(4, us(6)), Some(us(7)), "5 of 10 bytes are served");
    let mut due = Vec::new();
    clocks.take_due(4, us(7), &mut due);
    assert_eq!(due, [1, 2]);
    assert_eq!(clocks.arm(4, us(7)), Some(us(11)));
    clocks.leave(4, 0);
    clocks.take_due(4, us(11), &mut due);
    assert_eq!((due.len(), clocks.arm(4, us(11))), (2, None));
    // What was due at the last picosecond is due now.
    clocks.enter(4, us(20));
    clocks.expect(4, 1, 0.0);
    assert_eq!(clocks.arm(4, us(21)), Some(us(21)));
}
