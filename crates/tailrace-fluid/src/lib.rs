//! Fluid models of window laws with marking: many long flows over one bottleneck, as delay differential
//! equations (Uranus Eq. 12; the model of DCTCP of Alizadeh et al., 2011, with weights).
//!
//! ```text
//! W_i' = a_i/R − W_i·α_i·b_i·p(t − R*)/R        R(t) = d + q/C
//! α_i' = g/R·(p(t − R*) − α_i)                  p(t) = 1 if q(t) > K else 0
//! q'   = ΣW_i/R − C, and q ≥ 0                  R*   = d + K/C, or d
//! ```
//!
//! with `a`, `b` from the [`Law`]. Windows and queues are in packets, times in seconds. No I/O: a [`Model`] goes
//! in, a [`Trajectory`] comes out.

mod equations;
mod model;
mod trajectory;

pub use equations::FluidError;
pub use model::{Lag, Law, Model, uniform_windows};
pub use trajectory::{Phase, Summary, Trajectory};
