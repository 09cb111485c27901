//! Packets that leave no faster than a rate.

use tailrace_core::{LinkRate, Rate, Time};

/// When the next packet may leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    rate: Option<Rate>,
    link: LinkRate,
    next: Time,
    /// The packet that left last: when, and its bytes.
    left: Time,
    bytes: u16,
}

impl Pacer {
    /// Nothing has left, and nothing is held back.
    pub(crate) fn new() -> Self {
        let link = LinkRate::new(Rate::from_gbps(1));
        Pacer { rate: None, link, next: Time::ZERO, left: Time::ZERO, bytes: 0 }
    }

    /// Paces at `rate` from now on. The packet that left last counts at the new rate too: a low rate must not
    /// hold back a higher one that follows.
    #[inline]
    pub(crate) fn set(&mut self, rate: Option<Rate>) {
        if rate != self.rate {
            self.rate = rate;
            if let Some(rate) = rate {
                self.link = LinkRate::new(rate);
                self.next = self.left + self.link.time_for(self.bytes);
            }
        }
    }

    /// When the next packet may leave, if packets are paced.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.rate.map(|_| self.next)
    }

    /// A packet leaves.
    #[inline]
    pub(crate) fn leave(&mut self, now: Time, bytes: u16) {
        if self.rate.is_some() {
            self.left = now.max(self.next);
            self.bytes = bytes;
            self.next = self.left + self.link.time_for(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_rate_counts_from_the_last_packet_on() {
        let mut pacer = Pacer::new();
        pacer.set(Some(Rate::from_bps(1_000_000)));
        pacer.leave(Time::from_us(5), 1500);
        assert_eq!(pacer.next(), Some(Time::from_us(12_005)));
        pacer.set(Some(Rate::from_gbps(1)));
        assert_eq!(pacer.next(), Some(Time::from_us(17)));
        pacer.set(None);
        assert_eq!(pacer.next(), None);
    }
}
