//! Runs at the live level.

use std::ops::ControlFlow;

use tailrace_config::ScenarioError;
use tailrace_core::{Ending, LiveError, Outcome, Scheme, Time};
use tailrace_linux::{Driver, Hosts, Limits, Priorities, Turn};
use tailrace_packet::World;
use tailrace_run::{Control, RunError, build, look, packets};
use tailrace_scenario::{Scenario, Stack};
use tailrace_schemes::SchemeVisitor;
use tailrace_workload::feed::Feed;

use crate::kernel;
use crate::limits::tolerable_lag;
use crate::record::Live;

/// How often a run is made, if something else on the machine disturbs it.
const ATTEMPTS: u32 = 3;

/// Runs a scenario live, with the flows of `feed`. Only what Tailrace's own transport sends can be recorded.
pub fn run_live(
    scenario: &Scenario,
    feed: Feed,
    control: &dyn Control,
    live: &Live,
) -> Result<(Outcome, Ending), RunError> {
    let _turn = turn(control)?;
    let mut attempts = 1;
    let (outcome, ending) = loop {
        match once(scenario, feed.clone(), control, live) {
            Err(RunError::Live(LiveError::TooSlow(_))) if attempts < ATTEMPTS => attempts += 1,
            Err(RunError::Live(LiveError::TooSlow(message))) => {
                let message = format!("{}, tried {attempts} times: {message}", scenario.scheme.label());
                return Err(RunError::Live(LiveError::TooSlow(message)));
            }
            done => break done?,
        }
    };
    Ok((packets::balanced(outcome), ending))
}

/// Waits until no other live run is under way on this machine: two would make one another late.
fn turn(control: &dyn Control) -> Result<Turn, LiveError> {
    let mut waits = false;
    Turn::take(|holder| {
        if !std::mem::replace(&mut waits, true) {
            let pid = holder.map_or(String::new(), |pid| format!(", pid {pid}"));
            control.note(format!("waits for another live run{pid}"));
        }
        if control.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

fn once(
    scenario: &Scenario,
    feed: Feed,
    control: &dyn Control,
    live: &Live,
) -> Result<(Outcome, Ending), RunError> {
    let stall = Time::from_ps(scenario.transport.min_rto.as_ps() / 2);
    let limits = Limits { lag: tolerable_lag(&scenario.fabric.build()), stall };
    match scenario.live.stack {
        Stack::Tailrace => build::visit(scenario, Runner { scenario, feed, limits, control, live })?,
        Stack::Kernel if live.record.is_some() => {
            let message = "records what Tailrace's own transport sends; write stack = \"tailrace\", or record an emulation";
            Err(ScenarioError::new("--record", message).into())
        }
        Stack::Kernel => kernel::run(scenario, feed, limits, live.agents, control),
    }
}

struct Runner<'a> {
    scenario: &'a Scenario,
    feed: Feed,
    limits: Limits,
    control: &'a dyn Control,
    live: &'a Live,
}

impl SchemeVisitor for Runner<'_> {
    type Output = Result<Result<(Outcome, Ending), RunError>, ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let Runner { scenario, feed, limits, control, live } = self;
        let fabric = scenario.fabric.build();
        let world: World<S> = packets::world(scenario, &fabric, feed)?.outside();
        let mss = scenario.transport.mss;
        let mtu = tailrace_linux::frame::wire::longest_ip_packet::<S::Header>(mss);
        let run = || {
            let hosts = Hosts::new(fabric.hosts, mtu, None)?;
            let mut driver = Driver::new(world, &hosts, Priorities::new(None), mss, true, live.frames)?;
            live.record(scenario, &mut driver)?;
            Ok(tailrace_linux::run(driver, limits, &mut |run| look(control, run))?)
        };
        Ok(run())
    }
}
