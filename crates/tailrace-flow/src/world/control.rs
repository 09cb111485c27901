//! The scheme's controller, and its weights on their way to the hosts.

use std::collections::{BTreeMap, VecDeque};

use tailrace_core::{Bytes, Controller, FlowId, FlowInfo, Time, WeightUpdate};

use super::{CONTROL, World};
use crate::solver::BundleId;

/// A controller, with what it has sent out.
pub(super) struct Control {
    controller: Box<dyn Controller>,
    /// Updates by when they arrive; all take equally long, so they are in order.
    on_their_way: VecDeque<(Time, WeightUpdate)>,
    /// The bundle of each flow, which has one of its own.
    bundles: BTreeMap<FlowId, BundleId>,
    /// Updates that have reached a flow in progress.
    heard: u64,
}

impl Control {
    pub(super) fn heard(&self) -> u64 {
        self.heard
    }
}

impl World<'_> {
    /// Lets `controller` give flows their weights.
    pub fn controlled(mut self, controller: Option<Box<dyn Controller>>) -> Self {
        self.control = controller.map(|controller| Control {
            controller,
            on_their_way: VecDeque::new(),
            bundles: BTreeMap::new(),
            heard: 0,
        });
        self
    }

    /// A flow begins to send.
    pub(super) fn report_start(&mut self, flow: &FlowInfo, bundle: BundleId) {
        if let Some(control) = &mut self.control {
            control.bundles.insert(flow.id, bundle);
            control.controller.on_flow_start(self.now, flow);
            self.arm_control();
        }
    }

    /// A flow has ended.
    pub(super) fn report_end(&mut self, flow: FlowId) {
        if let Some(control) = &mut self.control {
            control.bundles.remove(&flow);
            control.controller.on_flow_end(self.now, flow);
            self.arm_control();
        }
    }

    fn arm_control(&mut self) {
        let Some(control) = &self.control else { return };
        let arrival = control.on_their_way.front().map_or(Time::MAX, |(at, _)| *at);
        let due = arrival.min(control.controller.next_wake());
        if due < Time::MAX {
            self.schedule.wake(CONTROL, due.max(self.now));
        }
    }

    /// Weights arrive, or the controller looks at its flows.
    pub(super) fn wake_control(&mut self) {
        let now = self.now;
        let Some(mut control) = self.control.take() else { return };
        while let Some(&(at, update)) = control.on_their_way.front()
            && at <= now
        {
            control.on_their_way.pop_front();
            if let Some(&bundle) = control.bundles.get(&update.flow) {
                control.heard += 1;
                self.give_weight(bundle, update.weight.get());
            }
        }
        if control.controller.next_wake() <= now {
            let mut fresh = Vec::new();
            let (world, of) = (&*self, &control.bundles);
            let delivered = |flow: FlowId| {
                let Some(&bundle) = of.get(&flow) else { return Bytes::ZERO };
                let size = world.records.of(flow).size;
                let part = world.bundles[bundle as usize].served_by(now, &world.clocks)
                    / world.wire_bytes(size) as f64;
                Bytes::new((size.as_f64() * part) as u64)
            };
            control.controller.on_wake(now, &delivered, &mut fresh);
            let arrival = now + control.controller.delay();
            control.on_their_way.extend(fresh.into_iter().map(|update| (arrival, update)));
        }
        self.control = Some(control);
        self.arm_control();
    }

    fn give_weight(&mut self, bundle: BundleId, weight: f64) {
        let level = self.bundles[bundle as usize].level(&self.clocks);
        self.bundles[bundle as usize].weigh(weight);
        self.bundles[bundle as usize].set_level(self.now, &self.clocks, level);
        self.resize(bundle);
        // Its level may stay what it was.
        self.arm(bundle);
    }
}
