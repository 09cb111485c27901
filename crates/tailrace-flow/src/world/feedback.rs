//! Rates on their way to those who are to send by them.

use std::collections::VecDeque;

use tailrace_core::{FlowId, Time};

use super::{FEEDBACK, World};
use crate::solver::BundleId;

/// Rates that take effect some time after they were worked out. All are late by as much, so what is in effect was worked out
/// for one instant, less those who have gone since: it fits the links.
#[derive(Default)]
pub(super) struct Feedback {
    delay: Time,
    /// In order of time: when, whose rate, and the level. Numbers of bundles come again, those of flows do not.
    on_their_way: VecDeque<(Time, BundleId, FlowId, f64)>,
}

impl Feedback {
    /// Whether rates take effect at once.
    pub(super) fn is_instant(&self) -> bool {
        self.delay == Time::ZERO
    }
}

impl World<'_> {
    /// Has rates take effect so long after they were worked out.
    pub fn with_feedback_delay(mut self, delay: Time) -> Self {
        self.feedback.delay = delay;
        self
    }

    /// A bundle is to have another level, once it has heard.
    pub(super) fn tell(&mut self, bundle: BundleId, level: f64) {
        if self.feedback.is_instant() {
            return self.take_effect(bundle, level);
        }
        if let Some((flow, _)) = self.bundles[bundle as usize].only(self.now, &self.clocks) {
            let at = self.now.saturating_add(self.feedback.delay);
            self.feedback.on_their_way.push_back((at, bundle, flow.flow, level));
            self.schedule.wake(FEEDBACK, at);
        }
    }

    /// Levels arrive.
    pub(super) fn hear(&mut self) {
        while let Some(&(at, bundle, flow, level)) = self.feedback.on_their_way.front() {
            if at > self.now {
                return self.schedule.wake(FEEDBACK, at);
            }
            self.feedback.on_their_way.pop_front();
            let only = self.bundles[bundle as usize].only(self.now, &self.clocks);
            if only.is_some_and(|(there, _)| there.flow == flow) {
                self.take_effect(bundle, level);
            }
        }
    }

    fn take_effect(&mut self, bundle: BundleId, level: f64) {
        self.leave_clock(bundle);
        self.bundles[bundle as usize].set_level(self.now, &self.clocks, level);
        self.arm(bundle);
    }
}
