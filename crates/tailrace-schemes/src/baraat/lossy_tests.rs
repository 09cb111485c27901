//! Flows that come and go over three routers, whose headers are lost anywhere on their way.

use proptest::prelude::*;
use tailrace_core::random::Stream;
use tailrace_core::{CongestionLaw, Header, Time};
use tailrace_transport::Message;

use super::scale::{Grains, bps_of};
use super::tests::{LINK, REFRESH, VIEW, law, pass, router};
use super::*;

const FLOWS: usize = 12;
const HEAVY: u64 = 100_000;

/// A header on its way through the routers, and whose it is.
struct Flying {
    flow: usize,
    life: u32,
    asked: Time,
    header: BaraatHeader,
    hops: usize,
}

struct Chaos {
    now: Time,
    stream: Stream,
    loss: f64,
    routers: Vec<BaraatRouter>,
    laws: Vec<BaraatLaw>,
    lives: Vec<u32>,
    /// What each router gave each flow last, and when.
    given: Vec<[(Grains, Time); 3]>,
    flying: Vec<Flying>,
}

impl Chaos {
    fn new(seed: u64, loss: f64) -> Self {
        Chaos {
            now: Time::ZERO,
            stream: Stream::new(seed, "baraat", 0),
            loss,
            routers: (0..3).map(|_| router(Order::FifoLm, HEAVY)).collect(),
            laws: (0..FLOWS).map(|i| law(50_000 * i as u64 + 1, i as u32 / 3)).collect(),
            lives: vec![0; FLOWS],
            given: vec![[(0, Time::ZERO); 3]; FLOWS],
            flying: Vec::new(),
        }
    }

    fn step(&mut self) {
        self.now += Time::from_us(u64::from(self.stream.below(60)));
        if !self.flying.is_empty() && self.stream.below(4) > 0 {
            let which = self.stream.below(self.flying.len() as u32) as usize;
            return self.advance(which);
        }
        let flow = self.stream.below(FLOWS as u32) as usize;
        let law = &mut self.laws[flow];
        let life = self.lives[flow];
        let header = if self.stream.below(60) == 0 {
            let end = law.farewell(self.now);
            *law = self::law(u64::from(self.stream.below(500_000)), self.stream.below(5));
            self.lives[flow] += 1;
            self.given[flow] = [(0, Time::ZERO); 3];
            end
        } else {
            (law.probe_at() <= self.now).then(|| law.probe(self.now, &VIEW))
        };
        let asked = self.now;
        self.flying.extend(header.map(|header| Flying { flow, life, asked, header, hops: 0 }));
    }

    /// A header reaches the next router, or its sender again, or gets lost.
    fn advance(&mut self, which: usize) {
        if self.stream.unit() < self.loss {
            self.flying.swap_remove(which);
            return;
        }
        let flying = &mut self.flying[which];
        let (flow, hop) = (flying.flow, flying.hops);
        if hop < 3 {
            flying.header = pass(&mut self.routers[hop], self.now, flow as u32, flying.header);
            flying.hops += 1;
            if flying.header.message == Message::Request && flying.life == self.lives[flow] {
                let BaraatHeader { scale, requested, hops, .. } = flying.header;
                self.given[flow][hop] = (Held::at(scale, requested, &hops[hop]).allocated, self.now);
            }
            return;
        }
        let Flying { flow, life, asked, header, .. } = self.flying.swap_remove(which);
        if life == self.lives[flow] {
            self.laws[flow].on_feedback(self.now, self.now.saturating_sub(asked), &header.returned(), &VIEW);
        }
    }

    /// What flows hold that were heard of within an epoch is counted, by task as in all, and no more than the
    /// link is given away.
    fn check(&mut self) -> Result<(), TestCaseError> {
        for hop in 0..3 {
            let classifier = self.routers[hop].classifier();
            let held = classifier.total(self.now);
            let by_task: Grains = classifier.tasks(self.now).map(|(_, held, _)| held.allocated).sum();
            prop_assert_eq!(held.allocated, by_task);
            let fresh = |(_, at): &&(Grains, Time)| self.now.saturating_sub(*at) < REFRESH;
            let given: Grains = self.given.iter().map(|g| &g[hop]).filter(fresh).map(|g| g.0).sum();
            prop_assert!(given <= held.allocated, "given {given}, counted {}", held.allocated);
            prop_assert!(bps_of(held.allocated) <= LINK, "counted {} at hop {hop}", held.allocated);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(tailrace_cases::cases(48))]

    #[test]
    fn no_loss_gives_more_than_the_link_or_leaves_anything(seed: u64, loss in 0.0f64..0.4) {
        let mut chaos = Chaos::new(seed, loss);
        for _ in 0..4_000 {
            chaos.step();
            chaos.check()?;
        }
        let later = chaos.now + REFRESH * 2;
        for router in &mut chaos.routers {
            prop_assert_eq!(router.classifier().total(later), Held::default());
            prop_assert_eq!(router.classifier().tasks(later).count(), 0);
        }
    }
}
