//! Draws flow sizes, rounded as a rule says.

use tailrace_config::ScenarioError;
use tailrace_core::random::Stream;
use tailrace_core::{Bytes, SizeDistribution};

use super::sizes::Round;
use super::{Rule, shapes};

/// Draws flow sizes.
#[derive(Clone, Debug)]
pub struct Sampler {
    pub(crate) distribution: SizeDistribution,
    pub(crate) round: Round,
    pub(crate) mss: u16,
}

impl Sampler {
    /// A size for a flow.
    pub fn draw(&self, stream: &mut Stream) -> Bytes {
        let size = self.distribution.quantile(stream.unit());
        match self.round {
            Round::Byte => Bytes::new((size.round() as u64).max(1)),
            Round::Packet => {
                let mss = u64::from(self.mss);
                Bytes::new((size.ceil() as u64).max(1).div_ceil(mss).saturating_mul(mss))
            }
        }
    }

    /// Mean of the sizes drawn, in bytes.
    pub fn mean(&self) -> f64 {
        match self.round {
            Round::Byte => self.distribution.mean(),
            Round::Packet => shapes::mean_in_packets(&self.distribution, f64::from(self.mss)),
        }
    }
}

impl Rule {
    /// What draws the rule's sizes.
    pub(super) fn sampler(&self, mss: u16) -> Result<Sampler, ScenarioError> {
        let distribution = self.sizes.distribution().map_err(|error| error.within("sizes"))?;
        // Segment numbers have 32 bits.
        let largest = f64::from(mss) * f64::from(u32::MAX);
        if distribution.max() > largest {
            let message = format!(
                "has flows of {} bytes, but {largest} are the most that a flow may have",
                distribution.max()
            );
            return Err(ScenarioError::new("sizes", message));
        }
        Ok(Sampler { distribution, round: self.round, mss })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published;

    #[test]
    fn drawn_sizes_have_the_mean_and_the_rounding() {
        let mut stream = Stream::new(3, "test", 0);
        for round in [Round::Byte, Round::Packet] {
            let distribution = published::find("fb-cache").unwrap().distribution();
            let sampler = Sampler { distribution, round, mss: 1460 };
            let drawn: Vec<Bytes> = (0..200_000).map(|_| sampler.draw(&mut stream)).collect();
            let mean = drawn.iter().map(|size| size.as_f64()).sum::<f64>() / drawn.len() as f64;
            assert!((mean / sampler.mean() - 1.0).abs() < 0.01, "{round:?}: {mean}");
            assert!(drawn.iter().all(|size| round == Round::Byte || size.get() % 1460 == 0));
        }
        let all_zero = SizeDistribution::new(vec![(0.0, 0.999), (1.0, 1.0)]).unwrap();
        let sampler = Sampler { distribution: all_zero, round: Round::Byte, mss: 1460 };
        assert!((0..100).all(|_| sampler.draw(&mut stream) == Bytes::new(1)));
    }
}
