//! The order of task numbers, which begin again after two thousand million tasks (Baraat §4.1).

/// Whether a task's number is of one that came before another's. Numbers of each of the two ranges go round: of two that
/// are less than 2³⁰ apart the one behind is the earlier one (serial numbers, RFC 1982), and background tasks come last.
#[inline]
fn precedes(a: u32, b: u32) -> bool {
    let of_one_range = (a ^ b) >> 31 == 0;
    if of_one_range { ((a.wrapping_sub(b) << 1) as i32) < 0 } else { a < b }
}

/// Where a key is among others in their order, or would be. Of numbers that are further apart than those of tasks that are
/// under way at one time none is the first; what is there is found nevertheless, so that nothing is counted twice.
#[inline]
pub(super) fn search<T>(list: &[T], key: u32, key_of: impl Fn(&T) -> u32) -> Result<usize, usize> {
    let place = list.partition_point(|item| precedes(key_of(item), key));
    match list.get(place) {
        Some(item) if key_of(item) == key => Ok(place),
        _ => list.iter().position(|item| key_of(item) == key).ok_or(place),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BACKGROUND: u32 = 1 << 31;

    proptest! {
        /// However far counters have come: as long as tasks under way are less than 2³⁰ apart.
        #[test]
        fn numbers_are_ordered_as_if_they_never_began_again(
            first in 0u32..BACKGROUND, apart in 1u32..1 << 30, background: bool,
        ) {
            let range = if background { BACKGROUND } else { 0 };
            let later = range | ((first + apart) % BACKGROUND);
            let first = range | first;
            prop_assert!(precedes(first, later) && !precedes(later, first) && !precedes(first, first));
        }

        #[test]
        fn background_tasks_come_last(task in 0u32..BACKGROUND, background in BACKGROUND..) {
            prop_assert!(precedes(task, background) && !precedes(background, task));
        }

        /// Numbers that nobody has given out in turn, such as hashes.
        #[test]
        fn what_is_in_a_list_is_found_whatever_the_numbers(keys: Vec<u32>) {
            let mut list: Vec<u32> = Vec::new();
            for key in keys {
                if let Err(place) = search(&list, key, |key| *key) {
                    prop_assert!(!list.contains(&key));
                    list.insert(place, key);
                }
            }
            prop_assert!(list.iter().all(|&key| search(&list, key, |key| *key).map(|at| list[at]) == Ok(key)));
        }
    }
}
