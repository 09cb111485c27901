//! What benchmarks of the live level need of a scenario's scheme.

use tailrace_config::ScenarioError;
use tailrace_core::{PortFacts, PortPlace, Scheme};
use tailrace_fabric::Buffer;
use tailrace_linux::bench::{self, Cost};
use tailrace_linux::{Hosts, Priorities, Wanted};
use tailrace_live as live;
use tailrace_run::{RunError, build};
use tailrace_scenario::Scenario;
use tailrace_schemes::SchemeVisitor;

/// Takes so many frames, of 64 flows, through a port of the scenario's scheme, 32 at a time, without links: each is
/// read, queued, taken out and written back.
pub fn through_port(scenario: &Scenario, frames: u64) -> Result<(), RunError> {
    build::visit(scenario, ThroughPort(scenario, frames))?
}

/// Carries bursts of a frame through the scenario's fabric, from host 0; tells what that cost this thread.
pub fn carry_bursts(
    scenario: &Scenario,
    hosts: &Hosts,
    frames: Wanted,
    frame: &[u8],
    bursts: u32,
) -> Result<Cost, RunError> {
    build::visit(scenario, CarryBursts { scenario, hosts, frames, frame, bursts })?
}

struct CarryBursts<'a> {
    scenario: &'a Scenario,
    hosts: &'a Hosts,
    frames: Wanted,
    frame: &'a [u8],
    bursts: u32,
}

impl SchemeVisitor for CarryBursts<'_> {
    type Output = Result<Result<Cost, RunError>, ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let CarryBursts { scenario, hosts, frames, frame, bursts } = self;
        let driver = live::driver::<S>(scenario, hosts, frames)?;
        let carry = || Ok(bench::carry_bursts(hosts, frame, bursts, &mut driver?)?);
        Ok(carry())
    }
}

struct ThroughPort<'a>(&'a Scenario, u64);

impl SchemeVisitor for ThroughPort<'_> {
    type Output = Result<Result<(), RunError>, ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let ThroughPort(scenario, frames) = self;
        let fabric = scenario.fabric.build();
        let scheme = build::for_packets::<S>(scenario, &fabric)?;
        let priorities = Priorities::new(scheme.switch_plan(fabric.host_rate()).as_ref());
        let (Buffer::PerPort(room) | Buffer::Shared { total: room, .. }) = fabric.buffer;
        let facts = PortFacts::new(0, PortPlace::SwitchToHost, fabric.host_rate(), room);
        Ok(bench::through_port(&scheme, &facts, &priorities, 64, frames).map_err(RunError::from))
    }
}
