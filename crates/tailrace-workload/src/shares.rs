//! Rules that share a load, by flows or by bytes.

use tailrace_config::{ScenarioError, table};
use toml::{Table, Value};

use super::rule::check_load;

/// How rules may share a load.
const SHARES: [&str; 2] = ["flow_share", "byte_share"];

/// Thirds are written with few digits.
const SHARE_TOLERANCE: f64 = 2e-3;

/// All rules must have shares of one kind, and these must add up to 1.
fn check_shares(kind: &str, rules: &[Table]) -> Result<(), ScenarioError> {
    let other = |rule: &Table| SHARES.into_iter().find(|other| *other != kind && rule.contains_key(*other));
    if let Some((number, other)) = rules.iter().enumerate().find_map(|(n, rule)| Some((n, other(rule)?))) {
        let message = format!("give all rules a {kind} or all a {other}: shares are of bytes or of flows");
        return Err(ScenarioError::new(format!("rule[{number}].{other}"), message));
    }
    if let Some(number) = rules.iter().position(|rule| !rule.contains_key(kind)) {
        let message = "is missing; if one rule has such a share, all must";
        return Err(ScenarioError::new(format!("rule[{number}].{kind}"), message));
    }
    let number = |value: &Value| value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
    let shares: Option<Vec<f64>> = rules.iter().map(|rule| number(&rule[kind])).collect();
    // What is no number is found when the rule is read.
    let sum: f64 = shares.map_or(1.0, |shares| shares.iter().sum());
    if (sum - 1.0).abs() <= SHARE_TOLERANCE {
        return Ok(());
    }
    let message = format!("adds up to {sum:.4} over all rules, but must add up to 1");
    Err(ScenarioError::new(format!("rule[0].{kind}"), message))
}

/// If rules have shares of flows or bytes, the workload's load is theirs together and not a default for each.
pub(super) fn take_shared_load(defaults: &mut Table, rules: &[Table]) -> Result<Option<f64>, ScenarioError> {
    if let Some(kind) = SHARES.into_iter().find(|kind| defaults.contains_key(*kind)) {
        return Err(ScenarioError::new(kind, "belongs into each [[workload.rule]]"));
    }
    let used = |kind: &&str| rules.iter().any(|rule| rule.contains_key(*kind));
    let Some(kind) = SHARES.into_iter().find(used) else { return Ok(None) };
    check_shares(kind, rules)?;
    let load = match defaults.remove("load") {
        Some(Value::Float(load)) => load,
        Some(Value::Integer(load)) => load as f64,
        Some(other) => {
            return Err(ScenarioError::new(
                "load",
                format!("must be a number, not {}", table::kind_of(&other)),
            ));
        }
        None => {
            return Err(ScenarioError::new("load", "is missing; shares need the load of all rules together"));
        }
    };
    check_load(load)?;
    Ok(Some(load))
}
