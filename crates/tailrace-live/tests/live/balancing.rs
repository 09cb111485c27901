//! What the switches' load balancing makes of real frames: each uplink carries what it carries of simulated packets.

use tailrace_core::Outcome;
use tailrace_fabric::Fabric;
use tailrace_live::Live;
use tailrace_run::{Unattended, feed, run};
use tailrace_scenario::Scenario;

use crate::machine::{Failure, live, may_run, some_try_holds};

/// Two racks, three spines, and flows that all cross over.
const SCENARIO: &str = r#"
    level = "live"
    seed = 3
    scheme.name = "dctcp"
    [transport]
    min_rto = "100ms"
    [workload]
    sizes = { uniform = ["40KB", "150KB"] }
    load = 0.3
    flows = 16
    pattern = "pairs"
    from = [0, 1]
    to = [2, 3]
    [fabric]
    kind = "leaf-spine"
    leaves = 2
    spines = 3
    hosts_per_leaf = 2
    host_rate = "100Mbps"
    spine_rate = "100Mbps"
    delay = "250us"
    buffer = "200KB"
"#;

/// Packets of each uplink.
fn uplinks(fabric: &Fabric, outcome: &Outcome) -> Vec<u64> {
    let name = |port| fabric.port_name(port);
    let is_uplink = |port| name(port).starts_with("leaf") && name(port).contains("->spine");
    (0..)
        .zip(&outcome.ports)
        .filter(|(port, _)| is_uplink(*port))
        .map(|(_, port)| port.sent.packets)
        .collect()
}

#[test]
fn uplinks_carry_what_they_carry_of_simulated_packets_under_every_load_balancing() {
    if !may_run() {
        return;
    }
    // Where a way depends on nothing but the packet, or on those before it, the packets of each uplink are nearly the same:
    // acknowledgements may be of more or fewer. A random way, and one that depends on pauses, is another one each time.
    for (balancing, off) in [
        ("\"ecmp\"", 0.02),
        ("\"spray\"", 0.02),
        ("\"spray-random\"", 0.3),
        ("\"flowcell\"\nflowcell_size = \"15KB\"", 0.02),
        ("\"flowlet\"\nflowlet_gap = \"5ms\"", 1.0),
    ] {
        let text = format!("{SCENARIO}\nload_balancing = {balancing}");
        let scenario = Scenario::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let simulated = Scenario { level: tailrace_scenario::Level::Packet, ..scenario.clone() };
        let simulated = run(&simulated, feed(&simulated).unwrap(), &Unattended, Vec::new()).unwrap().0;
        let fabric = scenario.fabric.build();
        let expected = uplinks(&fabric, &simulated);
        assert_eq!(expected.len(), 6);
        some_try_holds(|| {
            let outcome = live(&scenario, &Live::default())?;
            let got = uplinks(&fabric, &outcome);
            let near = |(got, expected): (&u64, &u64)| {
                got.abs_diff(*expected) as f64 <= off * *expected as f64 + 3.0
            };
            let of_all = [&got, &expected].map(|uplinks| uplinks.iter().sum::<u64>());
            let right = outcome.flows.iter().all(|flow| flow.fct().is_some())
                && (off >= 1.0 || got.iter().zip(&expected).all(near))
                && of_all[0].abs_diff(of_all[1]) * 50 <= of_all[1];
            let message = format!("{balancing}: {got:?} live, {expected:?} simulated");
            if right { Ok(()) } else { Err(Failure::Fault(message)) }
        });
    }
}
