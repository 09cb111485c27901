//! The papers' claims, by what was measured: each says where it is from, stands as its file says, and can fail.

use std::path::{Path, PathBuf};

use tailrace_experiment::{Claim, Deviation, Experiment, Standing, Wrong};

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
        (_, Some(deviation)) if widest(claim, value) < farthest(deviation, value) => {
            return Some(format!("may be anywhere in {:?}, though {value} was measured", deviation.within));
        }
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

/// How far a deviation may be from what was measured before it is noticed: 1.6 times what chance does over seeds;
/// six hundredths of a change, or an eighth of the number, where that is more or there is one seed.
fn widest(claim: &Claim, value: f64) -> f64 {
    let spread = claim.measured.and_then(|record| record.spread).unwrap_or(0.0);
    let change = if claim.number.against.is_some() { 0.06 } else { 0.0 };
    (1.6 * spread).max(change).max(0.125 * value.abs())
}

/// How far the bounds of a deviation are from what was measured.
fn farthest(deviation: &Deviation, value: f64) -> f64 {
    let [low, high] = deviation.within;
    (value - low).max(high - value)
}

/// Whether a claim was only tried with its sides exchanged. Whoever is lower than another one is higher the other way round, so
/// that this cannot fail where no more than a direction is claimed.
fn is_only_exchanged(claim: &Claim) -> bool {
    let Some(Wrong::Number(wrong)) = &claim.wrong else { return false };
    let number = &claim.number;
    let schemes = wrong.of.as_ref().is_some_and(|of| Some(of) == number.against.as_ref())
        && wrong.against.as_ref() == Some(&number.of)
        && Some(&number.of) != number.against.as_ref();
    let points =
        wrong.at.is_some() && wrong.at == number.against_at && wrong.against_at.as_ref() == Some(&number.at);
    schemes || points
}

/// Whether what is wrong is something beside itself, of which the change is 0 whatever is measured.
fn is_beside_itself(claim: &Claim) -> bool {
    let Some(Wrong::Number(wrong)) = &claim.wrong else { return false };
    let same = wrong.of.is_some() && wrong.of == wrong.against;
    same && claim.measured.is_some_and(|record| record.wrong == Some(0.0))
}

/// Whether what is wrong is the same scheme, of other flows or elsewhere.
fn is_no_rival(claim: &Claim) -> bool {
    let Some(Wrong::Number(wrong)) = &claim.wrong else { return false };
    let rival =
        wrong.of.is_some() || wrong.against.is_some() || wrong.at.is_some() || wrong.against_at.is_some();
    (wrong.class.is_some() || wrong.place.is_some()) && !rival
}

/// Claims for which no rival was measured that could pass. None may be added.
const EXCHANGED_AT_MOST: usize = 17;
const NO_RIVAL_AT_MOST: usize = 8;

#[test]
fn few_claims_are_only_tried_with_other_flows_or_places() {
    let claims = |file: &PathBuf| Experiment::read(file, &[], 1.0).unwrap().claims;
    let found = files().unwrap().iter().flat_map(claims).filter(is_no_rival).count();
    assert!(found <= NO_RIVAL_AT_MOST, "{found} claims");
}

#[test]
fn few_claims_are_only_tried_with_their_sides_exchanged() {
    let mut exchanged = Vec::new();
    for file in files().unwrap() {
        let experiment = Experiment::read(&file, &[], 1.0).unwrap();
        for claim in &experiment.claims {
            assert!(!is_beside_itself(claim), "{}: {}", experiment.name, claim.id);
        }
        let found = experiment.claims.iter().filter(|claim| is_only_exchanged(claim));
        exchanged.extend(found.map(|claim| format!("{}: {}", experiment.name, claim.id)));
    }
    println!(
        "{} claims were only tried with their sides exchanged:\n{}",
        exchanged.len(),
        exchanged.join("\n")
    );
    assert!(exchanged.len() <= EXCHANGED_AT_MOST, "{} claims:\n{}", exchanged.len(), exchanged.join("\n"));
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
