//! The equations, and their solution by Dormand and Prince's method with the solution's own history for delayed
//! values (crate `differential-equations`). The unit of time here is d, so that nothing depends on the user's.

use differential_equations::prelude::*;
use differential_equations::solout::TEvalSolout;
use tailrace_core::ParamError;

use crate::model::Model;
use crate::trajectory::Trajectory;

/// A model without a trajectory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FluidError {
    /// A field that cannot be used.
    #[error(transparent)]
    Input(#[from] ParamError),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The solver gave up.
    #[error("the equations could not be solved: {0}")]
    Solver(String),
}

/// Longest step, in units of d: a tenth, as in the authors' MATLAB code. Below the lag, so that delayed values
/// always lie in the past, and short against the oscillation, which takes several lags.
const LONGEST_STEP: f64 = 0.1;
/// Largest error of a step: relative, and in packets.
const TOLERANCE: f64 = 1e-8;

/// The right-hand sides. The state is every W, then every α (or the one), then q.
struct Equations<'a> {
    model: &'a Model,
    /// Capacity in packets per d.
    capacity: f64,
    lag: f64,
    starts: Vec<f64>,
    alphas: usize,
}

impl<'a> Equations<'a> {
    fn new(model: &'a Model) -> Self {
        let d = model.base_rtt;
        Equations {
            model,
            capacity: model.capacity * d,
            lag: model.lag_seconds() / d,
            starts: model.starts.iter().map(|start| start / d).collect(),
            alphas: if model.shared_alpha { 1 } else { model.law.flows() },
        }
    }

    fn initial(&self) -> Vec<f64> {
        let mut state = self.model.initial_windows.clone();
        state.resize(state.len() + self.alphas, self.model.initial_alpha);
        state.push(0.0);
        state
    }

    /// p, smooth enough for a solver.
    fn marked(&self, queue: f64) -> f64 {
        1.0 / (1.0 + libm::exp((self.model.threshold - queue) / self.model.mark_width))
    }
}

impl DDE<1, f64, Vec<f64>> for Equations<'_> {
    /// Uranus Eq. 12. A flow that has not started keeps its first window and α and sends nothing.
    fn diff(&self, now: f64, y: &Vec<f64>, then: &[Vec<f64>; 1], dydt: &mut Vec<f64>) {
        let flows = self.starts.len();
        let queue_at = flows + self.alphas;
        let marked = self.marked(then[0][queue_at]);
        let round_trip = 1.0 + y[queue_at].max(0.0) / self.capacity;
        let alpha_at = |flow| flows + if self.alphas == 1 { 0 } else { flow };
        let mut sent = 0.0;
        dydt.fill(0.0);
        for flow in (0..flows).filter(|&flow| self.starts[flow] <= now) {
            let (window, alpha) = (y[flow], y[alpha_at(flow)]);
            let (growth, cut) = (self.model.law.growth(flow), self.model.law.cut(flow));
            dydt[flow] = (growth - window * alpha * cut * marked) / round_trip;
            dydt[alpha_at(flow)] = self.model.gain * (marked - alpha) / round_trip;
            sent += window / round_trip;
        }
        let surplus = sent - self.capacity;
        dydt[queue_at] = if y[queue_at] <= 0.0 { surplus.max(0.0) } else { surplus };
    }

    fn lags(&self, _: f64, _: &Vec<f64>, lags: &mut [f64; 1]) {
        lags[0] = self.lag;
    }
}

/// Takes samples, and stops the solver if the caller asks for it.
struct Sampling<'a> {
    samples: TEvalSolout<f64>,
    interrupted: &'a dyn Fn() -> bool,
    steps: u32,
}

impl Solout<f64, Vec<f64>> for Sampling<'_> {
    fn solout<I>(
        &mut self,
        now: f64,
        before: f64,
        state: &Vec<f64>,
        state_before: &Vec<f64>,
        between: &mut I,
        solution: &mut Solution<f64, Vec<f64>>,
    ) -> ControlFlag<f64, Vec<f64>>
    where
        I: Interpolation<f64, Vec<f64>> + ?Sized,
    {
        // A step takes about a microsecond; asking may cost more.
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(1024) && (self.interrupted)() {
            return ControlFlag::Terminate;
        }
        self.samples.solout(now, before, state, state_before, between, solution)
    }
}

impl Model {
    /// Solves the equations from an empty queue on.
    pub fn solve(&self) -> Result<Trajectory, FluidError> {
        self.solve_unless(&|| false)
    }

    /// As [`Model::solve`], but gives up once `interrupted` says so.
    pub fn solve_unless(&self, interrupted: &dyn Fn() -> bool) -> Result<Trajectory, FluidError> {
        self.check()?;
        let equations = Equations::new(self);
        let (end, every) = (self.duration / self.base_rtt, self.sample_every / self.base_rtt);
        let samples = (end / every * (1.0 + 1e-12)) as usize;
        let times: Vec<f64> = (0..=samples).map(|i| (i as f64 * every).min(end)).collect();
        let before = equations.initial();
        let method = ExplicitRungeKutta::dopri5()
            .rtol(TOLERANCE)
            .atol(TOLERANCE)
            .h0(LONGEST_STEP / 10.0)
            .h_max(LONGEST_STEP)
            // The history is searched from its oldest value on: no more of it than needed.
            .max_delay(equations.lag + LONGEST_STEP)
            .max_steps(usize::MAX);
        let sampling = Sampling { samples: TEvalSolout::new(times, 0.0, end), interrupted, steps: 0 };
        let solution = IVP::dde(&equations, 0.0, end, before.clone(), move |_| before.clone())
            .solout(sampling)
            .method(method)
            .solve()
            .map_err(|error| FluidError::Solver(format!("{error:?}")))?;
        match solution.status {
            Status::Interrupted => Err(FluidError::Interrupted),
            _ => Ok(Trajectory::new(self, &solution.t, &solution.y)),
        }
    }
}
