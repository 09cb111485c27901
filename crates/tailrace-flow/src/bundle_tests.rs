//! A bundle against flows that are followed one by one.

use proptest::prelude::*;
use tailrace_core::{Rank, Time};

use crate::bundle::{Bundle, Kind};
use crate::routes::Path;

#[derive(Clone, Debug)]
enum Step {
    Enter(u32),
    Level(f64),
    Weigh(f64),
    Wait(u64),
}

fn a_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u32..2_000_000).prop_map(Step::Enter),
        2 => prop_oneof![Just(0.0), 1e6..1e10_f64].prop_map(Step::Level),
        1 => (0.1..10.0_f64).prop_map(Step::Weigh),
        4 => (1_u64..5_000_000_000).prop_map(Step::Wait),
    ]
}

/// The bundle, and each of its flows by its number: what it has yet to send.
struct Pair {
    bundle: Bundle,
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
        let kind = Kind { rank: Rank::default(), path: Path::from_iter([0]) };
        let bundle = Bundle::new(kind, Time::ZERO);
        Pair { bundle, left: Vec::new(), now: Time::ZERO, level: 0.0, each: 1.0, sent: 0.0, flows: 0 }
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

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Enter(bytes) => {
                self.flows += 1;
                self.bundle.enter(self.now, bytes.into(), self.flows, self.flows + 1000);
                self.left.push((self.flows, bytes.into()));
            }
            Step::Level(level) => {
                self.level = level;
                self.bundle.set_level(self.now, level);
            }
            Step::Weigh(each) => {
                self.each = each;
                self.bundle.weigh(each);
                self.bundle.set_level(self.now, self.level);
            }
            Step::Wait(ps) => {
                let until = self.now + Time::from_ps(ps);
                while self.bundle.next_event() <= until {
                    self.let_leave()?;
                }
                prop_assert!(self.first_end().is_none_or(|end| end > until.as_ps() as f64 - 3.0));
                self.go_to(until);
            }
        }
        self.check()
    }

    /// Goes on to the bundle's next event, at which a flow is done.
    fn let_leave(&mut self) -> Result<(), TestCaseError> {
        let at = self.bundle.next_event();
        let expected = self.first_end();
        prop_assert!(
            expected.is_some_and(|end| (at.as_ps() as f64 - end).abs() <= 3.0 + end * 1e-9),
            "{at}, not {expected:?}"
        );
        self.go_to(at);
        let mut done = 0;
        while let Some(flow) = self.bundle.leave(at) {
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
        prop_assert!(nearly(self.bundle.level(), self.level));
        prop_assert!(nearly(self.bundle.weight(), self.left.len() as f64 * self.each));
        prop_assert!(
            nearly(self.bundle.sent(self.now), self.sent),
            "{} {}",
            self.bundle.sent(self.now),
            self.sent
        );
        let least = self.left.iter().map(|(_, left)| *left).reduce(f64::min);
        let only = self.bundle.only(self.now).map(|(_, left)| left);
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
    let mut bundle = Pair::new().bundle;
    let us = Time::from_us;
    bundle.enter(us(0), 1e6, 1, 1);
    bundle.set_level(us(0), 1e9);
    // At a thousand bytes a microsecond.
    bundle.turn_after(us(10), 5_000.0);
    assert_eq!(bundle.next_event(), us(15));
    assert!(!bundle.has_turned(us(15) - Time::from_ps(10)));
    assert!(bundle.has_turned(us(15)) && bundle.has_turned(us(16)));
    assert!(bundle.leave(us(16)).is_none());
    bundle.turn_after(us(16), f64::INFINITY);
    assert!(!bundle.has_turned(us(900)));
    assert_eq!(bundle.next_event(), us(1_000));
}

#[test]
fn a_bundle_without_flows_or_without_a_rate_has_no_event() {
    let mut bundle = Pair::new().bundle;
    assert_eq!(bundle.next_event(), Time::MAX);
    bundle.enter(Time::ZERO, 1e6, 1, 1);
    assert_eq!(bundle.next_event(), Time::MAX);
    bundle.count(70);
    bundle.count(30);
    assert_eq!(bundle.finished_bytes(), 100.0);
}
