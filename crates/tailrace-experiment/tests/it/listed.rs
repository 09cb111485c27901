//! What schemes plan with for a list of flows is what they would plan with for the traffic that it was taken from.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tailrace_core::SizeDistribution;
use tailrace_experiment::{Experiment, Override, write_flows};
use tailrace_schemes::pias::model;
use tailrace_workload::{Sizes, published};

const RACK: &str = "[fabric]\npreset = \"rack16\"\n";
const SCHEMES: &str =
    "[[scheme]]\nname = \"pias\"\n[[scheme]]\nname = \"karuna\"\n[[scheme]]\nname = \"awafs\"\n";

fn published_sizes(name: &str) -> SizeDistribution {
    let table = published::find(name).expect("a published workload");
    Sizes::Published(table).distribution().expect("its table is one")
}

fn read(folder: &Path, workload: &str) -> Result<Experiment, String> {
    let file = folder.join("own.toml");
    fs::write(&file, format!("{RACK}{workload}\n{SCHEMES}")).expect("the folder is there");
    Experiment::read(&file, &[] as &[Override], 1.0).map_err(|error| error.to_string())
}

/// A list whose sizes are the quantiles of a distribution, on links that are loaded alike.
fn listed(folder: &Path, sizes: &str, load: f64) -> String {
    let distribution = published_sizes(sizes);
    let count = 40_000_u32;
    // Each of 16 links of 1 Gbps has so many bytes a second.
    let gap_ns = 1e9 * distribution.mean() * 1500.0 / 1460.0 / (16.0 * load * 0.125e9);
    let mut list = "src,dst,size_bytes,start_ns\n".to_owned();
    for flow in 0..count {
        // 16,381 has no factor in common with the count, so that all quantiles are met, in an order that is none.
        let share = (f64::from(flow * 16_381 % count) + 0.5) / f64::from(count);
        let (size, start) =
            (distribution.quantile(share).round().max(1.0), (f64::from(flow) * gap_ns).round());
        writeln!(list, "{},{},{size},{start}", flow % 16, (flow + 1) % 16).expect("strings can be written");
    }
    fs::write(folder.join("flows.csv"), list).expect("the folder is there");
    "[workload]\nflow_list = \"flows.csv\"".to_owned()
}

#[test]
fn thresholds_are_those_of_the_true_distribution() {
    for (sizes, load) in [("web-search", 0.6), ("data-mining", 0.4)] {
        let folder = tempfile::tempdir().unwrap();
        let rules = format!("[workload]\nsizes = \"{sizes}\"\nload = {load}\nflows = 10");
        let truth = read(folder.path(), &rules).unwrap().runs[0].scenario().traffic().unwrap();
        let workload = listed(folder.path(), sizes, load);
        let found = read(folder.path(), &workload).unwrap().runs[0].scenario().traffic().unwrap();
        assert!((found.load / truth.load - 1.0).abs() < 0.01, "{sizes}: {} {}", found.load, truth.load);
        assert!((found.sizes.mean() / truth.sizes.mean() - 1.0).abs() < 2e-3, "{sizes}");
        let model = model::Model::new(&truth.sizes, truth.load);
        for queues in [2, 4, 8] {
            let [best, own] = [&truth, &found].map(|of| model::optimal(&of.sizes, of.load, queues));
            let bytes: Vec<f64> = own.thresholds.iter().map(|bytes| bytes.get() as f64).collect();
            assert!(model.mean(&bytes) < 1.001 * best.mean, "{sizes}, {queues} queues");
            for (here, there) in own.thresholds.iter().zip(&best.thresholds) {
                // With two queues the optimum is flat, and the grid of sizes has steps of 3 %.
                let off = (here.get() as f64 / there.get() as f64 - 1.0).abs();
                assert!(
                    off < if queues == 2 { 0.03 } else { 0.02 },
                    "{sizes}, {queues} queues: {here} for {there}"
                );
            }
        }
    }
}

/// What a run of rules would have been is written down, and read again: the schemes are built for it.
#[test]
fn lists_of_both_forms_offer_what_the_rules_do() {
    let folder = tempfile::tempdir().unwrap();
    let rules = "[workload]\nsizes = { lognormal = { median = \"30KB\", sigma = 1.0, max = \"1MB\" } }\nload = 0.5\nflows = 20000";
    let scenario = read(folder.path(), rules).unwrap().runs[0].scenario();
    let truth = scenario.traffic().unwrap();
    for form in ["flows.csv", "flows.parquet"] {
        let flows = tailrace_experiment::exported_flows(&scenario).unwrap();
        write_flows(&folder.path().join(form), flows).unwrap();
        let list = format!("[workload]\nflow_list = \"{form}\"");
        let found = read(folder.path(), &list).unwrap().runs[0].scenario().traffic().unwrap();
        assert!((found.load / truth.load - 1.0).abs() < 0.03, "{} {}", found.load, truth.load);
        assert!((found.sizes.mean() / truth.sizes.mean() - 1.0).abs() < 0.03);
        assert_eq!(found.classes.len(), 1);
    }
}

#[test]
fn a_list_that_offers_too_much_is_planned_for_what_links_carry() {
    let folder = tempfile::tempdir().unwrap();
    let flows: String = (0..1000).map(|n| format!("{},0,125000,{}\n", 1 + n % 3, n * 500_000)).collect();
    fs::write(folder.path().join("flows.csv"), format!("src,dst,size_bytes,start_ns\n{flows}")).unwrap();
    let scenario = read(folder.path(), "[workload]\nflow_list = \"flows.csv\"").unwrap().runs[0].scenario();
    let offered = scenario.workload.offered.as_ref().unwrap();
    assert!((offered.load - 2.0 * 1500.0 / 1460.0).abs() < 1e-9, "{}", offered.load);
    assert_eq!(scenario.traffic().unwrap().load, 0.95);
    assert!((scenario.traffic().unwrap().classes[0].load - 0.95).abs() < 1e-12);
}

#[test]
fn what_starts_at_once_still_needs_thresholds() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("flows.csv"), "src,dst,size_bytes,start_ns\n0,1,10,5\n1,2,10,5\n").unwrap();
    let error = read(folder.path(), "[workload]\nflow_list = \"flows.csv\"").unwrap_err();
    assert!(error.contains("scheme[0].params.thresholds") && error.contains("give a list"), "{error}");
}
