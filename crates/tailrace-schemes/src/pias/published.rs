//! The thresholds that the PIAS authors used, from the run scripts of their ns-2 code
//! (github.com/HKUST-SING/PIAS-NS2), in packets of 1460 bytes, for eight queues.

use tailrace_core::Bytes;

/// The workloads that have a table.
pub(super) const WORKLOADS: [&str; 2] = ["web-search", "data-mining"];

const MSS: u64 = 1460;

type Row = (f64, [u64; 7]);

const WEB_SEARCH: [Row; 5] = [
    (0.5, [1059, 1412, 1643, 1869, 2008, 2115, 2184]),
    (0.6, [956, 1381, 1718, 2028, 2297, 2551, 2660]),
    (0.7, [999, 1305, 1564, 1763, 1956, 2149, 2309]),
    (0.8, [909, 1329, 1648, 1960, 2143, 2337, 2484]),
    (0.9, [759, 1132, 1456, 1737, 2010, 2199, 2325]),
];

const DATA_MINING: [Row; 5] = [
    (0.5, [805, 1106, 1401, 10693, 11970, 21162, 22272]),
    (0.6, [840, 1232, 1617, 11950, 12238, 21494, 25720]),
    (0.7, [907, 1301, 1619, 12166, 12915, 21313, 26374]),
    (0.8, [745, 1083, 1391, 13689, 14936, 21149, 27245]),
    (0.9, [750, 1083, 1416, 13705, 14952, 21125, 28253]),
];

/// The authors' thresholds for a workload, from the row whose load is nearest.
pub fn published(workload: &str, load: f64) -> Option<Vec<Bytes>> {
    let table = match workload {
        "web-search" => &WEB_SEARCH,
        "data-mining" => &DATA_MINING,
        _ => return None,
    };
    let distance = |row: &&Row| (row.0 - load).abs();
    let (_, packets) = table.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    Some(packets.iter().map(|&n| Bytes::new(n * MSS)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_row_is_taken() {
        assert_eq!(published("web-search", 0.62).map(|t| t[0]), Some(Bytes::new(956 * 1460)));
        assert_eq!(published("data-mining", 0.99).map(|t| t[6]), Some(Bytes::new(28253 * 1460)));
        assert_eq!(published("elsewhere", 0.5), None);
    }

    #[test]
    fn all_rows_ascend() {
        for row in WEB_SEARCH.iter().chain(&DATA_MINING) {
            assert!(row.1.is_sorted());
        }
    }
}
