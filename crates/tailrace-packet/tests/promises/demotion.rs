//! A flow that has lost its deadline is tagged as one without, and so are its acknowledgements, for good.

use std::cell::RefCell;
use std::rc::Rc;

use tailrace_core::{
    Directive, Facts, FlowInfo, HostId, HostPolicy, Knowledge, Packet, ParamError, PortFacts, Refresh,
    Reveals, Scheme, SeriesSink, Time,
};
use tailrace_workload::FlowSpec;

use crate::setup::{Setup, WithScheme, fabric, flow};

const HOSTS: u32 = 8;
const RECEIVER: u32 = 7;
const PARAMS: &str = r#"
    thresholds = { splitting = ["10KB", "30KB", "100KB", "300KB", "1MB", "3MB"], sieving = ["10KB", "30KB", "100KB", "300KB", "1MB", "3MB"] }
    mcp = { hopeless = "demote" }"#;

/// Seven deadlines of which not even half fit the link.
fn overload() -> Setup {
    let star = fabric(
        r#"kind = "star"
        hosts = 8
        host_rate = "10Gbps"
        host_delay = "20.2us"
        buffer = "360KB""#,
    );
    let deadline = Some(Time::from_ms(2));
    let due =
        |src| FlowSpec { deadline, reveals: Reveals::Deadline, ..flow(src, RECEIVER, 1_000_000, Time::ZERO) };
    Setup::new(star, (0..HOSTS - 1).map(due).collect())
}

/// Priorities of the packets of flow 0 that leave a host, in order.
struct Priorities<'a> {
    setup: &'a Setup,
    host: HostId,
}

impl WithScheme for Priorities<'_> {
    type Output = Vec<u8>;
    fn with<S: Scheme>(self, scheme: S) -> Vec<u8> {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let tap = {
            let seen = Rc::clone(&seen);
            Box::new(move |_, packet: &Packet, _| {
                if packet.flow == 0 {
                    seen.borrow_mut().push(packet.priority);
                }
            })
        };
        self.setup.run_tapped(Restless(scheme), Some((self.host, tap)));
        seen.take()
    }
}

#[test]
fn a_lost_deadline_does_not_come_back_in_data_or_acknowledgements() {
    let setup = overload();
    for host in [0, RECEIVER] {
        let seen = setup.with_scheme("karuna", PARAMS, Priorities { setup: &setup, host });
        let lost = seen.iter().position(|priority| *priority > 0);
        let lost = lost.unwrap_or_else(|| panic!("host {host} never sends below the first queue"));
        assert!(lost > 10, "demoted after {lost} packets");
        assert!(seen[lost..].iter().all(|priority| *priority > 0), "host {host}: {:?}", &seen[lost..]);
    }
}

/// A scheme whose hosts give all their flows their directives anew every 50 µs.
struct Restless<T>(T);

struct RestlessHost<P>(P, Time);

impl<P: HostPolicy> HostPolicy for RestlessHost<P> {
    fn directive(&self, flow: &FlowInfo) -> Directive {
        self.0.directive(flow)
    }
    fn next_wake(&self) -> Option<Time> {
        Some(self.1)
    }
    fn on_wake(&mut self, now: Time, _: &mut dyn SeriesSink) -> Refresh {
        self.1 = now + Time::from_us(50);
        Refresh::All
    }
}

impl<S: Scheme> Scheme for Restless<S> {
    const NAME: &'static str = S::NAME;
    const SUMMARY: &'static str = S::SUMMARY;
    const SOURCE: &'static str = S::SOURCE;
    const KNOWS: Knowledge = S::KNOWS;
    type Params = S::Params;
    type Header = S::Header;
    type Law = S::Law;
    type Host = RestlessHost<S::Host>;
    type Port = S::Port;

    fn new(params: S::Params, facts: &Facts) -> Result<Self, ParamError> {
        S::new(params, facts).map(Restless)
    }
    fn ecn(&self) -> bool {
        self.0.ecn()
    }
    fn law(&self, flow: &FlowInfo) -> S::Law {
        self.0.law(flow)
    }
    fn host(&self) -> RestlessHost<S::Host> {
        RestlessHost(self.0.host(), Time::ZERO)
    }
    fn port(&self, port: &PortFacts) -> S::Port {
        self.0.port(port)
    }
}
