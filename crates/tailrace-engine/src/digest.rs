//! A digest of the event stream: two runs are the same iff their digests are.

/// Folds (time, entity) of every event into 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// Takes in one event.
    #[inline]
    pub fn add(&mut self, at_ps: u64, entity: u32) {
        let event = at_ps.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(entity);
        self.0 = (self.0.rotate_left(5) ^ event).wrapping_mul(0xA24B_AED4_963E_E407);
    }

    /// The digest so far.
    pub fn value(self) -> u64 {
        self.0
    }
}
