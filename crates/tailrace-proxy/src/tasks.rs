//! Which requests are one task, and the numbers of tasks.

use tailrace_core::{HostId, TaskId, Time};

/// A request that comes within this time of a task's first one, before anything of the task was answered, joins it.
pub const WINDOW: Time = Time::from_us(1_000);

/// Numbers from here on are for background services (Baraat §4.1).
const BACKGROUND: TaskId = 1 << 31;

/// The counter of an entry point (Baraat §4.1): each has its own start, and all have the same step. Here every host may be an
/// entry point, so host h of n counts h + 1, h + 1 + n, and so on.
#[derive(Debug)]
pub(crate) struct Counter {
    start: TaskId,
    step: TaskId,
    next: TaskId,
}

impl Counter {
    pub(crate) fn new(host: HostId, hosts: usize) -> Self {
        let start = TaskId::from(host) + 1;
        Counter { start, step: hosts as TaskId, next: start }
    }

    fn take(&mut self) -> TaskId {
        let task = self.next;
        self.next = if task + self.step < BACKGROUND { task + self.step } else { self.start };
        task
    }
}

/// The newest task of those clients that share an address.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Newest {
    task: TaskId,
    since: Time,
    /// Whether requests may still join it.
    open: bool,
}

impl Newest {
    /// The task of a request that comes now.
    pub(crate) fn task(&mut self, now: Time, counter: &mut Counter) -> TaskId {
        if !self.open || now > self.since + WINDOW {
            *self = Newest { task: counter.take(), since: now, open: true };
        }
        self.task
    }

    /// Something of a task was answered.
    pub(crate) fn answered(&mut self, task: TaskId) {
        self.open &= self.task != task;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_points_count_past_each_other() {
        let count = |host| {
            let mut counter = Counter::new(host, 3);
            [0; 3].map(|_| counter.take())
        };
        assert_eq!([count(0), count(2)], [[1, 4, 7], [3, 6, 9]]);
        let mut late = Counter { start: 2, step: 3, next: BACKGROUND - 1 };
        assert_eq!([late.take(), late.take()], [BACKGROUND - 1, 2]);
    }

    #[test]
    fn requests_join_a_task_soon_and_before_it_is_answered() {
        let (mut newest, mut counter) = (Newest::default(), Counter::new(0, 1));
        let mut at = |us, newest: &mut Newest| newest.task(Time::from_us(us), &mut counter);
        assert_eq!([5, 400, 1005, 1006, 1100].map(|us| at(us, &mut newest)), [1, 1, 1, 2, 2]);
        newest.answered(1);
        assert_eq!(at(1200, &mut newest), 2, "a late answer of an older task");
        newest.answered(2);
        assert_eq!(at(1201, &mut newest), 3);
    }
}
