//! A scenario's fabric between hosts that run whatever programs they like.

use std::ops::ControlFlow;

use tailrace_agent::plain_header;
use tailrace_config::ScenarioError;
use tailrace_core::{HEADER_BYTES, LiveError, Outcome, PortId, PortPlace, Scheme, Time, View};
use tailrace_fabric::Fabric;
use tailrace_linux::{Driver, Hosts, Priorities, Wanted};
use tailrace_run::{RunError, build, packets};
use tailrace_scenario::{SamplePorts, Scenario};
use tailrace_schemes::SchemeVisitor;
use tailrace_workload::feed::Feed;

use crate::limits::tolerable_lag;
use crate::record::Live;

/// What hosts with programs must know of a scenario's fabric.
#[derive(Clone, Debug)]
pub struct Programs {
    /// How many hosts there are.
    pub hosts: usize,
    /// The longest IP packet.
    pub mtu: usize,
    /// Whether the scheme's hosts tag packets, as programs on these hosts do not by themselves.
    pub tagged: bool,
    /// If more than one frame in a hundred is later than this, times say more of the machine than of the scheme.
    pub tolerable_lag: Time,
}

impl Programs {
    pub(crate) fn new<S: Scheme>(scheme: &S, scenario: &Scenario, fabric: &Fabric) -> Self {
        let plan = scheme.switch_plan(fabric.host_rate());
        let tagged = plan.is_some_and(|plan| plan.queues.len() > 1);
        let mtu = usize::from(scenario.transport.mss + HEADER_BYTES);
        Programs { hosts: fabric.hosts, mtu, tagged, tolerable_lag: tolerable_lag(fabric) }
    }
}

/// Finds out, before anything runs, whether the packets of programs can go through the scenario's fabric under its
/// scheme.
pub fn for_programs(scenario: &Scenario) -> Result<Programs, ScenarioError> {
    struct Ask<'a>(&'a Scenario);
    impl SchemeVisitor for Ask<'_> {
        type Output = Result<Programs, ScenarioError>;
        fn visit<S: Scheme>(self) -> Self::Output {
            let fabric = self.0.fabric.build();
            let scheme = build::for_packets::<S>(self.0, &fabric)?;
            let otherwise =
                ", or run the scenario with level = \"live\" and stack = \"tailrace\", whose packets have it";
            plain_header(&scheme, otherwise)?;
            Ok(Programs::new(&scheme, self.0, &fabric))
        }
    }
    build::visit_for_frames(scenario, Ask(scenario))
}

/// Runs the scenario's fabric between `hosts`, until `watch` says stop. The policies of the ports that the scenario
/// samples, or else of all ports of switches, are watched. The scenario's flows and its horizon mean nothing here.
/// Whether what hosts will send can go through it, [`for_programs`] or [`for_proxies`](crate::for_proxies) has found out
/// before.
pub fn emulate(
    scenario: &Scenario,
    hosts: &Hosts,
    live: &Live,
    watch: &mut dyn FnMut(View) -> ControlFlow<()>,
) -> Result<Outcome, RunError> {
    let (given, scenario) = (scenario, &endless(scenario));
    build::visit(scenario, Emulator { given, scenario, hosts, live, watch })?
}

/// The scenario without an end, and with no more samples than views show.
pub(crate) fn endless(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    let measure = &mut scenario.measure;
    (measure.horizon, measure.sample_every) = (None, None);
    if measure.sample_ports == SamplePorts::None {
        let fabric = scenario.fabric.build();
        let of_switches = |port: &PortId| fabric.ports[*port as usize].place() != PortPlace::Nic;
        let ports = (0..fabric.ports.len() as PortId).filter(of_switches);
        measure.sample_ports = SamplePorts::Named(ports.map(|port| fabric.port_name(port)).collect());
    }
    scenario
}

struct Emulator<'a> {
    /// As it was given, which is what can be read again.
    given: &'a Scenario,
    scenario: &'a Scenario,
    hosts: &'a Hosts,
    live: &'a Live,
    watch: &'a mut dyn FnMut(View) -> ControlFlow<()>,
}

impl SchemeVisitor for Emulator<'_> {
    type Output = Result<Result<Outcome, RunError>, ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let Emulator { given, scenario, hosts, live, watch } = self;
        let driver = driver::<S>(scenario, hosts, live.frames)?;
        let run = || {
            let mut driver = driver?;
            live.record(given, &mut driver)?;
            Ok(packets::balanced(tailrace_linux::emulate(driver, watch)?))
        };
        Ok(run())
    }
}

/// The scenario's fabric between hosts that run programs.
pub fn driver<'a, S: Scheme>(
    scenario: &Scenario,
    hosts: &'a Hosts,
    frames: Wanted,
) -> Result<Result<Driver<'a, S>, LiveError>, ScenarioError> {
    let fabric = scenario.fabric.build();
    let scheme = build::for_packets::<S>(scenario, &fabric)?;
    let priorities = Priorities::new(scheme.switch_plan(fabric.host_rate()).as_ref());
    let world = packets::world(scenario, &fabric, Feed::from(Vec::new()))?.outside();
    Ok(Driver::new(world, hosts, priorities, scenario.transport.mss, false, frames))
}
