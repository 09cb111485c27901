//! Data mining: Greenberg et al., VL2, SIGCOMM 2009.

use super::Published;

const MSS: f64 = 1460.0;

/// In whole packets of 1460 bytes, as pFabric, PIAS, AWAFS and Karuna used it.
pub(super) const PACKETS: Published = Published {
    name: "data-mining",
    source: "VL2 (SIGCOMM 2009); HKUST-SING/PIAS-NS2 CDF_vl2.tcl",
    points: &[
        (MSS, 0.0),
        (MSS, 0.5),
        (2.0 * MSS, 0.6),
        (3.0 * MSS, 0.7),
        (7.0 * MSS, 0.8),
        (267.0 * MSS, 0.9),
        (2107.0 * MSS, 0.95),
        (66667.0 * MSS, 0.99),
        (666667.0 * MSS, 1.0),
    ],
};

/// In bytes.
pub(super) const BYTES: Published = Published {
    name: "data-mining-bytes",
    source: "VL2 (SIGCOMM 2009); HKUST-SING/TrafficGenerator VL2_CDF.txt",
    points: &[
        (0.0, 0.0),
        (180.0, 0.1),
        (216.0, 0.2),
        (560.0, 0.3),
        (900.0, 0.4),
        (1_100.0, 0.5),
        (1_870.0, 0.6),
        (3_160.0, 0.7),
        (10_000.0, 0.8),
        (400_000.0, 0.9),
        (3_160_000.0, 0.95),
        (100_000_000.0, 0.98),
        (1_000_000_000.0, 1.0),
    ],
};
