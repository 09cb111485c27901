//! MapReduce: Chen et al., MASCOTS 2011, from the public trace of Facebook's jobs in 2009.
//!
//! The trace has what jobs shuffle, not the flows that carry it; Uranus says no more than "MapReduce". Here a flow
//! carries what a job shuffles, of the jobs with 1 KB to 100 MB (53 % of those that shuffle at all), at every
//! twentieth quantile. Their mean is 14 358 940 bytes, that of all points in this range 14 397 472 (−0.3 %).

use super::Published;

/// Bytes that jobs shuffle, from 1 KB to 100 MB.
pub(super) const SHUFFLE: Published = Published {
    name: "mapreduce",
    source: "Chen et al. (MASCOTS 2011); SWIMProjectUCB/SWIM FB-2009_samples_24_times_1hr_0.tsv, shuffle bytes from 1 KB to 100 MB",
    points: &[
        (1_000.0, 0.0),
        (2_721.0, 0.05),
        (3_096.0, 0.10),
        (4_929.0, 0.15),
        (14_920.0, 0.20),
        (45_350.0, 0.25),
        (84_390.0, 0.30),
        (156_600.0, 0.35),
        (293_700.0, 0.40),
        (600_600.0, 0.45),
        (1_168_000.0, 0.50),
        (2_272_000.0, 0.55),
        (3_701_000.0, 0.60),
        (6_511_000.0, 0.65),
        (12_060_000.0, 0.70),
        (17_520_000.0, 0.75),
        (24_410_000.0, 0.80),
        (35_360_000.0, 0.85),
        (55_800_000.0, 0.90),
        (77_170_000.0, 0.95),
        (100_000_000.0, 1.0),
    ],
};
