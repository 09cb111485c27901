//! One published flow-size table.

use tailrace_core::SizeDistribution;

/// A published flow-size table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The name in `sizes = "…"`.
    pub name: &'static str,
    /// The paper it stems from and the public file its points were taken from.
    pub source: &'static str,
    pub(super) points: &'static [(f64, f64)],
}

impl Published {
    /// Its distribution.
    pub fn distribution(&self) -> SizeDistribution {
        SizeDistribution::new(self.points.to_vec()).expect("published tables are valid")
    }
}
