//! Work on several threads whose results are taken in order, so that what comes of it does not depend on the threads.

use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;

/// Most threads that make something for one that takes it: each holds what it makes, of a table some 30 MB.
const MAX: usize = 4;

/// Has `take` take what `make` makes of each number below `count`, in order; up to `threads` and [`MAX`] are made at a time, and
/// as many wait. Stops at the first error.
pub(crate) fn in_order<T: Send, E>(
    threads: usize,
    count: usize,
    make: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads.min(count).min(MAX);
    if threads <= 1 {
        return (0..count).map(make).try_for_each(take);
    }
    #[expect(clippy::disallowed_methods, reason = "they end with this call, and what is taken is in order")]
    std::thread::scope(|scope| {
        let mut lines: Vec<_> = (0..threads)
            .map(|first| {
                let (sender, receiver) = sync_channel(1);
                let mut made = (first..count).step_by(threads).map(&make);
                (receiver, Some(scope.spawn(move || made.try_for_each(|made| sender.send(made)).is_ok())))
            })
            .collect();
        for number in 0..count {
            let (receiver, thread) = &mut lines[number % threads];
            match receiver.recv() {
                Ok(made) => take(made)?,
                Err(_) => match thread.take().map(|thread| thread.join()) {
                    Some(Err(panic)) => resume_unwind(panic),
                    _ => unreachable!("a thread ends before it has made all, and has not panicked"),
                },
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn all_are_taken_in_order_by_any_number_of_threads() {
        for (threads, count) in [(0, 3), (1, 3), (2, 0), (2, 1), (2, 100), (7, 100), (9, 5)] {
            let mut taken = Vec::new();
            let done = in_order(
                threads,
                count,
                |number| number * 10,
                |made| {
                    taken.push(made);
                    Ok::<_, ()>(())
                },
            );
            assert_eq!(done, Ok(()));
            assert!(taken.iter().copied().eq((0..count).map(|number| number * 10)), "{threads} {count}");
        }
    }

    #[test]
    fn an_error_ends_it_and_little_more_is_made() {
        for threads in [1, 3] {
            let made = AtomicUsize::new(0);
            let make = |number| {
                made.fetch_add(1, Ordering::Relaxed);
                number
            };
            let done = in_order(threads, 1000, make, |number| if number == 5 { Err("five") } else { Ok(()) });
            assert_eq!(done, Err("five"));
            assert!(made.into_inner() <= 6 + 3 * threads);
        }
    }

    #[test]
    #[should_panic(expected = "seven")]
    fn a_panic_is_passed_on() {
        let make = |number: usize| assert!(number != 7, "seven");
        let _ = in_order(2, 20, make, |()| Ok::<_, ()>(()));
    }
}
