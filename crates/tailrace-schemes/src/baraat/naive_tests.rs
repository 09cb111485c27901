//! The classifier against one that keeps all flows and does what the paper says, word by word.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tailrace_core::{Bytes, Time};
use tailrace_queues::{Epoch, Tally};

use super::scale::{Grains, bps_of};
use super::*;

#[derive(Default)]
struct Naive {
    /// By flow: its task, what it holds, and when that was counted.
    flows: BTreeMap<u32, (u32, Held, Epoch)>,
    reserved: BTreeMap<u32, f64>,
    heavy: BTreeSet<u32>,
}

impl Naive {
    fn held(&self, is_in: impl Fn(u32) -> bool) -> Held {
        let mut sum = Held::default();
        self.flows.values().filter(|(task, ..)| is_in(*task)).for_each(|(_, held, _)| sum.add(*held));
        sum
    }

    fn pass_time(&mut self, step: Time, threshold: f64) {
        let tasks: BTreeSet<u32> = self.flows.values().map(|(task, ..)| *task).collect();
        for task in tasks {
            let rate = bps_of(self.held(|other| other == task).allocated) as f64 / 8.0;
            let reserved = self.reserved.entry(task).or_default();
            *reserved += rate * step.as_secs_f64();
            if *reserved > threshold {
                self.heavy.insert(task);
            }
        }
    }

    /// Classes in order: a heavy task and the task next in priority share one (§4.3.1), and the one after it, as long as what the
    /// next one waits for is within its share, as it is of a link that carries everything. The task that asks is there, whether
    /// it has other flows or not.
    fn classes(&self, asking: u32, is_heavy: impl Fn(u32) -> bool) -> Vec<BTreeSet<u32>> {
        let mut tasks: BTreeSet<u32> = self.flows.values().map(|(task, ..)| *task).collect();
        tasks.insert(asking);
        let (mut classes, mut joins) = (Vec::<BTreeSet<u32>>::new(), false);
        for task in tasks {
            match classes.last_mut().filter(|_| joins) {
                Some(class) => {
                    class.insert(task);
                }
                None => classes.push(BTreeSet::from([task])),
            }
            joins = is_heavy(task) || joins && task != asking;
        }
        classes
    }

    fn standing(&self, asking: u32, is_heavy: impl Fn(u32) -> bool) -> Standing {
        let classes = self.classes(asking, is_heavy);
        let own = classes.iter().position(|class| class.contains(&asking)).unwrap_or(0);
        let above: Grains =
            classes[..own].iter().map(|class| self.held(|task| class.contains(&task)).demand).sum();
        let class = self.held(|task| classes[own].contains(&task));
        Standing { above, ahead: above, class, own: 0, owed: 0, allocated: self.held(|_| true).allocated }
    }
}

/// A flow, its task, what it demands and is allocated of that, whether it then ends, and the time before.
type Step = (u32, u32, (u64, u64), bool, u64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let rates = (0u64..1000, 0u64..1000);
    prop::collection::vec((0u32..24, 0u32..6, rates, prop::bool::weighted(0.3), 0u64..2_000), 1..200)
}

proptest! {
    #[test]
    fn what_a_flow_finds_is_as_the_paper_says(steps in steps(), lm: bool, threshold in 1_000u64..2_000_000) {
        let order = if lm { Order::FifoLm } else { Order::Fifo };
        // Nobody is silent for too long.
        let mut classifier = Classifier::new(order, Bytes::new(threshold), Time::from_ms(1 << 30));
        let (mut naive, mut now) = (Naive::default(), Time::ZERO);
        for (flow, task, (demand, allocated), ends, us) in steps {
            let step = Time::from_us(us);
            now += step;
            naive.pass_time(step, threshold as f64);
            let (task, last, counted) = naive.flows.remove(&flow).unwrap_or((task, Held::default(), Epoch::NEVER));
            if ends {
                classifier.end(now, (task, flow), counted, last);
            } else {
                let place = classifier.release(now, (task, flow), counted, last);
                // A task is looked at when one of its flows asks: that is when it turns heavy.
                let known: BTreeSet<u32> =
                    classifier.tasks(now).filter(|(.., heavy)| *heavy).map(|(key, ..)| key).collect();
                prop_assert!(known.is_subset(&naive.heavy));
                // Elsewhere nobody asks who is.
                prop_assert_eq!(lm && known.contains(&task), lm && naive.heavy.contains(&task));
                let expected = naive.standing(task, |task| lm && known.contains(&task));
                // What a heavy task keeps is not in the paper: `tests.rs` has it.
                let found = classifier.standing(place, Grains::MAX);
                prop_assert_eq!(Standing { own: 0, owed: 0, ..found }, expected);
                let held = Held::flow(demand, allocated.min(demand));
                naive.flows.insert(flow, (task, held, classifier.count(place, held)));
            }
            let tasks: Vec<u32> = classifier.tasks(now).map(|(key, ..)| key).collect();
            let expected: BTreeSet<u32> = naive.flows.values().map(|(task, ..)| *task).collect();
            prop_assert_eq!(tasks, Vec::from_iter(expected));
        }
        for (flow, (task, held, counted)) in naive.flows {
            classifier.end(now, (task, flow), counted, held);
        }
        prop_assert_eq!(classifier.total(now), Held::default());
        prop_assert_eq!(classifier.tasks(now).count(), 0);
    }
}
