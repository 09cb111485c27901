//! Schemes whose flows ask for rates, where flows are so small that what they ask with is as much as they send.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use tailrace_core::{Ending, Outcome};
use tailrace_run::{Unattended, feed, run};
use tailrace_scenario::Scenario;

fn ran(scheme: &str, (gbps, rtt_us, size, load): (u64, u64, u64, f64), count: u32) -> (Outcome, Ending) {
    let text = format!(
        "scheme = {{ name = \"{scheme}\" }}\ntransport = {{ min_rto = \"10ms\" }}\nmeasure = {{ horizon = \"2s\" }}\n\
         [fabric]\nkind = \"star\"\nhosts = 11\nhost_rate = \"{gbps}Gbps\"\nhost_delay = \"{}ns\"\nbuffer = \"150KB\"\n\
         [[workload.task]]\nworkflow = {{ parallel = {{ clients = [0], servers = 3, from = [2, 3, 4, 5, 6, 7, 8] }} }}\n\
         sizes = {{ fixed = \"{size}B\" }}\nload = {load}\ncount = {count}\n",
        rtt_us * 250
    );
    let scenario = Scenario::parse(&text).unwrap();
    run(&scenario, feed(&scenario).unwrap(), &Unattended, Vec::new()).unwrap()
}

/// Under PDQ nothing ended any more where some hundred flows waited: those that found no place on a port's list probed in each
/// round trip, and their probes made a queue that left the port nothing to grant.
#[test]
fn all_flows_end() {
    for scheme in ["pdq", "d3", "rcp", "baraat"] {
        for case in [(1, 10, 1_000, 0.4), (1, 100, 1_000, 0.4), (10, 10, 3_000, 0.5)] {
            let (outcome, ending) = ran(scheme, case, 1500);
            let ended = outcome.flows.iter().filter(|flow| flow.fct().is_some()).count();
            let last = outcome.flows.iter().map(|flow| flow.end).max();
            println!("{scheme} {case:?}: {ended} of {}, the last one at {last:?}", outcome.flows.len());
            assert_eq!((ended, ending), (4500, Ending::Finished), "{scheme}, {case:?}");
        }
    }
}
