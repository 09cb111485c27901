//! What AWAFS adds to data packets (§4.3.1 "Custom headers" leaves the encoding open).

use tailrace_core::Header;

/// Bytes sent before this packet, and whether it ends its flow. The size of a completed flow is `before`
/// plus the last packet's payload, so it needs no field of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shim {
    /// Payload bytes of the flow that precede this packet.
    pub before: u64,
    /// Whether this is the flow's last packet: the end-of-flow notice.
    pub last: bool,
    /// Whether it takes link time.
    pub on_wire: bool,
}

impl Header for Shim {
    const NONE: Shim = Shim { before: 0, last: false, on_wire: false };
    /// 8 bytes of offset, 1 of flags, 3 reserved.
    const WIRE_BYTES: u16 = 12;

    fn encode(&self, out: &mut [u8]) {
        out.fill(0);
        out[..8].copy_from_slice(&self.before.to_be_bytes());
        out[8] = u8::from(self.last) | u8::from(self.on_wire) << 1;
    }

    fn wire_bytes(&self) -> u16 {
        if self.on_wire { Self::WIRE_BYTES } else { 0 }
    }

    fn decode(raw: &[u8]) -> Option<Self> {
        let (before, rest) = raw.split_first_chunk::<8>()?;
        match rest {
            [flags @ 0..=3, 0, 0, 0, ..] => {
                let (last, on_wire) = (flags & 1 != 0, flags & 2 != 0);
                Some(Shim { before: u64::from_be_bytes(*before), last, on_wire })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_takes_link_time_only_if_it_is_to() {
        let shim = |on_wire| Shim { on_wire, ..Shim::NONE };
        assert_eq!([true, false].map(|on_wire| shim(on_wire).wire_bytes()), [12, 0]);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(before in any::<u64>(), last in any::<bool>(), on_wire in any::<bool>()) {
            let mut raw = [0xAA; 12];
            let shim = Shim { before, last, on_wire };
            shim.encode(&mut raw);
            prop_assert_eq!(Shim::decode(&raw), Some(shim));
        }

        #[test]
        fn whatever_decodes_encodes_to_the_same_bytes(raw in prop::collection::vec(any::<u8>(), 0..20)) {
            if let Some(shim) = Shim::decode(&raw) {
                let mut again = [0; 12];
                shim.encode(&mut again);
                prop_assert_eq!(&again[..], &raw[..12]);
            }
        }
    }
}
