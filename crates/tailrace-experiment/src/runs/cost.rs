//! What a run will cost, before it starts.

use tailrace_scenario::{Level, Scenario};

/// Flows whose ways are looked at.
const LOOKED_AT: usize = 1000;

/// Packet-hops that a scenario takes, roughly: mean bytes of its flows in full packets and an acknowledgement
/// for each, over the mean length of the ways that its first flows take. `None` for flow lists, traces and where
/// nothing says when flows stop to start.
pub fn packet_hops(scenario: &Scenario) -> Option<f64> {
    if scenario.level == Level::Flow
        || scenario.workload.flow_list.is_some()
        || scenario.workload.coflow_trace.is_some()
    {
        return None;
    }
    let bytes = scenario.plan().ok()?.expected_bytes()?.min(carried(scenario));
    let transport = &scenario.transport;
    let packets = bytes / f64::from(transport.mss) * (1.0 + 1.0 / f64::from(transport.ack_every));
    let fabric = scenario.fabric.build();
    let ways: Vec<usize> = tailrace_run::feed(scenario)
        .ok()?
        .take(LOOKED_AT)
        .map(|flow| fabric.hops_between(flow.src, flow.dst))
        .collect();
    (!ways.is_empty()).then(|| packets * ways.iter().sum::<usize>() as f64 / ways.len() as f64)
}

/// Flows that a scenario has, roughly; `None` for lists and traces, and where nothing says when flows stop to start.
pub fn flows(scenario: &Scenario) -> Option<f64> {
    scenario.plan().ok()?.expected_flows()
}

/// Bytes that the tightest tier of links carries at most until the run is stopped.
fn carried(scenario: &Scenario) -> f64 {
    let fabric = &scenario.fabric;
    let rate = f64::from(fabric.hosts()) * fabric.host_rate().bytes_per_sec();
    let seconds = scenario.measure.horizon.map_or(f64::INFINITY, |horizon| horizon.as_secs_f64());
    rate * seconds / fabric.oversubscription().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hops_of(scenario: &Scenario) -> u64 {
        let (outcome, _) = tailrace_run::run(
            scenario,
            tailrace_run::feed(scenario).unwrap(),
            &tailrace_run::Unattended,
            Vec::new(),
        )
        .unwrap();
        outcome.packet_hops()
    }

    #[test]
    fn the_estimate_is_near_what_a_run_takes() {
        let text = r#"
            [fabric]
            preset = "spine144"
            leaves = 2
            [workload]
            sizes = { fixed = "146KB" }
            load = 0.4
            flows = 2000
            [scheme]
            name = "dctcp"
        "#;
        let scenario = Scenario::parse(text).unwrap();
        let (estimate, taken) = (packet_hops(&scenario).unwrap(), hops_of(&scenario));
        assert!((estimate / taken as f64 - 1.0).abs() < 0.05, "{estimate} for {taken}");
        let endless = text.replace("flows = 2000", "duration = \"2ms\"");
        let scenario = Scenario::parse(&endless).unwrap();
        let (estimate, taken) = (packet_hops(&scenario).unwrap(), hops_of(&scenario));
        assert!((estimate / taken as f64 - 1.0).abs() < 0.2, "{estimate} for {taken}");
    }

    #[test]
    fn flows_of_rules_and_tasks_are_foreseen() {
        let foreseen = |workload: &str| {
            let text =
                format!("[fabric]\npreset = \"tree5x4\"\n[scheme]\nname = \"dctcp\"\n[workload]\n{workload}");
            flows(&Scenario::parse(&text).unwrap())
        };
        let rule = "sizes = { fixed = \"10KB\" }\nload = 0.1\nflows = 30\n";
        let tasks = "[[workload.task]]\nsizes = { fixed = \"40KB\" }\nload = 0.1\ncount = 5\n\
                     workflow = { partition-aggregate = { workers = 3 } }\n";
        assert_eq!(foreseen(rule), Some(30.0));
        assert_eq!(foreseen(tasks), Some(15.0));
        assert_eq!(foreseen(&format!("{rule}{tasks}")), Some(45.0));
    }

    #[test]
    fn a_run_that_is_stopped_costs_what_links_carry_until_then() {
        let text = r#"
            [fabric]
            preset = "fattree64"
            [workload]
            sizes = { fixed = "100GB" }
            pattern = "other-racks"
            destinations = 2
            arrivals = "once"
            [measure]
            horizon = "20ms"
            [scheme]
            name = "dctcp"
        "#;
        let scenario = Scenario::parse(text).unwrap();
        let (estimate, taken) = (packet_hops(&scenario).unwrap(), hops_of(&scenario));
        let ratio = estimate / taken as f64;
        assert!((0.8..1.6).contains(&ratio), "{estimate} for {taken}");
    }
}
