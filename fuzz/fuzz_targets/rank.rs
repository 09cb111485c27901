//! pFabric's header: whatever decodes encodes to the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailrace_core::Header;
use tailrace_schemes::pfabric::Rank;

const BYTES: usize = Rank::WIRE_BYTES as usize;

fuzz_target!(|raw: &[u8]| {
    if let Some(rank) = Rank::decode(raw) {
        let mut again = [0xAA; BYTES];
        rank.encode(&mut again);
        assert_eq!(again[..], raw[..BYTES]);
        assert_eq!(Rank::decode(&again), Some(rank));
    }
});
