//! Flows one after another, in order of start. Memory does not grow with their number.
//!
//! Sizes, pairs and the arrivals' pattern are drawn from streams of their own for each rule, and the load only
//! stretches time: runs at different loads, or with different schemes, see the same flows (common random
//! numbers).

use tailrace_config::ScenarioError;
use tailrace_core::Time;
use tailrace_core::random::Stream;

use crate::feed::bursts::Bursts;
use crate::feed::clock::Clock;
use crate::feed::gamma::GammaControl;
use crate::{Arrivals, Deadlines, FlowSpec, Gamma, Pattern, Plan, PlannedRule, Setting, flow_list};

/// Flows in order of start; at equal times, in order of their rules.
#[derive(Clone, Debug)]
pub struct FlowSource {
    kind: Kind,
    /// Decides which flows get deadlines, where that follows from the plan.
    gamma: Option<GammaControl>,
    /// Flows that may still follow.
    left: u64,
}

#[derive(Clone, Debug)]
enum Kind {
    Rules(Vec<RuleSource>),
    List(std::vec::IntoIter<FlowSpec>),
}

impl FlowSource {
    /// The flows of the rules of a plan.
    pub(crate) fn of_rules(plan: &Plan) -> Self {
        let rules = plan.rules.iter().map(|rule| RuleSource::new(rule, plan)).collect();
        let planned = plan.rules.iter().map(|rule| &rule.rule);
        let gamma = GammaControl::new(planned, false, plan.setting.clone(), plan.seed);
        FlowSource { kind: Kind::Rules(rules), gamma, left: plan.flows }
    }

    /// The flows of a list, ordered by start (those at equal times keep their order).
    pub fn from_records(flows: Vec<FlowSpec>, setting: &Setting) -> Result<Self, ScenarioError> {
        flow_list::in_order(flows, setting).map(Self::from)
    }

    /// At most so many flows of a list, and none that starts at `end` or later.
    pub fn limited(mut self, flows: Option<u64>, end: Option<Time>) -> Self {
        self.left = flows.unwrap_or(u64::MAX);
        if let (Kind::List(list), Some(end)) = (&self.kind, end) {
            let before = list.as_slice().partition_point(|flow| flow.start < end);
            self.left = self.left.min(before as u64);
        }
        self
    }
}

impl From<Vec<FlowSpec>> for FlowSource {
    fn from(flows: Vec<FlowSpec>) -> Self {
        FlowSource { kind: Kind::List(flows.into_iter()), gamma: None, left: u64::MAX }
    }
}

impl Iterator for FlowSource {
    type Item = FlowSpec;

    fn next(&mut self) -> Option<FlowSpec> {
        self.left = self.left.checked_sub(1)?;
        match &mut self.kind {
            Kind::List(list) => list.next(),
            Kind::Rules(rules) => {
                let first =
                    rules.iter_mut().filter(|rule| rule.next.is_some()).min_by_key(|rule| rule.start())?;
                let mut flow = first.next?;
                first.next = first.draw();
                if let Some(gamma) = self.gamma.as_mut().filter(|_| first.is_planned()) {
                    gamma.plan(&mut flow);
                }
                Some(flow)
            }
        }
    }
}

/// Tells when flows (or bursts) of a rule start, of which there are `at_once` where all do at once.
fn clock(plan: &PlannedRule, at_once: u64, stream: Stream) -> Clock {
    let arrivals = plan.rule.arrivals;
    let most = if arrivals == Arrivals::Once { at_once } else { u64::MAX };
    let mean_gap_ps = 1e12 * plan.rule.fan_in() / plan.flows_per_sec;
    Clock::new(arrivals, mean_gap_ps, most, plan.rule.start..plan.end, stream)
}

/// The flows of one rule.
#[derive(Clone, Debug)]
struct RuleSource {
    plan: PlannedRule,
    clock: Clock,
    pairs: Stream,
    sizes: Stream,
    deadlines: Stream,
    setting: Setting,
    bursts: Option<Bursts>,
    /// Rules of the workload, for task numbers that differ between them.
    rules: u64,
    next: Option<FlowSpec>,
}

impl RuleSource {
    fn new(plan: &PlannedRule, whole: &Plan) -> Self {
        let stream = |purpose| Stream::new(whole.seed, purpose, plan.number as u64);
        let mut arrivals = plan.pairs.count();
        let bursts = match &plan.rule.pattern {
            Pattern::Incast(incast) => {
                let receivers =
                    incast.receivers.clone().unwrap_or_else(|| whole.setting.host_ids().collect());
                arrivals = receivers.len() as u64;
                let hosts = whole.setting.host_ids().collect();
                Some(Bursts::new(receivers, incast.fan_in, incast.jitter, hosts, stream("bursts")))
            }
            _ => None,
        };
        let mut source = RuleSource {
            plan: plan.clone(),
            clock: clock(plan, arrivals, stream("arrivals")),
            pairs: stream("pairs"),
            sizes: stream("sizes"),
            deadlines: stream("deadlines"),
            setting: whole.setting.clone(),
            bursts,
            rules: whole.rules.len() as u64,
            next: None,
        };
        source.next = source.draw();
        source
    }

    /// Whether its flows get deadlines by a Γ control that follows the plan.
    fn is_planned(&self) -> bool {
        matches!(self.plan.rule.deadline, Some(Deadlines::Gamma(Gamma { observed: false, .. })))
    }

    /// When the next flow starts.
    fn start(&self) -> Time {
        self.next.map_or(Time::MAX, |flow| flow.start)
    }

    fn draw(&mut self) -> Option<FlowSpec> {
        if self.bursts.is_some() {
            return self.draw_from_bursts();
        }
        let (number, start) = self.clock.tick()?;
        let (src, dst) = match self.plan.rule.arrivals {
            Arrivals::Once => self.plan.pairs.get(number),
            _ => self.plan.pairs.draw(&mut self.pairs),
        };
        let size = self.plan.sampler.draw(&mut self.sizes);
        let spec = FlowSpec { src, dst, size, start, ..self.blank() };
        Some(self.due(spec))
    }

    /// No flow of a later burst starts before that burst, so the head of those waiting is next once the next
    /// burst would come after it.
    fn draw_from_bursts(&mut self) -> Option<FlowSpec> {
        let bursts = self.bursts.as_mut()?;
        while let Some(at) = self.clock.peek()
            && bursts.head().is_none_or(|head| at <= head)
        {
            let (number, _) = self.clock.tick()?;
            let receiver = (self.plan.rule.arrivals == Arrivals::Once).then_some(number);
            bursts.burst(at, receiver, || self.plan.sampler.draw(&mut self.sizes));
        }
        let flow = bursts.pop()?;
        let task = 1 + flow.burst.saturating_mul(self.rules).saturating_add(self.plan.number as u64);
        let task = u32::try_from(task).unwrap_or(u32::MAX);
        let spec = FlowSpec {
            src: flow.src,
            dst: flow.dst,
            size: flow.size,
            start: flow.start,
            task,
            ..self.blank()
        };
        Some(self.due(spec))
    }

    /// The flow with its deadline.
    fn due(&mut self, mut spec: FlowSpec) -> FlowSpec {
        if let Some(deadlines) = self.plan.rule.deadline {
            let time = deadlines.draw(spec.size, &self.setting, &mut self.deadlines);
            spec.deadline = time.map(|time| spec.start.saturating_add(time));
            spec.controlled = time.is_none() && !self.is_planned();
        }
        spec
    }

    /// A flow with what all flows of the rule have in common.
    fn blank(&self) -> FlowSpec {
        let class = self.plan.rule.class.unwrap_or(self.plan.number as u8);
        let reveals = self.plan.rule.revealed();
        FlowSpec { class, reveals, slice: self.plan.rule.slice, ..FlowSpec::default() }
    }
}
