//! Messages between hosts under a scenario's scheme, over its fabric: what proxies carry.

use tailrace_config::ScenarioError;
use tailrace_core::{HEADER_BYTES, HostId, Scheme};
use tailrace_fabric::Fabric;
use tailrace_linux::frame::wire::longest_ip_packet;
use tailrace_linux::{Messages, Messenger, open_socket};
use tailrace_run::{RunError, build};
use tailrace_scenario::Scenario;
use tailrace_schemes::SchemeVisitor;

use crate::emulate::Programs;
use crate::limits;

/// Finds out, before anything runs, whether proxies can carry messages over the scenario's fabric under its scheme. All
/// schemes can but those with a controller for all hosts.
pub fn for_proxies(scenario: &Scenario) -> Result<Programs, ScenarioError> {
    struct Ask<'a>(&'a Scenario);
    impl SchemeVisitor for Ask<'_> {
        type Output = Result<Programs, ScenarioError>;
        fn visit<S: Scheme>(self) -> Self::Output {
            let fabric = self.0.fabric.build();
            scheme::<S>(self.0, &fabric)?;
            let mtu = longest_ip_packet::<S::Header>(self.0.transport.mss);
            Ok(Programs {
                hosts: fabric.hosts,
                mtu,
                tagged: false,
                tolerable_lag: limits::tolerable_lag(&fabric),
            })
        }
    }
    build::visit_for_frames(scenario, Ask(scenario))
}

/// The messages of `host`, in whose network namespace this thread must be.
pub fn messages(scenario: &Scenario, host: HostId) -> Result<Box<dyn Messages>, RunError> {
    struct Open<'a>(&'a Scenario, HostId);
    impl SchemeVisitor for Open<'_> {
        type Output = Result<Result<Box<dyn Messages>, RunError>, ScenarioError>;
        fn visit<S: Scheme>(self) -> Self::Output {
            let Open(scenario, host) = self;
            let fabric = scenario.fabric.build();
            let scheme = scheme::<S>(scenario, &fabric)?;
            let transport = scenario.transport;
            let cell = fabric.load_balancing.packets_per_cell(transport.mss.saturating_add(HEADER_BYTES));
            let messenger = open_socket(host)
                .and_then(|socket| Messenger::new(scheme, socket, host, fabric.hosts, transport, cell));
            Ok(messenger.map(|messenger| Box::new(messenger) as Box<dyn Messages>).map_err(RunError::from))
        }
    }
    build::visit(scenario, Open(scenario, host))?
}

fn scheme<S: Scheme>(scenario: &Scenario, fabric: &Fabric) -> Result<S, ScenarioError> {
    let scheme = build::for_packets::<S>(scenario, fabric)?;
    if scheme.controller().is_none() {
        return Ok(scheme);
    }
    let message = format!(
        "is {}, whose controller is told of every flow of all hosts, and proxies know only their own; choose another scheme",
        S::NAME
    );
    Err(ScenarioError::new("scheme.name", message))
}
