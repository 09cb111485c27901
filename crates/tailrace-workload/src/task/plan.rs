//! What tasks amount to on a given fabric: how often they arrive, and the load that they put on hosts.

use std::sync::Arc;

use tailrace_config::ScenarioError;
use tailrace_core::random::Stream;
use tailrace_core::{HEADER_BYTES, Time};

use super::TaskRule;
use super::placement::Placement;
use super::shape::{Shape, largest_share};
use crate::host_load::{HostLoad, busiest};
use crate::rule::Arrivals;
use crate::sizes::{Round, Sizes};
use crate::{Sampler, Setting};

/// Tasks with everything worked out.
#[derive(Clone, Debug)]
pub struct PlannedTasks {
    /// Their table.
    pub rule: TaskRule,
    number: u64,
    /// What their sizes are drawn of.
    pub sizes: TaskSizes,
    /// What all of them have in common.
    pub shape: Arc<Shape>,
    /// How hosts are drawn for their roles.
    pub placement: Placement,
    /// Tasks a second while they arrive; 0 if all do at once.
    pub tasks_per_sec: f64,
    /// When the last has arrived.
    pub end: Time,
    /// Mean bytes of each flow.
    mean: Vec<u64>,
}

/// What sizes are drawn of.
#[derive(Clone, Debug)]
pub enum TaskSizes {
    /// Of a task.
    Whole(Sampler),
    /// Of each flow.
    Each(Sampler),
}

/// Up to so many tasks, a load is that of the sizes that are drawn: of sizes with a tail as heavy as that of MapReduce
/// jobs, ten thousand do not fix the mean.
const LOOKED_AT: u32 = 100_000;
/// Flows of tasks that arrive at once: some gigabytes.
const MAX_AT_ONCE: u64 = 50_000_000;

impl PlannedTasks {
    pub(crate) fn new(
        rule: &TaskRule,
        number: usize,
        end: Time,
        setting: &Setting,
        seed: u64,
    ) -> Result<Self, ScenarioError> {
        let (shape, placement) = rule.workflow.build(setting).map_err(|error| error.within("workflow"))?;
        let end = rule.stop.unwrap_or(Time::MAX).min(end);
        let sizes = TaskSizes::new(rule, setting.mss)?;
        let mut tasks = PlannedTasks {
            rule: rule.clone(),
            number: number as u64,
            sizes,
            shape: Arc::new(shape),
            placement,
            tasks_per_sec: 0.0,
            end,
            mean: Vec::new(),
        };
        tasks.check_largest(setting.mss)?;
        let count = rule.count.filter(|&count| count <= LOOKED_AT);
        tasks.mean = tasks.flows_of(tasks.sizes.mean(count, tasks.stream("task sizes", seed)));
        tasks.check_number()?;
        if let Some(every) = rule.every {
            tasks.tasks_per_sec = 1.0 / every.as_secs_f64();
        } else if let Some(load) = rule.load {
            let mut loads = vec![HostLoad::default(); setting.hosts as usize];
            tasks.add_load(1.0, setting, &mut loads);
            tasks.tasks_per_sec = load / busiest(&loads);
        }
        Ok(tasks)
    }

    /// The random stream of that purpose.
    pub fn stream(&self, purpose: &str, seed: u64) -> Stream {
        Stream::new(seed, purpose, self.number)
    }

    /// Segment numbers have 32 bits.
    fn check_largest(&self, mss: u16) -> Result<(), ScenarioError> {
        let most = u64::from(mss) * u64::from(u32::MAX);
        let (field, sampler, share) = match &self.sizes {
            TaskSizes::Whole(sampler) => ("sizes", sampler, largest_share(self.shape.shares())),
            TaskSizes::Each(sampler) => ("flow_sizes", sampler, 1.0),
        };
        let max = sampler.distribution.max();
        let share = (max * share).ceil() as u64;
        let flows = self.shape.sizes(max.ceil() as u64, std::iter::repeat(share));
        match flows.into_iter().max() {
            Some(largest) if largest > most => {
                let message =
                    format!("allows flows of {largest} bytes, but {most} are the most that a flow may have");
                Err(ScenarioError::new(field, message))
            }
            _ => Ok(()),
        }
    }

    /// Flow numbers have 32 bits, and tasks that arrive at once are all in memory.
    fn check_number(&self) -> Result<(), ScenarioError> {
        let (most, when) = match self.rule.arrivals {
            Arrivals::Once => (MAX_AT_ONCE, " that begins with all of them"),
            _ => (u64::from(u32::MAX), ""),
        };
        let (count, flows) = (self.rule.count.unwrap_or(0), self.flows_of_a_task());
        if u64::from(count) * flows <= most {
            return Ok(());
        }
        let message = format!(
            "is {count}, and each task has {flows} flows, but a run{when} has at most {most} flows: {} tasks",
            most / flows.max(1)
        );
        Err(ScenarioError::new("count", message))
    }

    /// How many flows a task has on average.
    fn flows_of_a_task(&self) -> u64 {
        match self.rule.split {
            Some(most) => {
                self.mean.iter().fold(0, |sum: u64, size| sum.saturating_add(size.div_ceil(most.get())))
            }
            None => self.shape.flows.len() as u64,
        }
    }

    /// Bytes of each flow where those of a task, or of each first flow, are the given ones.
    fn flows_of(&self, bytes: f64) -> Vec<u64> {
        let share = match self.sizes {
            TaskSizes::Whole(_) => bytes / self.shape.shares().max(1) as f64,
            TaskSizes::Each(_) => bytes,
        };
        self.shape.sizes(bytes.round() as u64, std::iter::repeat(share.round() as u64))
    }

    /// Whether some of its flows wait for others.
    pub(crate) fn is_staged(&self) -> bool {
        self.shape.stages.iter().any(|stage| stage.waits_for > 0)
    }

    /// Mean bytes of a task.
    pub(crate) fn mean_bytes(&self) -> f64 {
        self.mean.iter().map(|&bytes| bytes as f64).sum()
    }

    /// Adds the load of so many tasks a second; each segment counts as full.
    pub(crate) fn add_load(&self, tasks_per_sec: f64, setting: &Setting, loads: &mut [HostLoad]) {
        let mut roles: Vec<(f64, f64)> = Vec::new();
        for (hop, &bytes) in self.shape.flows.iter().zip(&self.mean) {
            let last = usize::from(hop.src.max(hop.dst));
            roles.resize(roles.len().max(last + 1), (0.0, 0.0));
            roles[usize::from(hop.src)].0 += bytes as f64;
            roles[usize::from(hop.dst)].1 += bytes as f64;
        }
        let mss = f64::from(setting.mss);
        let per_byte =
            tasks_per_sec * (mss + f64::from(HEADER_BYTES)) / mss / setting.host_rate.bytes_per_sec();
        for chances in self.placement.chances() {
            let span = usize::from(chances.roles.start)..usize::from(chances.roles.end);
            let (sent, received) =
                roles[span].iter().fold((0.0, 0.0), |sum, role| (sum.0 + role.0, sum.1 + role.1));
            for (host, chance) in chances.hosts {
                let load = &mut loads[host as usize];
                let per_byte = per_byte / setting.speed(host as usize);
                load.sends += per_byte * chance * sent;
                load.receives += per_byte * chance * received;
            }
        }
    }

    /// Bytes of all tasks together, on average.
    pub(crate) fn expected_bytes(&self) -> f64 {
        self.expected_tasks() * self.mean_bytes()
    }

    /// Flows of all tasks together, on average; some may be too small to be.
    pub(crate) fn expected_flows(&self) -> f64 {
        self.expected_tasks() * self.flows_of_a_task() as f64
    }

    fn expected_tasks(&self) -> f64 {
        let count = self.rule.count.map_or(f64::INFINITY, f64::from);
        let by_time = match self.rule.arrivals {
            Arrivals::Once => f64::INFINITY,
            _ => self.tasks_per_sec * self.end.saturating_sub(self.rule.start).as_secs_f64(),
        };
        count.min(by_time)
    }
}

impl TaskSizes {
    fn new(rule: &TaskRule, mss: u16) -> Result<Self, ScenarioError> {
        let sampler = |field: &str, sizes: &Sizes| {
            let distribution = sizes.distribution().map_err(|error| error.within(field))?;
            Ok(Sampler { distribution, round: Round::Byte, mss })
        };
        match (&rule.sizes, &rule.flow_sizes) {
            (Some(sizes), _) => sampler("sizes", sizes).map(TaskSizes::Whole),
            (None, Some(sizes)) => sampler("flow_sizes", sizes).map(TaskSizes::Each),
            (None, None) => Err(ScenarioError::new("sizes", "is missing")),
        }
    }

    /// The mean: of the first `count` that are drawn from the stream, if there are so many.
    fn mean(&self, count: Option<u32>, mut stream: Stream) -> f64 {
        match (self, count) {
            (TaskSizes::Whole(sampler), Some(count)) => {
                (0..count).map(|_| sampler.draw(&mut stream).as_f64()).sum::<f64>() / f64::from(count)
            }
            (TaskSizes::Whole(sampler) | TaskSizes::Each(sampler), _) => sampler.mean(),
        }
    }
}
