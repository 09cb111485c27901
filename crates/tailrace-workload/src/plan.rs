//! What the rules of a workload amount to on a given fabric: rates, and the load that they put on hosts.

use tailrace_config::ScenarioError;
use tailrace_core::{HEADER_BYTES, Reveals, SizeDistribution, Time, TrafficClass};

use super::Sampler;
use super::deadlines::Deadlines;
use super::host_load::{HostLoad, busiest};
use super::offered::on_the_wire;
use super::pairs::Pairs;
use super::pattern::{PairFilter, Pattern};
use super::rule::{Arrivals, Rule};
use super::shapes::mixture;
use super::task::{PlannedTasks, TaskCounters};
use super::{Setting, Workload};

/// A rule with everything worked out.
#[derive(Clone, Debug)]
pub struct PlannedRule {
    /// The rule.
    pub rule: Rule,
    /// Its place among the rules, from 0.
    pub number: usize,
    /// What draws its sizes.
    pub sampler: Sampler,
    /// The pairs that send.
    pub pairs: Pairs,
    /// Flows a second while the rule is in force; 0 if all start at once.
    pub flows_per_sec: f64,
    /// When the rule ends.
    pub end: Time,
}

/// What a workload amounts to on a given fabric.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The rules.
    pub rules: Vec<PlannedRule>,
    /// The tables of tasks.
    pub tasks: Vec<PlannedTasks>,
    /// Counters that number tasks.
    pub counters: TaskCounters,
    /// Number of flows of the rules at most.
    pub flows: u64,
    /// Where it runs.
    pub setting: Setting,
    /// Seed of all random streams.
    pub seed: u64,
}

impl Workload {
    /// What rules and tasks amount to.
    pub fn plan(&self, setting: &Setting, seed: u64) -> Result<Plan, ScenarioError> {
        Plan::new(self, setting, seed)
    }
}

impl Plan {
    fn new(workload: &Workload, setting: &Setting, seed: u64) -> Result<Self, ScenarioError> {
        let mut rules = Vec::with_capacity(workload.rules.len());
        for (number, rule) in workload.rules.iter().enumerate() {
            let sampler =
                rule.sampler(setting.mss).map_err(|error| error.within(&format!("rule[{number}]")))?;
            let pairs = rule.pairs(rule.pairs, setting, seed, number);
            let end = rule.stop.unwrap_or(Time::MAX).min(workload.duration.unwrap_or(Time::MAX));
            rules.push(PlannedRule { rule: rule.clone(), number, sampler, pairs, flows_per_sec: 0.0, end });
        }
        let end = workload.duration.unwrap_or(Time::MAX);
        let plan_tasks = |(number, rule)| {
            PlannedTasks::new(rule, number, end, setting, seed)
                .map_err(|error| error.within(&format!("task[{number}]")))
        };
        let tasks = workload.tasks.iter().enumerate().map(plan_tasks).collect::<Result<_, _>>()?;
        let (flows, counters) = (workload.flows.unwrap_or(u64::MAX), workload.task_counters);
        let mut plan = Plan { rules, tasks, counters, flows, setting: setting.clone(), seed };
        match workload.load {
            Some(load) => plan.share_load(load),
            None => plan.rules.iter_mut().for_each(|rule| rule.set_rate(setting, seed)),
        }
        let peak = plan.peak_load();
        let loads = plan
            .rules
            .iter()
            .map(|rule| rule.rule.load)
            .chain(plan.tasks.iter().map(|tasks| tasks.rule.load));
        if peak >= 1.0 && loads.flatten().next().is_some() {
            let message = format!(
                "of all rules and tasks together is {peak:.2} at the busiest host, but must be below 1"
            );
            return Err(ScenarioError::new("load", message));
        }
        Ok(plan)
    }

    /// Gives rules their shares of flows or bytes, at rates that together put `load` on the busiest host link.
    fn share_load(&mut self, load: f64) {
        for rule in &mut self.rules {
            let of_bytes = rule.rule.byte_share.map(|share| share / rule.sampler.mean());
            rule.flows_per_sec = rule.rule.flow_share.or(of_bytes).unwrap_or(0.0);
        }
        let busiest = busiest(&self.loads_of(&self.rules.iter().collect::<Vec<_>>()));
        for rule in &mut self.rules {
            rule.flows_per_sec *= load / busiest;
        }
    }

    /// Expected load of each host's link at a time; flows that all start at once are left out.
    pub fn host_loads(&self, at: Time) -> Vec<HostLoad> {
        let in_force = |rule: &&PlannedRule| rule.rule.start <= at && at < rule.end;
        let mut loads = self.loads_of(&self.rules.iter().filter(in_force).collect::<Vec<_>>());
        for tasks in self.tasks.iter().filter(|tasks| tasks.rule.start <= at && at < tasks.end) {
            tasks.add_load(tasks.tasks_per_sec, &self.setting, &mut loads);
        }
        loads
    }

    /// The largest expected load of any host's link at any time.
    pub fn peak_load(&self) -> f64 {
        let of_tasks = self.tasks.iter().map(|tasks| tasks.rule.start);
        let mut starts: Vec<Time> = self.rules.iter().map(|rule| rule.rule.start).chain(of_tasks).collect();
        starts.sort_unstable();
        starts.dedup();
        starts.into_iter().map(|start| busiest(&self.host_loads(start))).fold(0.0, f64::max)
    }

    /// Flows a second that a rule starts while it is in force; 0 if all start at once.
    pub fn flows_per_sec(&self, rule: usize) -> f64 {
        self.rules[rule].flows_per_sec
    }

    /// The first table of tasks of several stages, whose flows are not known before a run.
    pub fn staged_tasks(&self) -> Option<usize> {
        self.tasks.iter().position(PlannedTasks::is_staged)
    }

    /// Payload bytes of all flows together, on average; `None` if nothing ends them.
    pub fn expected_bytes(&self) -> Option<f64> {
        let of_tasks: f64 = self.tasks.iter().map(PlannedTasks::expected_bytes).sum();
        Some(self.expected_bytes_of_rules()? + of_tasks).filter(|bytes| bytes.is_finite())
    }

    /// Flows of rules and tasks together, on average; `None` for lists and traces, and where nothing says when they stop to
    /// start.
    pub fn expected_flows(&self) -> Option<f64> {
        let of_rules = match self.sizes() {
            Some(sizes) => self.expected_bytes_of_rules()? / sizes.mean(),
            None if self.tasks.is_empty() => return None,
            None => 0.0,
        };
        let of_tasks: f64 = self.tasks.iter().map(PlannedTasks::expected_flows).sum();
        Some(of_rules + of_tasks).filter(|flows| flows.is_finite())
    }

    fn expected_bytes_of_rules(&self) -> Option<f64> {
        let of_rule = |rule: &PlannedRule| match rule.rule.arrivals {
            Arrivals::Once => rule.pairs.count() as f64 * rule.rule.fan_in() * rule.sampler.mean(),
            _ => rule.bytes_per_sec() * rule.end.saturating_sub(rule.rule.start).as_secs_f64(),
        };
        let limited = self.rules.iter().all(|r| r.end < Time::MAX || r.rule.arrivals == Arrivals::Once);
        let by_time = limited.then(|| self.rules.iter().map(of_rule).sum::<f64>());
        let rate: f64 = self.rules.iter().map(|rule| rule.flows_per_sec).sum();
        let bytes: f64 = self.rules.iter().map(PlannedRule::bytes_per_sec).sum();
        let by_count = (self.flows < u64::MAX && rate > 0.0).then(|| self.flows as f64 * bytes / rate);
        [by_time, by_count].into_iter().flatten().reduce(f64::min)
    }

    /// The sizes of all flows: a mixture of the rules' by their numbers of flows. `None` without rules.
    pub fn sizes(&self) -> Option<SizeDistribution> {
        let limited = self.rules.iter().all(|rule| rule.end < Time::MAX);
        let weight = |rule: &PlannedRule| match rule.rule.arrivals {
            Arrivals::Once => rule.pairs.count() as f64,
            _ if limited => rule.flows_per_sec * rule.end.saturating_sub(rule.rule.start).as_secs_f64(),
            _ => rule.flows_per_sec,
        };
        let mut parts: Vec<(f64, SizeDistribution)> = Vec::new();
        for rule in &self.rules {
            let sizes = &rule.sampler.distribution;
            match parts.iter_mut().find(|(_, known)| known == sizes) {
                Some((so_far, _)) => *so_far += weight(rule),
                None => parts.push((weight(rule), sizes.clone())),
            }
        }
        match parts.as_slice() {
            [] => None,
            [(_, only)] => Some(only.clone()),
            several => Some(mixture(several)),
        }
    }

    /// The traffic by what flows reveal, each with its part of the load `total`.
    pub fn classes(&self, total: f64) -> Vec<TrafficClass> {
        let bytes: f64 = self.rules.iter().map(PlannedRule::bytes_per_sec).sum();
        let mss = f64::from(self.setting.mss);
        let payload = total * mss / (mss + f64::from(HEADER_BYTES));
        let class = |reveals| {
            let part = |rule: &PlannedRule| {
                let load =
                    total * rule.bytes_per_sec() / bytes * rule.share_of(reveals, payload, &self.setting);
                (load, rule.sampler.distribution.clone())
            };
            let parts: Vec<_> = self.rules.iter().map(part).filter(|(load, _)| *load > 0.0).collect();
            let load = parts.iter().map(|(load, _)| load).sum();
            let flows: Vec<_> = parts.into_iter().map(|(load, sizes)| (load / sizes.mean(), sizes)).collect();
            (load > 0.0).then(|| TrafficClass { reveals, sizes: mixture(&flows), load })
        };
        [Reveals::Deadline, Reveals::Size, Reveals::Nothing].into_iter().filter_map(class).collect()
    }

    fn loads_of(&self, rules: &[&PlannedRule]) -> Vec<HostLoad> {
        let mut loads = vec![HostLoad::default(); self.setting.hosts as usize];
        for rule in rules {
            let scale = rule.flows_per_sec * rule.link_share(&self.setting) / rule.pairs.count() as f64;
            let (sends, receives) = rule.pairs.degrees(self.setting.hosts);
            for (host, load) in loads.iter_mut().enumerate() {
                let scale = scale / self.setting.speed(host);
                load.sends += scale * sends[host] as f64;
                load.receives += scale * receives[host] as f64;
            }
        }
        loads
    }
}

impl PlannedRule {
    fn bytes_per_sec(&self) -> f64 {
        self.flows_per_sec * self.sampler.mean()
    }

    /// The share of the rule's traffic that reveals so much, if the payload of all loads hosts with `payload`.
    fn share_of(&self, reveals: Reveals, payload: f64, setting: &Setting) -> f64 {
        let Some(Deadlines::Gamma(gamma)) = self.rule.deadline else {
            return if self.rule.revealed() == reveals { 1.0 } else { 0.0 };
        };
        let due = gamma.byte_share(payload, &self.sampler.distribution, setting);
        if reveals == Reveals::Deadline { due } else { (1.0 - due) / 2.0 }
    }

    /// Share of a host link's rate that one flow a second takes up: its mean size with headers.
    fn link_share(&self, setting: &Setting) -> f64 {
        on_the_wire(self.sampler.mean(), setting.mss) / setting.host_rate.bytes_per_sec()
    }

    /// Sets the rate from the rule's own load, or from the time between its flows. A filter leaves each pair
    /// the rate that it has in the whole pattern.
    fn set_rate(&mut self, setting: &Setting, seed: u64) {
        if let Some(every) = self.rule.every {
            self.flows_per_sec = self.rule.fan_in() / every.as_secs_f64();
        } else if let Some(load) = self.rule.load {
            let whole = self.rule.pairs(PairFilter::All, setting, seed, self.number);
            let (sends, receives) = whole.degrees(setting.hosts);
            let pairs = |(host, (&sends, &receives)): (usize, (&u64, &u64))| {
                sends.max(receives) as f64 / setting.speed(host)
            };
            let busiest = sends.iter().zip(&receives).enumerate().map(pairs).fold(0.0, f64::max);
            let busiest = if busiest > 0.0 { busiest } else { 1.0 };
            self.flows_per_sec = load / self.link_share(setting) / busiest * self.pairs.count() as f64;
        }
    }
}

impl Rule {
    /// Flows that start together.
    pub fn fan_in(&self) -> f64 {
        match &self.pattern {
            Pattern::Incast(incast) => f64::from(incast.fan_in),
            _ => 1.0,
        }
    }
}
