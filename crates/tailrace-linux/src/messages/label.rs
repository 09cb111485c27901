//! What a datagram says of its message, and how messages are cut into segments.

use std::ops::Range;

use tailrace_core::{Bytes, HEADER_BYTES, Header};

use crate::frame::wire;

/// Bytes of a label, between the scheme's header and the payload.
pub(super) const LABEL_BYTES: usize = 9;

/// Of which message a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    /// Tells messages apart that have the same flow number, one after the other.
    pub(super) generation: u32,
    /// Bytes of the message.
    pub(super) length: u32,
    /// Priority of its acknowledgements.
    pub(super) acks: u8,
}

impl Label {
    /// Writes it into the beginning of `out`.
    pub(super) fn encode(&self, out: &mut [u8]) {
        out[..4].copy_from_slice(&self.generation.to_be_bytes());
        out[4..8].copy_from_slice(&self.length.to_be_bytes());
        out[8] = self.acks;
    }

    /// Reads it, and returns what follows it.
    pub(super) fn decode(raw: &[u8]) -> Option<(Label, &[u8])> {
        let (&[g0, g1, g2, g3, l0, l1, l2, l3, acks], rest) = raw.split_first_chunk::<LABEL_BYTES>()?;
        let (generation, length) =
            (u32::from_be_bytes([g0, g1, g2, g3]), u32::from_be_bytes([l0, l1, l2, l3]));
        let known = usize::from(acks) < tailrace_core::MAX_PRIORITIES;
        known.then_some((Label { generation, length, acks }, rest))
    }
}

/// How messages are cut into segments: a segment's datagram is as long as the transport takes its packet to be, so what it
/// carries beside its payload counts as the flow's bytes too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    mss: usize,
    /// Bytes of a segment that are not the message's.
    overhead: usize,
    /// Where the label begins in a datagram.
    pub(super) label_at: usize,
}

impl Cut {
    /// Under a scheme with such headers; `None` if there is no room for a payload.
    pub(super) fn new<H: Header>(mss: u16) -> Option<Self> {
        let label_at = wire::FIXED_BYTES + usize::from(H::WIRE_BYTES);
        let overhead = wire::BELOW + label_at + LABEL_BYTES - usize::from(HEADER_BYTES);
        let mss = usize::from(mss);
        (mss > overhead).then_some(Cut { mss, overhead, label_at })
    }

    fn payload(&self) -> usize {
        self.mss - self.overhead
    }

    /// Segments of a message.
    pub(super) fn segments(&self, length: usize) -> usize {
        length.div_ceil(self.payload()).max(1)
    }

    /// Bytes of the flow that carries a message.
    pub(super) fn flow_bytes(&self, length: usize) -> Bytes {
        Bytes::new((length + self.segments(length) * self.overhead) as u64)
    }

    /// The bytes of a message that are in a segment; `None` if it has no such segment.
    pub(super) fn range(&self, segment: u32, length: usize) -> Option<Range<usize>> {
        let segment = segment as usize;
        let start = segment.checked_mul(self.payload())?;
        (segment < self.segments(length)).then(|| start..length.min(start + self.payload()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn segments_hold_each_byte_once_and_fit_their_packets(length in 0usize..20_000, mss in 43u16..3000) {
            let cut = Cut::new::<()>(mss).unwrap();
            let mut end = 0;
            for segment in 0..cut.segments(length) {
                let range = cut.range(segment as u32, length).unwrap();
                prop_assert_eq!(range.start, end);
                prop_assert!(range.len() + cut.overhead <= usize::from(mss));
                end = range.end;
            }
            prop_assert_eq!(end, length);
            prop_assert_eq!(cut.range(cut.segments(length) as u32, length), None);
            // The transport cuts the flow into as many segments.
            let segments = cut.flow_bytes(length).get().div_ceil(u64::from(mss));
            prop_assert_eq!(segments, cut.segments(length) as u64);
        }

        #[test]
        fn labels_are_what_was_written(generation in any::<u32>(), length in any::<u32>(), acks in 0u8..8) {
            let label = Label { generation, length, acks };
            let mut raw = [0; LABEL_BYTES + 1];
            label.encode(&mut raw);
            prop_assert_eq!(Label::decode(&raw), Some((label, &[0][..])));
            prop_assert_eq!(Label::decode(&raw[..LABEL_BYTES - 1]), None);
        }
    }

    #[test]
    fn segments_without_room_are_refused() {
        assert!(Cut::new::<()>(31).is_none());
        assert!(Cut::new::<()>(32).is_some());
    }
}
