//! Every scheme of the registry on real packets, in a few flows each: that a scheme runs at this level without a line
//! more, and not how fast. How close it is to its simulation, `benches/validate --live` measures.

use tailrace_core::Outcome;
use tailrace_live::Live;
use tailrace_scenario::Scenario;
use tailrace_schemes::NAMES;

use crate::machine::{Failure, live, may_run, some_try_holds};

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
fn fault(outcome: &Outcome) -> Option<String> {
    let unfinished = outcome.flows.iter().find(|flow| flow.fct().is_none() && !flow.stopped);
    let ledger = outcome.ledger.filter(|ledger| ledger.balances() && ledger.injected.packets > 100);
    let late =
        outcome.real_time.as_ref().filter(|real| real.left.count() > 100 && real.entered.count() > 100);
    let strange = outcome.real_time.as_ref().map_or(0, |real| real.frame_counters.strange);
    if let Some(flow) = unfinished {
        return Some(format!("{flow:?} has not finished"));
    }
    let right = outcome.flows.len() == 12 && strange == 0;
    (!right || ledger.is_none() || late.is_none())
        .then(|| format!("{} flows, {strange} strange, {:?}", outcome.flows.len(), outcome.ledger))
}

#[test]
fn every_scheme_of_the_registry_runs_on_real_packets() {
    if !may_run() {
        return;
    }
    for name in NAMES {
        let scenario = Scenario::parse(&format!("scheme = {{ name = \"{name}\" }}\n{SCENARIO}")).unwrap();
        some_try_holds(|| {
            let fault = fault(&live(&scenario, &Live::default())?);
            fault.map_or(Ok(()), |fault| Err(Failure::Fault(format!("{name}: {fault}"))))
        });
    }
}
