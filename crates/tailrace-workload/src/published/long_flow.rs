//! Long flow: Karuna, SIGCOMM 2016, §8.2.

use super::Published;

/// Uniform from 1 KB to 10 MB (decimal; the paper does not say).
pub(super) const LONG_FLOW: Published = Published {
    name: "long-flow",
    source: "Karuna (SIGCOMM 2016) §8.2",
    points: &[(1_000.0, 0.0), (10_000_000.0, 1.0)],
};
