//! How windows, α and the queue go over time.

use crate::model::Model;

/// A solved model, sampled evenly.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// When each sample was taken, in seconds.
    pub times: Vec<f64>,
    /// Each flow's window at each time, in packets; 0 before the flow starts.
    pub windows: Vec<Vec<f64>>,
    /// Each flow's α at each time.
    pub alphas: Vec<Vec<f64>>,
    /// The queue at each time, in packets.
    pub queue: Vec<f64>,
}

/// A part of a model in which no flow starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// When it begins, in seconds.
    pub from: f64,
    /// When it ends, in seconds.
    pub to: f64,
    /// What each flow's share of all windows should be in a steady state; 0 for flows that have not started.
    pub steady_shares: Vec<f64>,
}

/// Means and extremes over a part of a trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Each flow's mean window, in packets.
    pub mean_windows: Vec<f64>,
    /// Each mean window as a share of their sum.
    pub shares: Vec<f64>,
    /// The mean queue, in packets.
    pub mean_queue: f64,
    /// The longest queue, in packets.
    pub max_queue: f64,
}

impl Trajectory {
    /// Takes the solver's states apart; its unit of time is the model's `base_rtt`.
    pub(crate) fn new(model: &Model, times: &[f64], states: &[Vec<f64>]) -> Self {
        let flows = model.law.flows();
        let times: Vec<f64> = times.iter().map(|time| time * model.base_rtt).collect();
        let column = |at: usize| states.iter().map(move |state| state[at]);
        let started = |flow: usize, window: f64, at: usize| {
            if model.started(flow, times[at]) { window } else { 0.0 }
        };
        let window =
            |flow: usize| column(flow).enumerate().map(|(at, w)| started(flow, w, at)).collect::<Vec<_>>();
        let alpha = |flow: usize| column(flows + if model.shared_alpha { 0 } else { flow }).collect();
        Trajectory {
            windows: (0..flows).map(window).collect(),
            alphas: (0..flows).map(alpha).collect(),
            // The solver may leave the queue a rounding error below 0.
            queue: column(states.first().map_or(0, Vec::len) - 1).map(|q| q.max(0.0)).collect(),
            times,
        }
    }

    /// Means and extremes over the samples from `from` to `to`, both in seconds and included; `None` without any.
    pub fn summary(&self, from: f64, to: f64) -> Option<Summary> {
        let first = self.times.partition_point(|&time| time < from);
        let last = self.times.partition_point(|&time| time <= to);
        if first >= last {
            return None;
        }
        let mean = |values: &Vec<f64>| values[first..last].iter().sum::<f64>() / (last - first) as f64;
        let mean_windows: Vec<f64> = self.windows.iter().map(mean).collect();
        let total: f64 = mean_windows.iter().sum();
        Some(Summary {
            shares: mean_windows.iter().map(|window| window / total).collect(),
            mean_windows,
            mean_queue: mean(&self.queue),
            max_queue: self.queue[first..last].iter().copied().fold(0.0, f64::max),
        })
    }
}

impl Model {
    /// The parts between one start of flows and the next, in order.
    pub fn phases(&self) -> Vec<Phase> {
        let mut bounds = self.starts.clone();
        bounds.push(self.duration);
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        let phase = |bounds: &[f64]| Phase {
            from: bounds[0],
            to: bounds[1],
            steady_shares: self.steady_shares(bounds[0]),
        };
        bounds.windows(2).map(phase).collect()
    }

    /// The steady state's shares of the flows that have started by `time`.
    fn steady_shares(&self, time: f64) -> Vec<f64> {
        let started = |flow: usize| f64::from(self.starts[flow] <= time);
        let parts: Vec<f64> =
            (0..self.law.flows()).map(|flow| started(flow) * self.law.steady(flow)).collect();
        let total: f64 = parts.iter().sum();
        parts.iter().map(|part| part / total).collect()
    }
}
