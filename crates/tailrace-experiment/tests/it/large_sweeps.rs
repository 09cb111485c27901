//! What planning a large sweep takes. One test, because it looks at the memory of its process.

use std::path::Path;

use tailrace_experiment::Experiment;

fn with_seeds(count: usize) -> String {
    let seeds: Vec<String> = (1..=count).map(|seed| seed.to_string()).collect();
    format!(
        "[fabric]\npreset = \"spine144\"\n[workload]\nsizes = \"web-search\"\nload = 0.6\nflows = 100\n\
         [[scheme]]\nname = \"pias\"\n[sweep]\nseed = [{}]\n",
        seeds.join(", ")
    )
}

/// What differs in the load is built at each, for a scheme that is quickly built.
fn with_loads(loads: usize, seeds: usize) -> String {
    let values: Vec<String> = (0..loads).map(|n| (0.1 + 0.8 * n as f64 / loads as f64).to_string()).collect();
    let text = with_seeds(seeds).replace("pias", "dctcp");
    format!("{text}\"workload.load\" = [{}]\n", values.join(", "))
}

/// The most memory that this process has had at once, in MB; `None` where the system does not say.
fn peak_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kb| kb / 1024)
}

#[test]
fn a_hundred_thousand_runs_are_planned_and_a_million_refused() {
    for count in [4_000, 20_000, 100_000] {
        let experiment =
            Experiment::from_text(&with_seeds(count), Path::new("x.toml"), &[], &[], 1.0).unwrap();
        assert_eq!(experiment.runs.len(), count);
        assert_eq!(experiment.runs[count - 1].scenario().seed, count as u64);
        assert_eq!(experiment.but_for_seeds().len(), 1);
        if let Some(peak) = peak_mb() {
            eprintln!("{count} seeds: {peak} MB");
            assert!(peak < 200, "{count} seeds: {peak} MB");
        }
    }
    let experiment =
        Experiment::from_text(&with_loads(2_000, 50), Path::new("x.toml"), &[], &[], 1.0).unwrap();
    assert_eq!((experiment.runs.len(), experiment.but_for_seeds().len()), (100_000, 2_000));
    if let Some(peak) = peak_mb() {
        eprintln!("2000 loads, 50 seeds: {peak} MB");
        assert!(peak < 200, "2000 loads, 50 seeds: {peak} MB");
    }
    let error =
        Experiment::from_text(&with_seeds(1_000_000), Path::new("x.toml"), &[], &[], 1.0).unwrap_err();
    assert!(error.to_string().contains("has 1000000 points"), "{error}");
}
