//! Splitting and sieving thresholds together (Karuna, appendix A), by an exact priority-queue model.
//!
//! Flows arrive as Poisson processes at one link. Type 1 (deadlines) is a smooth load ρ_1 above all levels. Of
//! type 2 (sizes known) a flow of size β_{i−1} < x ≤ β_i is served in level i; of type 3 (sizes unknown) a flow
//! is in level i while it has sent between α_{i−1} and α_i bytes. With the link's rate as 1 byte a unit of time,
//!
//! - R_i = ρ_1 + λ_2·E[S_2; S_2 ≤ β_i] + λ_3·E[min(S_3, α_i)], R_0 = ρ_1,
//! - W_i = (λ_2·E[S_2²; S_2 ≤ β_i] + λ_3·E[min(S_3, α_i)²]) / (2·(1 − R_i)),
//! - T(x) = (W_i + x) / (1 − R_{i−1}) for a flow that ends in level i,
//!
//! and the mean of T over types 2 and 3 is to be least. The paper solves a relaxation of its own delay formula;
//! this is the model of `pias` (Kleinrock's multi-level queue) with a second kind of flow beside it.

mod search;
#[cfg(test)]
mod tests;

use tailrace_core::{Bytes, ParamError, SizeDistribution};

/// Flows of one type without deadlines.
#[derive(Clone, Copy, Debug)]
pub struct Kind<'a> {
    /// Their sizes in bytes.
    pub sizes: &'a SizeDistribution,
    /// Their load, as a share of the link.
    pub load: f64,
}

/// What shares a link.
#[derive(Clone, Copy, Debug)]
pub struct Mix<'a> {
    /// Load of flows with deadlines (type 1), as a share of the link.
    pub deadline: f64,
    /// Flows whose sizes are known (type 2).
    pub known: Option<Kind<'a>>,
    /// Flows whose sizes are not known (type 3).
    pub unknown: Option<Kind<'a>>,
}

/// Thresholds and what the model says of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// β: a flow of known size belongs to the first level whose threshold is not below its size. Ascending, one
    /// fewer than levels; those that do not help are at the largest size.
    pub splitting: Vec<Bytes>,
    /// α: a flow of unknown size sinks below a level once it has sent more than its threshold. As above.
    pub sieving: Vec<Bytes>,
    /// Mean completion time of types 2 and 3, in units of one byte's time on the link.
    pub mean: f64,
    /// The share of type 2's bytes that each level carries; all 0 without type 2.
    pub known_shares: Vec<f64>,
    /// The share of type 3's bytes that each level carries; all 0 without type 3.
    pub unknown_shares: Vec<f64>,
}

/// The model of one mix.
pub struct Model<'a> {
    deadline: f64,
    known: Option<Kind<'a>>,
    unknown: Option<Kind<'a>>,
    /// Flows of types 2 and 3 a unit of time.
    flows: f64,
}

/// What one type brings up to a boundary, in flows, bytes and squares of bytes a unit of time.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    /// Flows that end by the boundary, and their bytes.
    flows: f64,
    bytes: f64,
    /// Bytes served by the boundary, λ·E[min(S, α)] for type 3.
    served: f64,
    squares: f64,
}

impl Kind<'_> {
    fn rate(&self) -> f64 {
        self.load / self.sizes.mean()
    }

    /// The share of flows of at most `size` bytes; of size 0 there are none.
    fn share(&self, size: f64) -> f64 {
        if size > 0.0 { self.sizes.cdf(size) } else { 0.0 }
    }

    fn split(&self, beta: f64) -> Moments {
        let bytes = self.rate() * self.sizes.mean_below(beta);
        let squares = self.rate() * self.sizes.square_below(beta);
        Moments { flows: self.rate() * self.share(beta), bytes, served: bytes, squares }
    }

    fn sieved(&self, alpha: f64) -> Moments {
        Moments {
            flows: self.rate() * self.share(alpha),
            bytes: self.rate() * self.sizes.mean_below(alpha),
            served: self.rate() * self.sizes.mean_capped(alpha),
            squares: self.rate() * self.sizes.square_capped(alpha),
        }
    }
}

/// A pair of boundaries (β, α) with all that the cost of a level needs.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Of flows of types 2 and 3, the share that ends by here, and the mean of their bytes.
    share: f64,
    bytes: f64,
    /// 1 − R.
    idle: f64,
    /// W.
    wait: f64,
}

impl Point {
    /// The part of the mean that flows between this pair and `end` bring, if they are one level.
    fn cost_to(&self, end: &Point) -> f64 {
        ((end.share - self.share) * end.wait + end.bytes - self.bytes) / self.idle
    }
}

impl<'a> Model<'a> {
    /// The model of a mix whose loads are below 1 together; a type of load 0 is as good as absent.
    pub fn new(mix: &Mix<'a>) -> Result<Self, ParamError> {
        let load = |kind: Option<Kind>| kind.map_or(0.0, |kind| kind.load);
        for (field, load) in [
            ("deadline load", mix.deadline),
            ("known load", load(mix.known)),
            ("unknown load", load(mix.unknown)),
        ] {
            if !(0.0..1.0).contains(&load) {
                return Err(ParamError::new(field, format!("{load} must be at least 0 and below 1")));
            }
        }
        let total = mix.deadline + load(mix.known) + load(mix.unknown);
        if total >= 1.0 {
            let message = format!("they are {total:.2} together, but must stay below 1");
            return Err(ParamError::new("loads", message));
        }
        let [known, unknown] = [mix.known, mix.unknown].map(|kind| kind.filter(|kind| kind.load > 0.0));
        let flows = [known, unknown].iter().flatten().map(Kind::rate).sum();
        if flows == 0.0 {
            let message =
                "there are no flows without deadlines: give a load of known or unknown sizes above 0";
            return Err(ParamError::new("loads", message));
        }
        Ok(Model { deadline: mix.deadline, known, unknown, flows })
    }

    /// Mean completion time of types 2 and 3, in bytes of link time, with levels ending at `splitting` and
    /// `sieving` (in bytes, ascending, as many of each).
    pub fn mean(&self, splitting: &[f64], sieving: &[f64]) -> f64 {
        let (top, ends) = (self.top(), splitting.iter().copied().zip(sieving.iter().copied()));
        let ends = std::iter::once((0.0, 0.0)).chain(ends).chain([top]);
        let points: Vec<Point> = ends.map(|(beta, alpha)| self.point(beta, alpha)).collect();
        points.windows(2).map(|pair| pair[0].cost_to(&pair[1])).sum()
    }

    /// The largest size of each type; of an absent type that of the other.
    fn top(&self) -> (f64, f64) {
        let max = |kind: Option<Kind>| kind.map(|kind| kind.sizes.max());
        let (known, unknown) = (max(self.known), max(self.unknown));
        (known.or(unknown).unwrap_or(0.0), unknown.or(known).unwrap_or(0.0))
    }

    fn point(&self, beta: f64, alpha: f64) -> Point {
        let split = self.known.map_or(Moments::default(), |kind| kind.split(beta));
        let sieved = self.unknown.map_or(Moments::default(), |kind| kind.sieved(alpha));
        self.join(&split, &sieved)
    }

    fn join(&self, split: &Moments, sieved: &Moments) -> Point {
        let idle = 1.0 - (self.deadline + split.served + sieved.served);
        Point {
            share: (split.flows + sieved.flows) / self.flows,
            bytes: (split.bytes + sieved.bytes) / self.flows,
            idle,
            wait: (split.squares + sieved.squares) / (2.0 * idle),
        }
    }
}
