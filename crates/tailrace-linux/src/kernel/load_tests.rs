//! The load generator without a fabric: hosts joined by a bridge.

use nix::sys::socket::{setsockopt, sockopt};
use tailrace_core::{FlowRecord, HostId, TagTable};
use tailrace_scenario::Scenario;

use super::tags::Tags;
use super::*;

/// Tags nothing.
struct Plain;

impl Tagger for Plain {
    fn tags(&self, _: &FlowRecord) -> Tags {
        Tags { data: TagTable::FLAT, acks: 0 }
    }
    fn ended(&mut self, _: Time, _: &FlowRecord) {}
    fn next_wake(&self) -> Option<Time> {
        None
    }
    fn wake(&mut self, _: Time) -> Vec<HostId> {
        Vec::new()
    }
}

/// What becomes of a flow that is far from its end when its destination resets the connection.
fn after_a_reset(hosts: &Hosts, scenario: &Scenario) -> Result<(), LiveError> {
    let feed = tailrace_workload::feed::Feed::new(&scenario.workload, &scenario.base, scenario.setting(), 1);
    let flows = Flows { feed: feed.unwrap(), gamma: None, tagger: Box::new(|| Box::new(Plain)) };
    let terms = Terms::new(&scenario.transport, false, None);
    terms.apply(hosts)?;
    let mut load = Load::new(hosts, &terms, flows)?;
    while !load.get_ready(LONGEST_SLEEP)? {}
    let clock = Clock::start()?;
    load.turn(&clock, Time::ZERO)?;
    assert_eq!(load.counts(), (1, 0));
    let receiver = load.take_receiver(0).unwrap();
    setsockopt(&receiver, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 }).unwrap();
    drop(receiver);
    while !load.is_over() && clock.now() < LONGEST_SETUP {
        load.turn(&clock, LONGEST_SLEEP)?;
    }
    Ok(())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the generator goes from one namespace to another")]
fn a_connection_that_is_reset_in_the_middle_of_a_flow_is_told() {
    if !nix::unistd::geteuid().is_root() {
        crate::skip_test("network namespaces need root");
        return;
    }
    let text = "scheme = { name = \"fifo\" }\nfabric = { kind = \"star\", hosts = 2, host_rate = \"1Gbps\" }\n\
         workload = { sizes = { fixed = \"900MB\" }, arrivals = \"once\", flows = 1, pattern = \"pairs\", from = [0], to = [1] }";
    let scenario = Scenario::parse(text).unwrap();
    let hosts = Hosts::new(2, 1500, None).unwrap();
    hosts.join_by_bridge().unwrap();
    let told = thread::scope(|scope| scope.spawn(|| after_a_reset(&hosts, &scenario)).join()).unwrap();
    let said = told.unwrap_err().to_string();
    assert!(
        said.starts_with("the TCP connection from host 0 to host 1 broke: Connection reset by peer"),
        "{said}"
    );
}
