//! What is remembered of completed flows, and for how long.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Bytes, Time};

use super::sketch::Sketch;

/// How completed flows are forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Forgetting {
    /// A flow counts fully for the window, and then not at all: the list of Algorithm 1.
    #[default]
    Window,
    /// A flow counts e times less after each window, in a sketch of at most 208 sizes.
    Decay,
}

/// What is remembered of completed flows.
#[derive(Clone, Debug)]
pub enum Memory {
    /// (when, size), in order of time: O(1) to add and to prune (§5.2).
    List { window: Time, completed: VecDeque<(Time, Bytes)> },
    /// Of what was seen, `share` is kept from one adjustment to the next.
    Fading { period: Time, share: f64, sketch: Sketch },
}

impl Memory {
    pub fn new(forgetting: Forgetting, period: Time, window: Time) -> Self {
        match forgetting {
            Forgetting::Window => Memory::List { window, completed: VecDeque::new() },
            Forgetting::Decay => {
                let share = libm::exp(-period.as_secs_f64() / window.as_secs_f64());
                Memory::Fading { period, share, sketch: Sketch::new() }
            }
        }
    }

    /// A flow has completed (Algorithm 1, lines 16 to 22).
    #[inline]
    pub fn record(&mut self, now: Time, size: Bytes) {
        match self {
            Memory::List { completed, .. } => completed.push_back((now, size)),
            Memory::Fading { sketch, .. } => sketch.add(size),
        }
    }

    /// Forgets what is too old, before an adjustment (lines 27 to 31).
    pub fn prune(&mut self, now: Time) {
        match self {
            Memory::List { window, completed } => {
                let oldest = now.saturating_sub(*window);
                while completed.front().is_some_and(|(at, _)| *at < oldest) {
                    completed.pop_front();
                }
            }
            Memory::Fading { period, share, sketch } => {
                sketch.pass(period.as_secs_f64());
                sketch.fade(*share);
            }
        }
    }

    /// Sizes, ascending, each with a number of flows.
    pub fn sizes(&self) -> Vec<(Bytes, f64)> {
        match self {
            Memory::List { completed, .. } => {
                let mut sizes: Vec<_> = completed.iter().map(|(_, size)| (*size, 1.0)).collect();
                sizes.sort_unstable_by_key(|(size, _)| *size);
                sizes
            }
            Memory::Fading { sketch, .. } => sketch.sizes().collect(),
        }
    }

    /// See [`Sketch::best_thresholds`].
    pub fn best_thresholds(&self, now: Time, queues: usize, bytes_per_sec: f64) -> Option<Vec<Bytes>> {
        match self {
            Memory::List { window, completed } => {
                let mut sketch = Sketch::new();
                completed.iter().for_each(|(_, size)| sketch.add(*size));
                sketch.pass(now.min(*window).as_secs_f64());
                sketch.best_thresholds(queues, bytes_per_sec)
            }
            Memory::Fading { sketch, .. } => sketch.best_thresholds(queues, bytes_per_sec),
        }
    }

    /// Entries in use.
    pub fn entries(&self) -> usize {
        match self {
            Memory::List { completed, .. } => completed.len(),
            Memory::Fading { sketch, .. } => sketch.sizes().count(),
        }
    }
}
