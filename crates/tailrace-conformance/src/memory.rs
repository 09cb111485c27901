//! Memory: what flows leave behind.

use allocation_counter::measure;
use tailrace_core::Scheme;

use crate::rig::{Rig, Setting};
use crate::{Verdict, ensure};

/// Instants of a stretch, of some packets each.
const STRETCH: u64 = 6_000;
/// Stretches that are compared with as many as there were before: 1 with 1, 2 with 2, 4 with 4, 8 with 8.
const PARTS: usize = 4;
/// A part that leaves less behind may have met a longer queue than any before.
const GROWTH: i64 = 64;

/// When all flows have ended and some time has gone by, a port and its hosts do not hold the more, the more flows there
/// were.
///
/// A list that doubles its memory now and then does so in every part. A queue that is longer, or a stretch that has more
/// flows than any before, is found less and less often.
pub fn stays_bounded<S: Scheme>() -> Verdict {
    let mut rig = Rig::<S>::new(Setting::new(1))?;
    rig.stretch(STRETCH)?;
    let mut growth = [0; PARTS];
    for (part, grown) in growth.iter_mut().enumerate() {
        let mut verdict = Ok(());
        let stretches = 0..1 << part;
        *grown =
            measure(|| verdict = stretches.into_iter().try_for_each(|_| rig.stretch(STRETCH))).bytes_current;
        verdict?;
    }
    ensure!(
        growth.iter().any(|&bytes| bytes < GROWTH),
        "holds more and more: {growth:?} bytes in parts twice as long as the last"
    );
    Ok(())
}
