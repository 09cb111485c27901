//! How far apart two processors are: what parts of a run wait for, if for nothing else.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// Turns: long enough that both threads have come to a processor.
const TURNS: u64 = 200_000;

/// A number of its own lines of memory.
#[repr(align(128))]
#[derive(Default)]
struct Apart(AtomicU64);

/// Nanoseconds that a word takes from one thread to another and back, as the mean of many turns. A machine that moves its virtual
/// processors about gives one of some values, by where they are at the moment.
#[expect(clippy::disallowed_methods, reason = "a benchmark of two threads, by the clock on the wall")]
pub fn there_and_back() -> f64 {
    let (there, back) = (Apart::default(), Apart::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            (1..=TURNS).for_each(|turn| {
                wait_for(&there, turn);
                back.0.store(turn, Ordering::Release);
            });
        });
        let start = Instant::now();
        (1..=TURNS).for_each(|turn| {
            there.0.store(turn, Ordering::Release);
            wait_for(&back, turn);
        });
        start.elapsed().as_secs_f64() * 1e9 / TURNS as f64
    })
}

/// Where there is one processor, the other thread needs it.
fn wait_for(number: &Apart, turn: u64) {
    let mut looks = 0_u32;
    while number.0.load(Ordering::Acquire) < turn {
        looks += 1;
        if looks.is_multiple_of(1 << 8) { thread::yield_now() } else { std::hint::spin_loop() }
    }
}
