//! Task numbers: from one counter, or from one at each of several entry points (Baraat §3.2).

use tailrace_core::TaskId;

/// The first number of background tasks: above all others, so that schemes serve them last.
const BACKGROUND: TaskId = 1 << 31;

/// Counters that start at 1, 2, … and count in steps of their number, so that no two give the same one until they wrap.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    /// How many tasks each has numbered: others, background.
    given: Vec<[u32; 2]>,
}

impl Counters {
    pub(super) fn new(counters: u16) -> Self {
        Counters { given: vec![[0; 2]; usize::from(counters.max(1))] }
    }

    /// The next number at an entry point; points beyond the last counter share the counters in turn.
    pub(super) fn next(&mut self, entry: u32, background: bool) -> TaskId {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_start_at_their_place_and_count_in_steps_of_their_number() {
        let mut counters = Counters::new(4);
        let ids = [0, 1, 0, 3, 5, 0].map(|entry| counters.next(entry, false));
        assert_eq!(ids, [1, 2, 5, 4, 6, 9]);
        assert_eq!(counters.next(0, true), BACKGROUND + 1);
        assert_eq!(counters.next(0, false), 13);
    }

    #[test]
    fn one_counter_numbers_tasks_as_they_come() {
        let mut counters = Counters::new(1);
        assert_eq!([7, 0, 3].map(|entry| counters.next(entry, false)), [1, 2, 3]);
    }
}
