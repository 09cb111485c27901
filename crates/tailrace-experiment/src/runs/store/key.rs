//! What a run's folder is called: its scenario and the build that made it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tailrace_scenario::{Level, Scenario};

use crate::build::{BUILD, build_of};

/// The key of a run: of its scenario, which knows the content of every file that it names, and of the build.
/// Both decide what the run leaves, and nothing else does.
pub fn run_key(scenario: &Scenario) -> String {
    format!("{}-{}", scenario.key(), build_of(scenario.level == Level::Live))
}

/// The build that a key names.
pub(super) fn build(key: &str) -> Option<&str> {
    key.split_once('-').map(|(_, build)| build)
}

/// A line about what other builds have made, in the folder `runs`, of the runs with these keys, if they have.
pub(super) fn of_other_builds<'a>(runs: &Path, keys: impl Iterator<Item = &'a str>) -> Option<String> {
    let folders =
        fs::read_dir(runs).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let own = [build_of(false), build_of(true)];
    // Versions without builds in their keys left folders that have the scenario's name alone.
    let of_others = folders.filter_map(|name| match name.split_once('-') {
        Some((scenario, build)) => (!own.iter().any(|own| own == build)).then(|| scenario.to_owned()),
        None => Some(name),
    });
    let of_others: Vec<String> = of_others.collect();
    if of_others.is_empty() {
        return None;
    }
    let wanted: BTreeSet<&str> = keys.filter_map(|key| Some(key.split_once('-')?.0)).collect();
    match of_others.iter().filter(|scenario| wanted.contains(scenario.as_str())).count() {
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
        let keys = scenarios.each_ref().map(run_key);
        let note = || of_other_builds(dir.path(), keys.iter().map(String::as_str));
        let make = |name: &str| fs::create_dir(dir.path().join(name)).unwrap();
        assert_eq!(of_other_builds(&dir.path().join("nowhere"), keys.iter().map(String::as_str)), None);
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
