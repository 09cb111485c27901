//! Packets that leave no faster than a rate.

use tailrace_core::{LinkRate, Rate, Time};

/// A bucket that fills at a rate and holds a packet or more: when the next packet may leave.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    rate: Option<Rate>,
    link: LinkRate,
    next: Time,
    /// When the last packet left, and what the bucket then lacked, in bytes.
    left: Time,
    lacked: u32,
    /// Bytes that it may lack while a packet leaves: what it holds beside one packet.
    spare: u32,
}

impl Default for Pacer {
    /// Nothing has left, and nothing is held back.
    fn default() -> Self {
        let link = LinkRate::new(Rate::from_gbps(1));
        Pacer { rate: None, link, next: Time::ZERO, left: Time::ZERO, lacked: 0, spare: 0 }
    }
}

impl Pacer {
    /// Paces at `rate` from now on, where after a pause `spare` bytes may leave with a packet. What has left since
    /// the bucket was full counts at the new rate too: a low rate must not hold back a higher one that follows.
    #[inline]
    pub fn set(&mut self, rate: Option<Rate>, spare: u32) {
        if rate != self.rate || (rate.is_some() && spare != self.spare) {
            (self.rate, self.spare) = (rate, spare);
            if let Some(rate) = rate {
                self.link = LinkRate::new(rate);
                self.schedule();
            }
        }
    }

    /// When the next packet may leave, if packets are paced.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.rate.map(|_| self.next)
    }

    /// A packet leaves.
    #[inline]
    pub fn leave(&mut self, now: Time, bytes: u16) {
        if self.rate.is_some() {
            let refilled = if self.spare == 0 { u64::MAX } else { self.link.bytes_in(now - self.left) };
            let lacked = u64::from(self.lacked).saturating_sub(refilled) as u32;
            (self.left, self.lacked) = (now, lacked + u32::from(bytes));
            self.schedule();
        }
    }

    /// The next packet waits for what it may not lack: no more than the last packet's bytes.
    fn schedule(&mut self) {
        let due = self.lacked.saturating_sub(self.spare).min(u16::MAX.into()) as u16;
        self.next = self.left + self.link.time_for(due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_rate_counts_from_the_last_packet_on() {
        let mut pacer = Pacer::default();
        pacer.set(Some(Rate::from_bps(1_000_000)), 0);
        pacer.leave(Time::from_us(5), 1500);
        assert_eq!(pacer.next(), Some(Time::from_us(12_005)));
        pacer.set(Some(Rate::from_gbps(1)), 0);
        assert_eq!(pacer.next(), Some(Time::from_us(17)));
        pacer.set(None, 0);
        assert_eq!(pacer.next(), None);
    }

    #[test]
    fn two_packets_leave_after_a_pause_and_then_one_a_turn() {
        // A full packet every 12 µs.
        let mut pacer = Pacer::default();
        pacer.set(Some(Rate::from_gbps(1)), 1500);
        let mut leave = |us: u64| {
            let now = Time::from_us(us);
            assert!(pacer.next() <= Some(now));
            pacer.leave(now, 1500);
            pacer.next().map(|next| next.saturating_sub(now))
        };
        let wait = |us: u64| Some(Time::from_us(us));
        assert_eq!(leave(100), wait(0));
        assert_eq!(leave(100), wait(12));
        assert_eq!(leave(112), wait(12));
        // Half a packet is saved up by being late, and a whole one by a pause; never two.
        assert_eq!(leave(130), wait(6));
        assert_eq!(leave(148), wait(0));
        assert_eq!(leave(148), wait(12));
        assert_eq!(leave(1000), wait(0));
        assert_eq!(leave(1000), wait(12));
    }

    #[test]
    fn a_burst_means_nothing_where_nothing_is_paced() {
        let mut pacer = Pacer::default();
        pacer.set(None, 1500);
        pacer.leave(Time::from_us(5), 1500);
        assert_eq!(pacer.next(), None);
        pacer.set(Some(Rate::from_gbps(1)), 0);
        assert_eq!(pacer.next(), Some(Time::ZERO));
    }

    #[test]
    fn a_burst_that_changes_counts_from_the_next_packet_on() {
        let rate = Some(Rate::from_gbps(1));
        let mut pacer = Pacer::default();
        let start = Time::from_us(100);
        pacer.set(rate, 0);
        pacer.leave(start, 1500);
        assert_eq!(pacer.next(), Some(start + Time::from_us(12)));
        // Two more packets may leave at once, and no third one.
        pacer.set(rate, 3000);
        assert_eq!(pacer.next(), Some(start));
        pacer.leave(start, 1500);
        pacer.leave(start, 1500);
        assert_eq!(pacer.next(), Some(start + Time::from_us(12)));
        // The burst that has left is still owed.
        pacer.set(rate, 0);
        assert_eq!(pacer.next(), Some(start + Time::from_us(36)));
    }
}
