//! Web search: Alizadeh et al., DCTCP, SIGCOMM 2010.

use super::Published;

const MSS: f64 = 1460.0;

/// In whole packets of 1460 bytes, as pFabric, PIAS, AWAFS and Karuna used it.
pub(super) const PACKETS: Published = Published {
    name: "web-search",
    source: "DCTCP (SIGCOMM 2010); HKUST-SING/PIAS-NS2 CDF_dctcp.tcl",
    points: &[
        (6.0 * MSS, 0.0),
        (6.0 * MSS, 0.15),
        (13.0 * MSS, 0.2),
        (19.0 * MSS, 0.3),
        (33.0 * MSS, 0.4),
        (53.0 * MSS, 0.53),
        (133.0 * MSS, 0.6),
        (667.0 * MSS, 0.7),
        (1333.0 * MSS, 0.8),
        (3333.0 * MSS, 0.9),
        (6667.0 * MSS, 0.97),
        (20000.0 * MSS, 1.0),
    ],
};

/// Rounded to bytes, as HPCC and many ns-3 studies use it.
pub(super) const BYTES: Published = Published {
    name: "web-search-bytes",
    source: "DCTCP (SIGCOMM 2010); HKUST-SING/TrafficGenerator DCTCP_CDF.txt, the same in HPCC's WebSearch_distribution.txt",
    points: &[
        (0.0, 0.0),
        (10_000.0, 0.15),
        (20_000.0, 0.2),
        (30_000.0, 0.3),
        (50_000.0, 0.4),
        (80_000.0, 0.53),
        (200_000.0, 0.6),
        (1_000_000.0, 0.7),
        (2_000_000.0, 0.8),
        (5_000_000.0, 0.9),
        (10_000_000.0, 0.97),
        (30_000_000.0, 1.0),
    ],
};
