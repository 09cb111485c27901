//! Published flow-size tables, as `(size in bytes, cumulative probability)` points with
//! linear interpolation between them; a repeated size is an atom.

mod data_mining;
mod facebook;
mod long_flow;
mod mapreduce;
mod table;
mod web_search;

pub use table::Published;

/// All tables.
pub fn list() -> &'static [Published] {
    &[
        web_search::PACKETS,
        data_mining::PACKETS,
        web_search::BYTES,
        data_mining::BYTES,
        facebook::CACHE,
        facebook::HADOOP,
        facebook::WEB_SERVER,
        facebook::HADOOP_HPCC,
        long_flow::LONG_FLOW,
        mapreduce::SHUFFLE,
        mapreduce::INPUT,
    ]
}

/// The table of that name.
pub fn find(name: &str) -> Option<&'static Published> {
    list().iter().find(|table| table.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_the_checked_ones() {
        // Integrated by hand; for the Facebook tables the mean of their main points.
        for (name, mean) in [
            ("web-search", 1_665_830.8),
            ("data-mining", 7_470_236.0),
            ("web-search-bytes", 1_711_250.0),
            ("data-mining-bytes", 12_658_198.6),
            ("fb-cache", 690_919.4),
            ("fb-hadoop", 135_772.7),
            ("fb-webserver", 64_667.8),
            ("fb-hadoop-hpcc", 120_420.8),
            ("long-flow", 5_000_500.0),
            ("mapreduce", 14_358_940.25),
            ("data-analytics", 5133108154.8),
        ] {
            let found = find(name).unwrap().distribution().mean();
            assert!((found - mean).abs() < 0.1, "{name}: {found} instead of {mean}");
        }
        assert_eq!(list().len(), 11);
        let packets = find("web-search").unwrap().distribution().mean() / 1460.0;
        assert!((packets - 1140.98).abs() < 0.01);
    }
}
