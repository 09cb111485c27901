//! A whole run: flows that come and go, at the rates that a rule and the links give them.

mod control;
mod feedback;
mod life;
mod mixing;
mod ranks;
mod sent;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Count, Ending, FlowId, FlowRecords, Knowledge, Ledger, Outcome, PortCounts, PortView, Progress, RateRule,
    Running, Series, Time,
};
use tailrace_engine::{Digest, Entity};
use tailrace_fabric::Fabric;
use tailrace_workload::FlowSpec;
use tailrace_workload::feed::Feed;

use self::control::Control;
use self::feedback::Feedback;
use self::mixing::Mixing;
use crate::bundle::Bundle;
use crate::clocks::Clocks;
use crate::kinds::Kinds;
use crate::routes::Routes;
use crate::schedule::Schedule;
use crate::solver::{BundleId, Change, ClassId, Precision, Solver};

/// When a flow that starts sends its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// So late that a flow which has the network to itself takes as long as its packets would.
    Packets,
    /// After this time.
    Fixed(Time),
}

/// Events between two looks at the caller.
const EVENTS_PER_REPORT: u64 = 1 << 16;

const SOURCE: Entity = 0;
const SETUPS: Entity = 1;
const HORIZON: Entity = 2;
const CONTROL: Entity = 3;
const FEEDBACK: Entity = 4;
/// Bundles, clocks of classes, and links follow, in turn.
const SPECIAL: Entity = 5;

/// A run.
pub struct World<'a> {
    rule: Box<dyn RateRule>,
    knows: Knowledge,
    oracle: bool,
    fabric: &'a Fabric,
    transport: TransportParams,
    setup: Setup,
    routes: Routes<'a>,
    solver: Solver,
    mixing: Option<Mixing>,
    /// Decides for the whole network, if the scheme has such.
    control: Option<Control>,
    feedback: Feedback,
    schedule: Schedule,
    /// Whether flows have come or gone since rates were worked out.
    stale: bool,
    /// When rates were worked out last, and how often at that instant.
    solved_at: Time,
    solutions: u32,
    /// Whose level has changed, while rates are worked out; kept for its memory.
    changed: Vec<Change>,
    digest: Digest,
    events: u64,
    now: Time,
    feed: Feed,
    records: FlowRecords,
    /// Flows that have started but may not send yet, by when they may.
    setting_up: BTreeMap<(Time, FlowId), FlowSpec>,
    bundles: Vec<Bundle>,
    clocks: Clocks,
    /// Those to whom something happens at one reading of a clock; kept for its memory.
    due: Vec<BundleId>,
    /// Where flows may share one.
    kinds: Kinds,
    active: usize,
    /// Bytes that finished flows have sent over each link.
    link_bytes: Vec<u64>,
}

impl<'a> World<'a> {
    /// A world at time zero, with the flows of `feed` under `rule`, which may know of flows what `knows` says. No path
    /// of the fabric may have more links than [`LONGEST_PATH`](crate::LONGEST_PATH).
    pub fn new(
        rule: Box<dyn RateRule>,
        knows: Knowledge,
        fabric: &'a Fabric,
        transport: TransportParams,
        feed: Feed,
        setup: Setup,
        horizon: Option<Time>,
    ) -> Self {
        debug_assert!(
            !(rule.heavy().is_some() && rule.follows_progress()),
            "what a rank has sent is no other's"
        );
        let routes = Routes::new(fabric);
        let precision = if rule.heavy().is_some() { Precision::CLOSE } else { Precision::EXACT };
        let mixing = rule.heavy().map(|bytes| Mixing::new(bytes.as_f64()));
        let mut world = World {
            rule,
            knows,
            oracle: false,
            fabric,
            transport,
            setup,
            solver: Solver::new(routes.capacities().iter().copied(), precision),
            link_bytes: vec![0; routes.capacities().len()],
            routes,
            mixing,
            control: None,
            feedback: Feedback::default(),
            schedule: Schedule::default(),
            stale: false,
            solved_at: Time::ZERO,
            solutions: 0,
            changed: Vec::new(),
            digest: Digest::default(),
            events: 0,
            now: Time::ZERO,
            feed,
            records: FlowRecords::default(),
            setting_up: BTreeMap::new(),
            bundles: Vec::new(),
            clocks: Clocks::default(),
            due: Vec::new(),
            kinds: Kinds::default(),
            active: 0,
        };
        world.arm_source();
        if let Some(horizon) = horizon {
            world.schedule.wake(HORIZON, horizon);
        }
        world
    }

    /// Tells the rule what flows do not reveal, as far as it can use it.
    pub fn omniscient(mut self, oracle: bool) -> Self {
        self.oracle = oracle;
        self
    }

    /// Runs to the end. `report` is called now and then and may end the run.
    pub fn run(&mut self, report: &mut dyn FnMut(&mut dyn Running) -> ControlFlow<()>) -> Ending {
        while let Some((at, entity)) = self.next_event() {
            debug_assert!(at >= self.now, "{entity} was to be woken at {at}, before {}", self.now);
            self.now = at;
            self.digest.add(at.as_ps(), entity);
            self.events += 1;
            match entity {
                SOURCE => self.start_flows(),
                SETUPS => self.admit_flows(),
                HORIZON => return Ending::Horizon,
                CONTROL => self.wake_control(),
                FEEDBACK => self.hear(),
                other => match Occupant::of(other) {
                    Occupant::Bundle(bundle) => self.look_at(bundle),
                    Occupant::Clock(class) => self.look_at_clock(class),
                    Occupant::Link(link) => self.mix(link),
                },
            }
            if self.events.is_multiple_of(EVENTS_PER_REPORT) && report(self).is_break() {
                return Ending::Interrupted;
            }
            if self.active == 0 && self.feed.is_empty() {
                return Ending::Finished;
            }
        }
        if self.active == 0 { Ending::Finished } else { Ending::Stalled }
    }

    /// The next event. Before time goes on, all that has happened so far has its effect on rates.
    fn next_event(&mut self) -> Option<(Time, Entity)> {
        while self.stale && self.schedule.peek().is_none_or(|(at, _)| at > self.now) {
            self.stale = false;
            self.update_rates();
        }
        self.schedule.pop()
    }

    /// What is left of the run.
    pub fn into_outcome(mut self) -> Outcome {
        let now = self.now;
        for bundle in &mut self.bundles {
            let sent = bundle.sent(now, &self.clocks) - bundle.finished_bytes();
            bundle
                .path
                .links()
                .iter()
                .for_each(|&link| self.link_bytes[link as usize] += sent.round() as u64);
        }
        let sent = |bytes| PortCounts { sent: Count { packets: 0, bytes }, ..PortCounts::default() };
        Outcome {
            end: now,
            digest: self.digest.value(),
            events: self.events,
            tasks: self.feed.task_records(now).to_vec(),
            ports: self.routes.bytes_of_ports(self.link_bytes).into_iter().map(sent).collect(),
            series: Series::default(),
            updates: self.control.as_ref().map(Control::heard),
            ledger: None,
            real_time: None,
            flows: self.records,
        }
    }

    fn arm_source(&mut self) {
        if let Some(start) = self.feed.peek() {
            self.schedule.wake(SOURCE, start.max(self.now));
        }
    }
}

/// Who of those that are added as a run goes on is woken.
enum Occupant {
    Bundle(BundleId),
    Clock(ClassId),
    Link(u32),
}

impl Occupant {
    fn of(entity: Entity) -> Self {
        let number = (entity - SPECIAL) / 3;
        match (entity - SPECIAL) % 3 {
            0 => Occupant::Bundle(number),
            1 => Occupant::Clock(number),
            _ => Occupant::Link(number),
        }
    }

    fn entity(&self) -> Entity {
        match *self {
            Occupant::Bundle(number) => SPECIAL + 3 * number,
            Occupant::Clock(number) => SPECIAL + 3 * number + 1,
            Occupant::Link(number) => SPECIAL + 3 * number + 2,
        }
    }
}

impl World<'_> {
    fn wake(&mut self, occupant: &Occupant, at: Time) {
        if at < Time::MAX {
            self.schedule.wake(occupant.entity(), at);
        }
    }
}

impl Running for World<'_> {
    fn progress(&self) -> Progress {
        let started = self.records.len();
        Progress { now: self.now, started, finished: started - self.active, packet_hops: 0 }
    }

    fn ports(&mut self) -> Vec<PortView> {
        Vec::new()
    }

    fn ledger(&self) -> Option<Ledger> {
        None
    }
}
