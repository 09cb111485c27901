//! Facebook: Roy et al., SIGCOMM 2015, fig. 6, as digitised by Homa's authors.
//!
//! These are the main points; Homa's files interpolate between them on a logarithmic axis with many more.
//! Straight lines between few points put more mass at the upper end of each piece, so the means differ from
//! those of the dense files: cache 690 919 against 686 866 bytes (+0.6 %), Hadoop 135 773 against 121 849
//! (+11.4 %, from the piece between 2.2 MB and 10 MB), web server 64 668 against 62 229 (+3.9 %). All begin
//! at 50 bytes, as the dense files do.

use super::Published;

/// Cache follower, within the cluster.
pub(super) const CACHE: Published = Published {
    name: "fb-cache",
    source: "Roy et al. (SIGCOMM 2015) fig. 6; PlatformLab/HomaSimulation Facebook_CacheFollowerDist_IntraCluster.txt, main points",
    points: &[
        (50.0, 0.0),
        (68.0, 0.020),
        (144.0, 0.041),
        (340.0, 0.180),
        (490.0, 0.277),
        (707.0, 0.353),
        (1_110.0, 0.400),
        (2_000.0, 0.437),
        (5_000.0, 0.467),
        (10_000.0, 0.478),
        (28_270.0, 0.500),
        (102_060.0, 0.534),
        (199_933.0, 0.592),
        (326_042.0, 0.658),
        (588_724.0, 0.714),
        (1_503_111.0, 0.723),
        (1_787_361.0, 0.779),
        (2_125_366.0, 0.835),
        (2_329_467.0, 0.872),
        (2_553_169.0, 0.928),
        (2_827_011.0, 0.974),
        (3_260_426.0, 0.994),
        (3_837_698.0, 1.0),
    ],
};

/// Hadoop, all destinations.
pub(super) const HADOOP: Published = Published {
    name: "fb-hadoop",
    source: "Roy et al. (SIGCOMM 2015) fig. 6; PlatformLab/HomaSimulation Facebook_HadoopDist_All.txt, main points",
    points: &[
        (50.0, 0.0),
        (92.0, 0.007),
        (271.0, 0.041),
        (326.0, 0.138),
        (376.0, 0.203),
        (480.0, 0.264),
        (600.0, 0.459),
        (737.0, 0.552),
        (885.0, 0.591),
        (1_534.0, 0.647),
        (3_396.0, 0.684),
        (7_830.0, 0.708),
        (36_844.0, 0.731),
        (51_046.0, 0.816),
        (81_565.0, 0.872),
        (133_013.0, 0.907),
        (212_546.0, 0.935),
        (288_520.0, 0.954),
        (736_642.0, 0.968),
        (2_169_118.0, 0.987),
        (10_000_000.0, 1.0),
    ],
};

/// Web server, within the cluster.
pub(super) const WEB_SERVER: Published = Published {
    name: "fb-webserver",
    source: "Roy et al. (SIGCOMM 2015) fig. 6; PlatformLab/HomaSimulation Facebook_WebServerDist_IntraCluster.txt, main points",
    points: &[
        (50.0, 0.0),
        (84.0, 0.061),
        (153.0, 0.126),
        (301.0, 0.215),
        (900.0, 0.267),
        (1_357.0, 0.335),
        (2_000.0, 0.409),
        (3_000.0, 0.480),
        (5_000.0, 0.563),
        (10_000.0, 0.652),
        (20_000.0, 0.715),
        (50_000.0, 0.782),
        (100_000.0, 0.815),
        (200_000.0, 0.857),
        (300_000.0, 0.922),
        (442_606.0, 0.983),
        (1_000_000.0, 1.0),
    ],
};

/// Hadoop, in HPCC's coarser digitisation.
pub(super) const HADOOP_HPCC: Published = Published {
    name: "fb-hadoop-hpcc",
    source: "Roy et al. (SIGCOMM 2015); alibaba-edu/High-Precision-Congestion-Control FbHdp_distribution.txt",
    points: &[
        (0.0, 0.0),
        (100.0, 0.01),
        (200.0, 0.02),
        (300.0, 0.05),
        (350.0, 0.15),
        (400.0, 0.2),
        (500.0, 0.3),
        (600.0, 0.4),
        (700.0, 0.5),
        (1_000.0, 0.6),
        (2_000.0, 0.67),
        (7_000.0, 0.7),
        (30_000.0, 0.72),
        (50_000.0, 0.82),
        (80_000.0, 0.87),
        (120_000.0, 0.9),
        (300_000.0, 0.95),
        (1_000_000.0, 0.975),
        (2_000_000.0, 0.99),
        (10_000_000.0, 1.0),
    ],
};
