//! The papers' claims, by what was measured: each says where it is from, stands as its file says, and can fail.

use std::path::{Path, PathBuf};

use tailrace_experiment::{Claim, Experiment, Standing};

/// All files of the papers' experiments.
fn files() -> std::io::Result<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut files = Vec::new();
    for paper in ["awafs", "baraat", "karuna", "uranus"] {
        for file in std::fs::read_dir(root.join(paper))? {
            files.extend(Some(file?.path()).filter(|path| path.extension().is_some_and(|e| e == "toml")));
        }
    }
    files.sort();
    Ok(files)
}

/// What is wrong with a claim.
fn fault(claim: &Claim) -> Option<String> {
    if claim.source.is_empty() {
        return Some("does not say where it is from".into());
    }
    let Some(verdict) = claim.judge_record() else { return Some("says nothing of what was measured".into()) };
    let value = verdict.measured.value.unwrap_or(f64::NAN);
    match (verdict.standing, &claim.deviation) {
        (Some(Standing::Holds), Some(_)) => {
            return Some(format!("holds with {value}, though it declares a deviation"));
        }
        (Some(Standing::Holds), None) => {}
        _ if !claim.is_declared(value) => return Some(format!("neither holds with {value} nor declares it")),
        (_, Some(deviation)) if deviation.reason.is_empty() => return Some("gives no reason".into()),
        _ => {}
    }
    // That nothing changes is no rival: all that deviates passes beside it.
    if claim.wrong.is_none() {
        return Some("names nothing that is wrong".into());
    }
    match verdict.holds_for_wrong {
        // Seeds do not part it from what is wrong either.
        _ if verdict.standing == Some(Standing::Undecided) => None,
        Some(false) => None,
        Some(true) => Some(format!("holds for what is wrong too: {:?}", claim.wrong)),
        None => Some("has no record of what is wrong".into()),
    }
}

#[test]
fn claims_name_their_source_stand_as_declared_and_fail_for_what_is_wrong() {
    let mut faults = Vec::new();
    for file in files().unwrap() {
        let experiment = Experiment::read(&file, &[], 1.0).unwrap();
        let found = experiment.claims.iter().filter_map(|claim| Some((claim, fault(claim)?)));
        faults
            .extend(found.map(|(claim, fault)| format!("{}: claim {}: {fault}", experiment.name, claim.id)));
    }
    assert!(faults.is_empty(), "{} claims:\n{}", faults.len(), faults.join("\n"));
}
