//! What a run's folder is called: its scenario and the build that made it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tailrace_scenario::Scenario;

use crate::BUILD;

/// The key of a run: of its scenario, which knows the content of every file that it names, and of the build.
/// Both decide what the run leaves, and nothing else does.
pub fn run_key(scenario: &Scenario) -> String {
    format!("{}-{BUILD}", scenario.key())
}

/// A line about those runs in the folder `runs` that other builds made of `scenarios`, if there are any.
pub(super) fn of_other_builds(runs: &Path, scenarios: impl Iterator<Item = Scenario>) -> Option<String> {
    let folders =
        fs::read_dir(runs).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    // Versions without builds in their keys left folders that have the scenario's name alone.
    let of_others = folders.filter_map(|name| match name.split_once('-') {
        Some((scenario, build)) => (build != BUILD).then(|| scenario.to_owned()),
        None => Some(name),
    });
    let of_others: Vec<String> = of_others.collect();
    if of_others.is_empty() {
        return None;
    }
    let wanted: BTreeSet<String> = scenarios.map(|scenario| scenario.key()).collect();
    match of_others.iter().filter(|scenario| wanted.contains(*scenario)).count() {
        0 => None,
        count => Some(format!(
            "{count} kept run{} of another build of Tailrace {} not used; what this build makes is beside, in \
             runs/*-{BUILD}",
            if count == 1 { "" } else { "s" },
            if count == 1 { "is" } else { "are" },
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(load: f64) -> Scenario {
        let text = format!(
            "fabric = {{ preset = \"micro4\" }}\nscheme = {{ name = \"fifo\" }}\n\
             workload = {{ sizes = \"web-search\", flows = 10, load = {load} }}\n"
        );
        Scenario::parse(&text).unwrap()
    }

    #[test]
    fn runs_of_other_builds_are_counted_by_scenario() {
        let dir = tempfile::tempdir().unwrap();
        let scenarios = [scenario(0.3), scenario(0.5)];
        let note = || of_other_builds(dir.path(), scenarios.iter().cloned());
        let make = |name: &str| fs::create_dir(dir.path().join(name)).unwrap();
        assert_eq!(of_other_builds(&dir.path().join("nowhere"), scenarios.iter().cloned()), None);
        make(&run_key(&scenarios[0]));
        make(&format!("{}-0123456789abcdef", scenario(0.7).key()));
        make(".tmp-1");
        assert_eq!(note(), None);
        make(&format!("{}-0123456789abcdef", scenarios[0].key()));
        let text = note().unwrap();
        assert!(text.starts_with("1 kept run of another build of Tailrace is not used"), "{text}");
        make(&scenarios[1].key());
        let text = note().unwrap();
        assert!(text.starts_with("2 kept runs of another build of Tailrace are not used"), "{text}");
    }
}
