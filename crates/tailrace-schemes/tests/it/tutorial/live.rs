//! The tutorial's scheme on real packets: a scheme that no registry has runs at the live level as it is.

use std::ops::ControlFlow;

use tailrace_core::{Ending, Scheme};
use tailrace_linux::{Driver, Hosts, Limits, Priorities, Wanted, run};
use tailrace_packet::{Watch, World};
use tailrace_scenario::Scenario;
use tailrace_workload::feed::Feed;

use crate::tutorial::sjf::{Params, Sjf};

const SCENARIO: &str = r#"
    scheme = { name = "fifo" } # which is not run
    fabric = { kind = "star", hosts = 4, host_rate = "100Mbps", host_delay = "500us" }
    workload = { sizes = { uniform = ["2KB", "150KB"] }, load = 0.3, flows = 12 }
    transport = { min_rto = "100ms" }
"#;

#[test]
fn the_scheme_runs_on_real_packets() {
    let scenario = Scenario::parse(SCENARIO).unwrap();
    let fabric = scenario.fabric.build();
    let mss = scenario.transport.mss;
    let mtu = tailrace_linux::frame::wire::longest_ip_packet::<<Sjf as Scheme>::Header>(mss);
    let hosts = match Hosts::new(fabric.hosts, mtu, None) {
        Ok(hosts) => hosts,
        Err(error) => {
            tailrace_linux::skip_test(error);
            return;
        }
    };
    let scheme = Sjf::new(Params::default(), &scenario.facts(&fabric)).unwrap();
    let feed = Feed::new(&scenario.workload, &scenario.base, scenario.setting(), scenario.seed).unwrap();
    let world = World::new(scheme, &fabric, scenario.transport, feed, None, Watch::default(), 1).outside();
    let driver = Driver::new(world, &hosts, Priorities::new(None), mss, true, Wanted::Best).unwrap();
    // How late a busy machine is, is not what is tested.
    let limits = Limits { lag: tailrace_core::Time::from_ms(500), stall: tailrace_core::Time::MAX };
    let (outcome, ending) = run(driver, limits, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((ending, outcome.flows.len()), (Ending::Finished, 12));
    assert!(outcome.flows.iter().all(|flow| flow.fct().is_some()));
    assert!(outcome.ledger.unwrap().balances());
}
