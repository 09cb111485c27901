//! Runs at the live level.

use tailrace_config::ScenarioError;
use tailrace_core::{Ending, Outcome, Scheme, Time};
use tailrace_fabric::Fabric;
use tailrace_linux::{Hosts, Limits, LiveError};
use tailrace_packet::World;
use tailrace_scenario::{Scenario, Stack};
use tailrace_schemes::SchemeVisitor;
use tailrace_traffic::Feed;

use crate::control::{Control, look};
use crate::error::RunError;
use crate::{build, kernel, packets};

/// Where one packet in a hundred is later than this, or than a tenth of the farthest round trip if that is more, numbers
/// are of the machine and not of the scheme.
const WORST_LAG: Time = Time::from_us(300);

/// How often a run is made, if something else on the machine disturbs it.
const ATTEMPTS: u32 = 3;

/// What may be the lag of one packet in a hundred.
pub(crate) fn tolerable_lag(fabric: &Fabric) -> Time {
    WORST_LAG.max(Time::from_ps(fabric.base_rtt().as_ps() / 10))
}

/// Runs a scenario live.
pub(crate) fn run(
    scenario: &Scenario,
    feed: Feed,
    control: &dyn Control,
) -> Result<(Outcome, Ending), RunError> {
    let mut attempts = 1;
    let (outcome, ending) = loop {
        match once(scenario, feed.clone(), control) {
            Err(RunError::Live(LiveError::TooSlow(_))) if attempts < ATTEMPTS => attempts += 1,
            Err(RunError::Live(LiveError::TooSlow(message))) => {
                let message = format!("{}, tried {attempts} times: {message}", scenario.scheme.label());
                return Err(RunError::Live(LiveError::TooSlow(message)));
            }
            done => break done?,
        }
    };
    let balanced = outcome.ledger.is_some_and(|ledger| ledger.balances());
    assert!(balanced, "packets were lost or made up: {:?}", outcome.ledger);
    Ok((outcome, ending))
}

fn once(scenario: &Scenario, feed: Feed, control: &dyn Control) -> Result<(Outcome, Ending), RunError> {
    let limits = Limits { lag: tolerable_lag(&scenario.fabric.build()) };
    match scenario.live.stack {
        Stack::Tailrace => build::visit(scenario, Runner { scenario, feed, limits, control })?,
        Stack::Kernel => kernel::run(scenario, feed, limits, control),
    }
}

struct Runner<'a> {
    scenario: &'a Scenario,
    feed: Feed,
    limits: Limits,
    control: &'a dyn Control,
}

impl SchemeVisitor for Runner<'_> {
    type Output = Result<Result<(Outcome, Ending), RunError>, ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let Runner { scenario, feed, limits, control } = self;
        let fabric = scenario.fabric.build();
        let world: World<S> = packets::world(scenario, &fabric, feed)?.outside();
        let mss = scenario.transport.mss;
        let mtu = tailrace_linux::frame::wire::longest_ip_packet::<S::Header>(mss);
        let run = || {
            let hosts = Hosts::new(fabric.hosts, mtu, None)?;
            tailrace_linux::run(world, &hosts, mss, limits, &mut |progress| look(control, progress))
        };
        Ok(run().map_err(RunError::from))
    }
}
