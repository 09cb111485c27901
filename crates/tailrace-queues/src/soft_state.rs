//! Sums over flows at a port that knows no flows: what each holds is taken back and counted anew with its next
//! request, and forgotten if there is none.
//!
//! A flow may fall silent with its share counted: its last header, or the answer that would have told its
//! sender what was counted, is lost. So a port numbers spans of time, its epochs, and keeps two sums: of flows
//! that were last counted in this epoch, and in the one before. A header carries back the epoch in which its
//! flow was counted, so that the port takes what it held from the sum that it is in, or from none. What no
//! request moves on is forgotten after two epochs. A sender that does not know what was counted last says
//! [`Epoch::NEVER`]: it is counted twice for a while, and no other flow is ever taken for it.

use tailrace_core::Time;

/// In which of its epochs a port counted a flow last. Numbers take four bits: they come
/// round after 15 epochs, when whoever was counted has long asked again or is forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epoch(u8);

impl Epoch {
    /// In none.
    pub const NEVER: Epoch = Epoch(0);
    /// Of epochs; none has the number 0.
    const NUMBERS: u64 = 15;

    /// As written on the wire.
    pub const fn to_byte(self) -> u8 {
        self.0
    }
    /// As read from the wire.
    pub const fn from_byte(raw: u8) -> Self {
        Epoch(raw)
    }

    /// So many epochs later.
    fn after(self, epochs: u64) -> Self {
        Epoch(((u64::from(self.0) + epochs - 1) % Self::NUMBERS) as u8 + 1)
    }
}

/// What a port counts of a flow.
pub trait Tally: Copy + Default {
    /// Adds what a flow has.
    fn add(&mut self, other: Self);
    /// Takes back what a flow had; nothing goes below zero.
    fn take(&mut self, other: Self);
}

/// The sums of one port.
#[derive(Clone, Copy, Debug)]
pub struct SoftState<T> {
    span: Time,
    ends: Time,
    epoch: Epoch,
    /// Of flows last counted in this epoch.
    recent: T,
    /// Of flows last counted in the epoch before.
    previous: T,
}

impl<T: Tally> SoftState<T> {
    /// Nothing; a flow is forgotten after one to two times `span` of silence.
    pub fn new(span: Time) -> Self {
        SoftState { span, ends: span, epoch: Epoch(1), recent: T::default(), previous: T::default() }
    }

    /// Forgets who has been silent for too long; tells whether an epoch has ended.
    #[inline]
    pub fn advance(&mut self, now: Time) -> bool {
        let ends = now >= self.ends;
        if ends {
            self.turn(now);
        }
        ends
    }

    fn turn(&mut self, now: Time) {
        let epochs = 1 + now.saturating_sub(self.ends).as_ps() / self.span.as_ps();
        self.previous = if epochs == 1 { self.recent } else { T::default() };
        self.recent = T::default();
        self.epoch = self.epoch.after(epochs);
        self.ends += self.span * epochs;
    }

    /// Takes back what a flow held when it was counted.
    #[inline]
    pub fn release(&mut self, counted: Epoch, held: T) {
        if counted == self.epoch {
            self.recent.take(held);
        } else if counted.0 > 0 && counted.after(1) == self.epoch {
            self.previous.take(held);
        }
    }

    /// Counts what a flow holds from now on.
    #[inline]
    pub fn count(&mut self, holds: T) -> Epoch {
        self.recent.add(holds);
        self.epoch
    }

    /// Of all flows.
    #[inline]
    pub fn total(&self) -> T {
        let mut total = self.previous;
        total.add(self.recent);
        total
    }
}

/// A number of flows.
impl Tally for u32 {
    fn add(&mut self, other: u32) {
        *self += other;
    }
    fn take(&mut self, other: u32) {
        *self = self.saturating_sub(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPAN: Time = Time::from_ms(1);

    #[test]
    fn a_silent_flow_is_forgotten_and_its_end_then_takes_nobody_else() {
        let mut state = SoftState::<u32>::new(SPAN);
        let silent = state.count(1);
        state.advance(SPAN);
        let other = state.count(1);
        assert_eq!(state.total(), 2);
        state.advance(SPAN * 2);
        assert_eq!(state.total(), 1);
        state.release(silent, 1);
        assert_eq!(state.total(), 1);
        state.release(other, 1);
        assert_eq!(state.total(), 0);
    }

    #[test]
    fn a_long_pause_forgets_all() {
        let mut state = SoftState::<u32>::new(SPAN);
        let epoch = state.count(7);
        state.advance(SPAN * 300);
        state.release(epoch, 7);
        assert_eq!((state.total(), state.ends), (0, SPAN * 301));
    }

    #[test]
    fn epochs_are_numbered_from_one_to_fifteen_and_carried_in_a_byte() {
        let mut state = SoftState::<u32>::new(SPAN);
        for span in 0..40 {
            state.advance(SPAN * span);
            let epoch = state.count(0);
            assert_eq!(u64::from(epoch.to_byte()), span % 15 + 1);
            assert_eq!(Epoch::from_byte(epoch.to_byte()), epoch);
        }
        assert_eq!(Epoch::NEVER.to_byte(), 0);
    }

    #[test]
    fn who_was_never_counted_takes_nobody_else() {
        let mut state = SoftState::<u32>::new(SPAN);
        for span in 0..40 {
            state.advance(SPAN * span);
            state.count(1);
            let before = state.total();
            state.release(Epoch::NEVER, 1);
            assert_eq!(state.total(), before, "after {span} epochs");
        }
    }

    proptest! {
        /// Flows that ask at least once a span are counted once each, whatever epochs they are seen in.
        #[test]
        fn flows_that_keep_asking_are_counted_exactly(
            steps in prop::collection::vec((0usize..8, 1u64..120), 1..400),
        ) {
            let mut state = SoftState::<u32>::new(SPAN);
            let mut flows = [(Epoch::NEVER, Time::ZERO); 8];
            let mut now = Time::ZERO;
            for (flow, us) in steps {
                now += Time::from_us(us);
                state.advance(now);
                // Whoever would otherwise be silent for a span asks too.
                for (i, (epoch, asked)) in flows.iter_mut().enumerate() {
                    if i == flow || *epoch != Epoch::NEVER && now >= *asked + Time::from_us(800) {
                        state.release(*epoch, 1);
                        (*epoch, *asked) = (state.count(1), now);
                    }
                }
                let known = flows.iter().filter(|(epoch, _)| *epoch != Epoch::NEVER).count();
                prop_assert_eq!(state.total() as usize, known);
            }
        }
    }
}
