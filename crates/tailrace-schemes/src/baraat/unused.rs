//! What a port has granted nobody while flows waited for it (Baraat footnote 5: under-utilisation).

use tailrace_core::Time;

use super::scale::Grains;

/// Looks at one link, span by span. Whoever waits is told of what has become free when it asks next, half a round trip
/// later on the mean, so of tasks of a round trip each the link is idle for a third of the time. What was granted nobody in
/// the last span may be granted in this one beyond what the link carries: so much less is idle, and not much more queues,
/// since nothing is added up over spans.
#[derive(Clone, Copy, Debug)]
pub struct Unused {
    /// Which part of it may be granted.
    share: f64,
    span: Time,
    /// When this span ends.
    until: Time,
    /// When it was looked at last.
    seen: Time,
    /// Whether flows have waited in this span, and in the one before.
    waits: [bool; 2],
    /// Times seconds, in this span.
    free: f64,
    last: Grains,
}

impl Unused {
    /// Round trips in a span: with fewer, what a long flow takes a moment to fill seems unused.
    pub const ROUNDS: u64 = 6;

    /// That of a link of which nothing is known.
    pub fn new(share: f64, span: Time) -> Self {
        Unused { share, span, until: span, seen: Time::ZERO, waits: [false; 2], free: 0.0, last: 0 }
    }

    /// Since it was looked at last, so much of the link was granted nobody.
    #[inline]
    pub(super) fn look(&mut self, now: Time, free: Grains) {
        if self.waits != [false; 2] {
            self.free += free as f64 * now.saturating_sub(self.seen).as_secs_f64();
        }
        self.seen = now;
        if now >= self.until {
            let passed = now.saturating_sub(self.until) + self.span;
            let mean = self.free / passed.as_secs_f64();
            self.last = if self.waits[0] { (mean * self.share) as Grains } else { 0 };
            (self.waits, self.free, self.until) = ([false, self.waits[0]], 0.0, now + self.span);
        }
    }

    /// A flow asked and was granted nothing.
    #[inline]
    pub(super) fn waits(&mut self) {
        self.waits[0] = true;
    }

    /// What may be granted beyond what the link carries.
    #[inline]
    pub(super) fn rate(&self) -> Grains {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Time = Time::from_us(100);

    #[test]
    fn what_nobody_is_granted_while_flows_wait_is_known_for_a_span() {
        let us = Time::from_us;
        let mut unused = Unused::new(0.5, SPAN);
        unused.look(us(20), 1_000);
        unused.waits();
        unused.look(us(60), 500);
        assert_eq!(unused.rate(), 0, "the span is not over");
        // Before anybody waited, it did not count: 40 µs of 500 and 40 of 0, of which a half may be granted.
        unused.look(us(100), 0);
        assert_eq!(unused.rate(), 100);
        // In the next span nobody waits.
        unused.look(us(150), 1_000);
        assert_eq!(unused.rate(), 100);
        unused.look(us(200), 1_000);
        assert_eq!(unused.rate(), 0);
        // Whoever waited in a span is taken to wait in the next one until the next look.
        unused.waits();
        unused.look(us(300), 0);
        unused.waits();
        unused.look(us(500), 200);
        assert_eq!(unused.rate(), 100);
    }
}
