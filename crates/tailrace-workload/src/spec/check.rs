//! What the parts of a workload must be to each other.

use tailrace_config::ScenarioError;
use tailrace_core::Time;

use super::Workload;
use crate::deadlines::Deadlines;
use crate::rule::{Arrivals, Rule};

impl Workload {
    /// Rules under Γ control take three classes. No other rule may get one of these unless it is `named`, and
    /// rules of one class are under one control.
    pub(super) fn check_controlled(&self, named: impl Fn(usize) -> bool) -> Result<(), ScenarioError> {
        let class = |number: usize| u16::from(self.rules[number].class.unwrap_or_default());
        let controlled = |number: &usize| matches!(self.rules[*number].deadline, Some(Deadlines::Gamma(_)));
        let numbers = 0..self.rules.len();
        for first in numbers.clone().filter(controlled) {
            let taken = class(first)..class(first) + 3;
            for other in numbers.clone().filter(|&other| other != first) {
                let differs = self.rules[other].deadline != self.rules[first].deadline;
                let mixed = controlled(&other) && class(other) == class(first) && differs;
                if mixed || (!named(other) && taken.contains(&class(other))) {
                    let message = format!(
                        "is {}, but deadline.gamma gives rule[{first}] the classes {} to {}: give this rule another",
                        class(other),
                        taken.start,
                        taken.end - 1
                    );
                    return Err(ScenarioError::new(format!("rule[{other}].class"), message));
                }
            }
        }
        Ok(())
    }

    pub(super) fn check_extent(&self) -> Result<(), ScenarioError> {
        match self.flows {
            Some(flows) if !(1..=u64::from(u32::MAX)).contains(&flows) => {
                let message = format!("is {flows}, but must be 1 to {}", u32::MAX);
                return Err(ScenarioError::new("flows", message));
            }
            _ => {}
        }
        if self.duration == Some(Time::ZERO) {
            return Err(ScenarioError::new("duration", "is 0, but must be a positive time"));
        }
        let ends = |rule: &Rule| rule.arrivals == Arrivals::Once || rule.stop.is_some();
        if self.flows.is_none() && self.duration.is_none() && !self.rules.iter().all(ends) {
            return Err(ScenarioError::new("flows", "is missing; say how many flows, or give a duration"));
        }
        if self.duration.is_none()
            && let Some(number) = self.tasks.iter().position(|tasks| !tasks.ends())
        {
            let message = "is missing; say how many tasks, or give the workload a duration";
            return Err(ScenarioError::new(format!("task[{number}].count"), message));
        }
        Ok(())
    }

    /// A trace has a class for itself.
    pub(super) fn check_trace(&self) -> Result<(), ScenarioError> {
        if self.coflow_trace.is_some() && self.classes_end() > u16::from(u8::MAX) {
            let message = "has a traffic class of its own, above all others, but those of rules and tasks go up to 255: \
                           give them lower ones";
            return Err(ScenarioError::new("coflow_trace", message));
        }
        Ok(())
    }
}
