//! How late the driver says that it was, and what it says of packets that never came.

use std::net::UdpSocket;
use std::ops::ControlFlow;
use std::thread::sleep;
use std::time::Duration;

use tailrace_core::{Ending, Outcome};
use tailrace_packet::Watch;
use tailrace_scenario::Scenario;
use tailrace_schemes::fifo::Fifo;
use tailrace_workload::feed::Feed;

use super::tests::{KINDS, NEVER, OTHER, Rig, frame, is_root};
use super::*;
use crate::frame::{ipv4_of, wire};
use crate::run::{Limits, run};

/// What a driver is kept waiting here, and what it may be late beside that.
const NAP: Duration = Duration::from_millis(5);
const NAP_US: u64 = 5_000;
const BUSY_US: u64 = 500_000;

fn is_a_nap(lag: &Lag) -> bool {
    (NAP_US * 1_000..BUSY_US * 1_000).contains(&lag.summary().worst.as_ns())
}

#[test]
fn frames_are_late_in_from_when_they_have_come() {
    if !is_root() {
        return;
    }
    let hosts = Hosts::new(2, 1500, None).unwrap();
    for kind in KINDS {
        let Some(mut rig) = Rig::new(&hosts, kind, NEVER) else { continue };
        // On a machine that is busy the kernel itself may be late to carry one over.
        for _ in 0..20 {
            rig.ends.send_now(0, &frame(&[], OTHER, &[7; 46])).unwrap();
            sleep(NAP);
            assert_eq!(rig.received(1).len(), 1);
            if is_a_nap(rig.driver.entry_lag()) {
                break;
            }
        }
        let (entered, injected) = (rig.driver.entry_lag(), rig.driver.world.ledger().injected.packets);
        assert_eq!(entered.count(), injected, "{kind:?}");
        assert!(is_a_nap(entered), "{kind:?} {entered:?}");
    }
}

#[test]
fn frames_are_late_out_until_they_are_handed_over() {
    if !is_root() {
        return;
    }
    let hosts = Hosts::new(2, 1500, None).unwrap();
    for kind in KINDS {
        let Some(mut rig) = Rig::new(&hosts, kind, NEVER) else { continue };
        rig.ends.send_now(0, &frame(&[], OTHER, &[7; 46])).unwrap();
        let begin = rig.driver.now();
        while rig.driver.leaving[1].frames.is_empty() && rig.driver.now() < begin + super::tests::PATIENCE {
            rig.driver.take_in().unwrap();
            rig.driver.let_happen();
        }
        let before = rig.driver.lag().count();
        sleep(NAP);
        rig.driver.send_off().unwrap();
        assert_eq!(rig.driver.lag().count(), before + 1, "{kind:?}");
        assert!(is_a_nap(rig.driver.lag()), "{kind:?} {:?}", rig.driver.lag());
    }
}

/// Runs a long flow between two hosts up to a horizon, after `first` has been done to the driver.
fn ran(hosts: &Hosts, first: impl FnOnce(&mut Driver<'_, Fifo>)) -> Result<(Outcome, Ending), LiveError> {
    let text = "[fabric]\nkind = \"star\"\nhosts = 2\nhost_rate = \"100Mbps\"\nhost_delay = \"250us\"\n\
         [workload]\nsizes = { fixed = \"9MB\" }\narrivals = \"once\"\nflows = 1\npattern = \"pairs\"\nfrom = [0]\nto = [1]\n\
         [measure]\nhorizon = \"100ms\"\n[scheme]\nname = \"fifo\"\n";
    let scenario = Scenario::parse(text).unwrap();
    let fabric = scenario.fabric.build();
    let scheme = Fifo::new(Default::default(), &scenario.facts(&fabric)).unwrap();
    let feed = Feed::new(&scenario.workload, &scenario.base, scenario.setting(), 1).unwrap();
    let (horizon, watch) = (scenario.measure.horizon, Watch::default());
    let world = World::new(scheme, &fabric, scenario.transport, feed, horizon, watch, 1).outside();
    let mut driver = Driver::new(world, hosts, Priorities::new(None), 1460, true, Wanted::Best)?;
    first(&mut driver);
    let limits = Limits { lag: Time::from_ms(500), stall: Time::MAX };
    run(driver, limits, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn a_run_that_ends_at_its_horizon_knows_what_was_lost_beside_the_fabric() {
    if !is_root() {
        return;
    }
    let hosts = Hosts::new(2, 1500, None).unwrap();
    let (outcome, ending) = ran(&hosts, |_| ()).unwrap();
    let real_time = outcome.real_time.unwrap();
    assert_eq!(ending, Ending::Horizon);
    assert!(outcome.ledger.unwrap().balances() && outcome.flows.of(0).fct().is_none());
    assert!(real_time.entered.count() > 500 && real_time.left.count() > 500, "{real_time:?}");
    assert_eq!(real_time.frame_counters.strange, 0);
    // As if one had been sent that did not come.
    let lost = |driver: &mut Driver<'_, Fifo>| driver.endpoints.iter_mut().for_each(|ends| ends.sent += 1);
    let error = ran(&hosts, lost).unwrap_err().to_string();
    assert!(error.contains("1 packets were lost between hosts and fabric, 0 between fabric and"), "{error}");
}

#[test]
fn what_a_transport_does_not_understand_is_counted() {
    if !is_root() {
        return;
    }
    let hosts = Hosts::new(2, 1500, None).unwrap();
    let send = |_: &mut Driver<'_, Fifo>| {
        let send = || {
            let socket = UdpSocket::bind((ipv4_of(0), 0))?;
            (0..3).try_for_each(|_| socket.send_to(b"hello", (ipv4_of(1), wire::PORT)).map(drop))
        };
        hosts.namespace(0).inside(send).unwrap();
    };
    let (outcome, _) = ran(&hosts, send).unwrap();
    assert_eq!(outcome.real_time.unwrap().frame_counters.strange, 3);
}
