//! An agent's place in a fleet: what it tells of its flows, and what it is told to do with them.
#![expect(clippy::disallowed_methods, reason = "values have an age in real time")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tailrace_bpf::{Connection, Histogram};
use tailrace_core::{Bytes, Reveals, SliceId};
use tailrace_scenario::Scenario;

use super::datapath::Datapath;
use super::learn::ended;
use super::types::FleetStatus;
use super::weighed::Weighed;
use crate::controller::meeting;
use crate::etcd::{Ended, Instructions, Member, Policy, Reached, Report, Sizes};
use crate::{AgentConfig, Error, HostPart};

/// What an agent has in common with others.
pub struct InFleet {
    member: Member,
    name: String,
    scheme: String,
    slot: Duration,
    next: Instant,
    /// Flows that have ended since the last report, by slice and what was known: `Reveals` in the order of [`KNOWN`].
    ended: BTreeMap<(SliceId, usize), Histogram>,
    connections: Weighed,
    /// What it was told last, if it is of this scheme.
    policy: Option<Policy>,
    told_at: Option<Instant>,
    /// The fleet's scheme, if it is another one.
    differs: Option<String>,
}

const KNOWN: [Reveals; 3] = [Reveals::Nothing, Reveals::Size, Reveals::Deadline];

/// Reaches the fleet of a file, if it names one.
pub fn reach(config: &AgentConfig) -> Result<Option<(Reached, String)>, Error> {
    let Some(fleet) = &config.fleet else { return Ok(None) };
    let name = meeting::name(fleet, Some(&config.interface))?;
    Ok(Some((meeting::reach(fleet)?, name)))
}

impl InFleet {
    /// Joins a fleet that has been reached.
    pub fn join((reached, name): (Reached, String), config: &AgentConfig) -> Result<Self, Error> {
        let slot =
            config.fleet.as_ref().map_or(Duration::from_secs(1), |fleet| meeting::duration(fleet.slot));
        Ok(InFleet {
            member: Member::join(reached, &name).map_err(meeting::failed)?,
            name,
            scheme: meeting::scheme(&config.scenario),
            slot,
            next: Instant::now() + slot,
            ended: BTreeMap::new(),
            connections: Weighed::default(),
            policy: None,
            told_at: None,
            differs: None,
        })
    }

    /// A flow of this host has ended, of which so much was known.
    fn ended(&mut self, size: Bytes, reveals: Reveals, slice: SliceId) {
        let known = KNOWN.iter().position(|of| *of == reveals).unwrap_or(0);
        self.ended.entry((slice, known)).or_default().add(size.get());
    }

    /// What was heard of connections.
    pub fn heard(&mut self, heard: &[Connection], datapath: &Datapath) -> Result<(), Error> {
        for (size, reveals, slice) in ended(heard, datapath)? {
            self.ended(size, reveals, slice);
        }
        self.connections.follow(heard, datapath)
    }

    /// Tells and hears what there is; returns whether flows are to be directed in another way from now on.
    pub fn turn(&mut self, part: &mut HostPart, datapath: &Datapath) -> Result<bool, Error> {
        if Instant::now() >= self.next {
            self.next = (self.next + self.slot).max(Instant::now());
            let report = self.report(datapath)?;
            self.member.report(&report);
        }
        let Instructions { policy, weights } = self.member.take();
        if policy.is_some() || weights.is_some() {
            self.told_at = Some(Instant::now());
        }
        if let Some(weights) = weights {
            self.connections.weigh(&weights, datapath)?;
        }
        let Some(policy) = policy else { return Ok(false) };
        let changed = self.policy.as_ref().is_none_or(|before| before.directives != policy.directives);
        self.policy = Some(policy);
        Ok(self.direct(part) && changed)
    }

    /// The host does as the fleet's controller says, if that is of the same scheme.
    fn direct(&mut self, part: &mut HostPart) -> bool {
        let Some(policy) = &self.policy else { return false };
        let same = policy.scheme == self.scheme;
        self.differs = (!same).then(|| policy.scheme.clone());
        if same {
            part.direct(policy.directives.clone());
        }
        same
    }

    /// The file was read again: what was said last holds, if it is of this scheme.
    pub fn renew(&mut self, scenario: &Scenario, part: &mut HostPart) {
        self.scheme = meeting::scheme(scenario);
        self.direct(part);
    }

    fn report(&mut self, datapath: &Datapath) -> Result<Report, Error> {
        let ended = std::mem::take(&mut self.ended).into_iter();
        let ended =
            ended.map(|((slice, known), sizes)| Ended { slice, reveals: KNOWN[known], sizes: Sizes(sizes) });
        let flows = self.connections.progress(datapath)?;
        Ok(Report { scheme: self.scheme.clone(), ended: ended.collect(), flows })
    }

    /// What it is called there.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn status(&self) -> FleetStatus {
        FleetStatus {
            standing: self.member.standing(),
            age: self.told_at.map(|at| at.elapsed()),
            differs: self.differs.clone(),
            weights: self.connections.weights(),
        }
    }

    /// What it has said ends.
    pub fn leave(self) {
        self.member.leave();
    }
}
