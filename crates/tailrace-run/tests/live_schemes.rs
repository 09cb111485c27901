//! Every scheme of the registry on real packets, in a few flows each: that a scheme runs at this level without a line
//! more, and not how fast. How close it is to its simulation, `benches/validate --live` measures.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use tailrace_core::{Ending, Outcome};
use tailrace_run::{Live, Unattended, feed, run_live};
use tailrace_scenario::Scenario;
use tailrace_schemes::NAMES;

/// Two tenants, for schemes that know of such; the flows of one are due. Round trips are long, so that a machine which is
/// busy is in time all the same.
const SCENARIO: &str = r#"
    level = "live"
    seed = 5
    measure.horizon = "10s"
    [fabric]
    kind = "leaf-spine"
    leaves = 2
    spines = 2
    hosts_per_leaf = 2
    host_rate = "100Mbps"
    spine_rate = "100Mbps"
    host_delay = "1ms"
    spine_delay = "1ms"
    buffer = "200KB"
    [transport]
    min_rto = "100ms"
    [workload]
    load = 0.2
    flows = 12
    [[workload.rule]]
    sizes = { uniform = ["2KB", "150KB"] }
    slice = 1
    [[workload.rule]]
    sizes = { uniform = ["2KB", "150KB"] }
    slice = 2
    deadline = { ideal = { factor = 20.0, base = "50ms" } }
    [[slice]]
    weight = 1
    [[slice]]
    weight = 1
"#;

/// Why the outcome of a run is not what it must be.
fn fault(outcome: &Outcome, ending: Ending) -> Option<String> {
    let unfinished = outcome.flows.iter().find(|flow| flow.fct().is_none() && !flow.stopped);
    let ledger = outcome.ledger.filter(|ledger| ledger.balances() && ledger.injected.packets > 100);
    let late =
        outcome.real_time.as_ref().filter(|real| real.left.count() > 100 && real.entered.count() > 100);
    let strange = outcome.real_time.as_ref().map_or(0, |real| real.strays.strange);
    if let Some(flow) = unfinished {
        return Some(format!("{flow:?} has not finished"));
    }
    let right = ending == Ending::Finished && outcome.flows.len() == 12 && strange == 0;
    (!right || ledger.is_none() || late.is_none()).then(|| {
        format!("{ending:?}, {} flows, {strange} strange, {:?}", outcome.flows.len(), outcome.ledger)
    })
}

#[test]
fn every_scheme_of_the_registry_runs_on_real_packets() {
    let allowed = std::process::Command::new("unshare").args(["--net", "true"]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        tailrace_linux::skip_test("network namespaces need root");
        return;
    }
    let mut faults = Vec::new();
    for name in NAMES {
        let scenario = Scenario::parse(&format!("scheme = {{ name = \"{name}\" }}\n{SCENARIO}")).unwrap();
        let ran = run_live(&scenario, feed(&scenario).unwrap(), &Unattended, &Live::default());
        let fault = match &ran {
            Ok((outcome, ending)) => fault(outcome, *ending),
            Err(error) => Some(error.to_string()),
        };
        faults.extend(fault.map(|fault| format!("{name}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
