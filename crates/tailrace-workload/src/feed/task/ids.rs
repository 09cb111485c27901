//! Task numbers: from one counter, or from one at each of several entry points (Baraat §4.1).

use tailrace_core::{TaskId, Time};

use crate::task::TaskCounters;

/// The first number of background tasks: above all others, so that schemes serve them last.
const BACKGROUND: TaskId = 1 << 31;

/// Counters that start at 1, 2, … and count in steps of their number, so that no two give the same one until they wrap.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    /// How many tasks each has numbered, or passed over when brought into step: others, background.
    given: Vec<[u32; 2]>,
    sync: Option<Time>,
    /// When they are brought into step next.
    sync_at: Time,
}

impl Counters {
    pub(super) fn new(counters: TaskCounters) -> Self {
        let TaskCounters { count, sync } = counters;
        let given = vec![[0; 2]; usize::from(count.max(1))];
        Counters { given, sync, sync_at: sync.unwrap_or(Time::MAX) }
    }

    /// The number of a task that arrives at `now` at an entry point; points beyond the last counter share the counters
    /// in turn.
    pub(super) fn next(&mut self, now: Time, entry: u32, background: bool) -> TaskId {
        self.keep_step(now);
        let counters = self.given.len() as u32;
        let counter = entry % counters;
        let given = &mut self.given[counter as usize][usize::from(background)];
        let number = 1 + u64::from(counter) + u64::from(*given) * u64::from(counters);
        *given += 1;
        let range = u64::from(BACKGROUND - 1);
        // After two thousand million tasks numbers begin again.
        let number = 1 + ((number - 1) % range) as TaskId;
        if background { BACKGROUND + number } else { number }
    }

    /// All go on from the one that has counted furthest, if it is time.
    fn keep_step(&mut self, now: Time) {
        let Some(sync) = self.sync.filter(|_| now >= self.sync_at) else { return };
        let furthest = [0, 1].map(|kind| self.given.iter().map(|given| given[kind]).max().unwrap_or(0));
        self.given.fill(furthest);
        let since = now.saturating_sub(self.sync_at).as_ps() / sync.as_ps();
        self.sync_at = self.sync_at.saturating_add(sync * (since + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(count: u16, sync: Option<Time>) -> Counters {
        Counters::new(TaskCounters { count, sync })
    }

    #[test]
    fn counters_start_at_their_place_and_count_in_steps_of_their_number() {
        let mut counters = counters(4, None);
        let ids = [0, 1, 0, 3, 5, 0].map(|entry| counters.next(Time::ZERO, entry, false));
        assert_eq!(ids, [1, 2, 5, 4, 6, 9]);
        assert_eq!(counters.next(Time::ZERO, 0, true), BACKGROUND + 1);
        assert_eq!(counters.next(Time::ZERO, 0, false), 13);
    }

    #[test]
    fn one_counter_numbers_tasks_as_they_come() {
        let mut counters = counters(1, None);
        assert_eq!([7, 0, 3].map(|entry| counters.next(Time::ZERO, entry, false)), [1, 2, 3]);
    }

    #[test]
    fn counters_in_step_go_on_from_the_furthest() {
        let ms = Time::from_ms;
        let mut counters = counters(2, Some(ms(10)));
        let arrivals = [(0, 0), (1, 0), (2, 0), (9, 1), (10, 1), (11, 0), (12, 0), (55, 1), (59, 0), (60, 0)];
        let ids = arrivals.map(|(at, entry)| counters.next(ms(at), entry, false));
        // At 10 ms the first has given three, at 55 ms five; at 60 ms both have given six.
        assert_eq!(ids, [1, 3, 5, 2, 8, 7, 9, 12, 11, 13]);
    }
}
