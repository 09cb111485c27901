//! The latency between two processors, which bounds how fast the threads of a run can synchronise.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// Turns: long enough that both threads have come to a processor.
const TURNS: u64 = 200_000;

/// A counter on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct PaddedCounter(AtomicU64);

/// Nanoseconds of a round trip of one value between two threads, as the mean of many turns. A machine that moves its virtual
/// processors about gives one of some values, by where they are at the moment.
#[expect(clippy::disallowed_methods, reason = "a benchmark of two threads, by the clock on the wall")]
pub fn round_trip_ns() -> f64 {
    let (there, back) = (PaddedCounter::default(), PaddedCounter::default());
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
fn wait_for(number: &PaddedCounter, turn: u64) {
    let mut looks = 0_u32;
    while number.0.load(Ordering::Acquire) < turn {
        looks += 1;
        if looks.is_multiple_of(1 << 8) { thread::yield_now() } else { std::hint::spin_loop() }
    }
}
