//! What a finished experiment looks like on a terminal, and as JSON.

use std::path::{Path, PathBuf};

use serde_json::json;
use tailrace_config::ScenarioError;
use tailrace_core::duration;
use tailrace_experiment::{Claim, Error, Experiment, Finished, LiveSide, Results};
use tailrace_fabric::Fabric;
use tailrace_scenario::{Level, LiveLevel};
use tailrace_workload::Offered;

/// What a user should know of results beside the results.
pub fn warnings(experiment: &Experiment, results: &Results) -> String {
    nothing_note(experiment, results) + &stall_note(results) + &control_note(results)
}

/// How late live runs were, and what their hosts did not understand; empty if there are none.
pub fn lateness_note(results: &Results) -> String {
    let live: Vec<LiveSide> = results.runs.iter().filter_map(|run| run.summary.live).collect();
    if live.is_empty() {
        return String::new();
    }
    let most = |of: fn(&LiveSide) -> f64| duration(live.iter().map(of).fold(0.0, f64::max));
    let strange: u64 = live.iter().map(|live| live.strays.strange).sum();
    let not_understood =
        format!("live: {strange} datagrams came to hosts' transports that are none of theirs\n");
    format!(
        "live: in each run 99 % of the packets left less than {} late, and the latest {}; half of them came in less than {} \
         late, 99 % less than {}, and the latest {}\n{}",
        most(|live| live.lateness.p99),
        most(|live| live.lateness.worst),
        most(|live| live.entry_lateness.median),
        most(|live| live.entry_lateness.p99),
        most(|live| live.entry_lateness.worst),
        if strange > 0 { &not_understood } else { "" },
    )
}

/// A warning for each scheme under which flows got nothing any more.
fn stall_note(results: &Results) -> String {
    let of = by_scheme(results, |run| run.summary.is_stalled());
    let warning = |runs: &[&str]| {
        format!(
            "warning: {}: {} of its runs {} ended because flows in progress got nothing any more; they count as \
             unfinished\n",
            runs[0],
            runs.len(),
            if runs.len() == 1 { "was" } else { "were" }
        )
    };
    of.chunk_by(|a, b| a == b).map(warning).collect()
}

/// The schemes of such runs, each as often as there are some.
fn by_scheme(results: &Results, such: impl Fn(&Finished) -> bool) -> Vec<&str> {
    let mut schemes: Vec<&str> =
        results.runs.iter().filter(|run| such(run)).map(|run| run.scheme.as_str()).collect();
    schemes.sort_unstable();
    schemes
}

/// A warning if runs that are about flows, not about series in time, have measured none.
fn nothing_note(experiment: &Experiment, results: &Results) -> String {
    if experiment.runs.iter().any(|run| run.but_for_seed().measure.sample_every.is_some()) {
        return String::new();
    }
    let empty = |run: &&Finished| run.summary.classes.iter().all(|class| class.flows == 0);
    match results.runs.iter().filter(empty).count() {
        0 => String::new(),
        count => format!(
            "warning: {count} of {} runs have measured nothing: no flow started between measure.warmup and the end\n",
            results.runs.len()
        ),
    }
}

/// A warning for each scheme whose controller has changed nothing in some runs.
pub fn control_note(results: &Results) -> String {
    let schemes = by_scheme(results, |run| run.summary.updates == Some(0));
    let warning = |runs: &[&str]| {
        format!(
            "warning: {}: in {} of its runs no update of the controller has reached a flow: flows kept the weights \
             that they began with; either all ended before (see the controller's delay and slot), or none was its \
             concern\n",
            runs[0],
            runs.len()
        )
    };
    schemes.chunk_by(|a, b| a == b).map(warning).collect()
}

/// What schemes and scenarios ask for that their level cannot express, a line each.
pub fn level_notes(experiment: &Experiment) -> Result<String, ScenarioError> {
    let mut notes: Vec<String> = Vec::new();
    let mut seen: Vec<(&str, Level, LiveLevel, Vec<String>)> = Vec::new();
    for (scenario, _) in experiment.but_for_seeds() {
        let label = scenario.scheme.label();
        let asked = (label, scenario.level, scenario.live.clone(), scenario.without_effect());
        if seen.contains(&asked) {
            continue;
        }
        let left_out = tailrace_run::leaves_out(scenario)?;
        let level = match scenario.level {
            Level::Packet => "packet",
            Level::Flow => "flow",
            Level::Live => "live",
        };
        let much = (scenario.level == Level::Live).then(|| crate::live::asks_for_much(scenario)).flatten();
        let what = left_out.iter().chain(&much);
        notes.extend(what.map(|what| format!("note: {label} at {level} level: {what}\n")));
        seen.push(asked);
    }
    Ok(notes.concat())
}

/// That a list of flows offers more than a link carries, if it does.
pub fn overload(offered: &Offered, fabric: &Fabric) -> Option<String> {
    let (port, load) = offered.busiest();
    (load > 1.0).then(|| {
        format!(
            "overload: the flow list offers {load:.2} times what the link {} carries; its queue grows as long as flows start, \
             so completion times say how long the list is: take a faster fabric",
            fabric.port_name(port)
        )
    })
}

/// Lists that offer more than a link carries, a line each.
pub fn overload_notes(experiment: &Experiment) -> String {
    let mut notes: Vec<String> = Vec::new();
    for (scenario, _) in experiment.but_for_seeds() {
        let Some(offered) = &scenario.workload.offered else { continue };
        notes.extend(overload(offered, &scenario.fabric.build()).map(|what| format!("warning: {what}\n")));
    }
    notes.dedup();
    notes.concat()
}

/// What gave way to the scale, one line each.
pub fn scale_note(experiment: &Experiment) -> String {
    if experiment.scale >= 1.0 {
        return String::new();
    }
    let changes: Vec<String> =
        experiment.scaled_fields.iter().map(|g| format!("  {}: {} → {}", g.field, g.from, g.to)).collect();
    format!("scale {} of the paper's:\n{}\n", experiment.scale, changes.join("\n"))
}

/// A path as JSON can say it: bytes that are no UTF-8 are replaced.
pub fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Paths as [`path_text`] says them.
pub fn paths_text(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path_text(path)).collect()
}

/// The whole summary as one document.
pub fn json(
    experiment: &Experiment,
    results: &Results,
    plots: &[PathBuf],
) -> Result<serde_json::Value, Error> {
    let runs: Vec<_> = results
        .runs
        .iter()
        .map(|run| {
            let point: serde_json::Map<String, serde_json::Value> =
                run.point.axes().map(|(axis, value)| (axis.to_owned(), json!(value))).collect();
            json!({ "run": run.key, "scheme": run.scheme, "point": point, "folder": path_text(&run.dir), "summary": run.summary })
        })
        .collect();
    let judged = |claim: &Claim| Ok(json!({ "claim": claim, "verdict": claim.judge(results)? }));
    let claims = experiment.claims.iter().map(judged).collect::<Result<Vec<_>, Error>>()?;
    Ok(json!({
        "experiment": experiment.name, "title": experiment.title, "source": experiment.source,
        "scale": experiment.scale, "runs": runs, "claims": claims, "plots": paths_text(plots),
    }))
}

#[cfg(test)]
mod tests {
    use tailrace_experiment::{Point, Summary};

    use super::*;

    #[test]
    fn runs_that_were_given_up_are_told() {
        let run = |scheme: &str, ended: &str| Finished {
            scheme: scheme.into(),
            point: Point::default(),
            key: String::new(),
            dir: PathBuf::new(),
            summary: Summary { ended: ended.into(), ..Summary::default() },
            resumed: false,
        };
        let note = |runs| stall_note(&Results { runs });
        assert_eq!(note(vec![run("tcp", "finished"), run("tcp", "horizon")]), "");
        let runs =
            ["tcp", "pdq", "tcp", "tcp"].into_iter().zip(["stalled", "stalled", "finished", "stalled"]);
        let text = note(runs.map(|(scheme, ended)| run(scheme, ended)).collect());
        let told: Vec<&str> = text.lines().map(|line| line.split(" because").next().unwrap()).collect();
        assert_eq!(told, ["warning: pdq: 1 of its runs was ended", "warning: tcp: 2 of its runs were ended"]);
    }
}
