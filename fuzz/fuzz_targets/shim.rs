//! AWAFS' header: whatever decodes encodes to the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailrace_core::Header;
use tailrace_schemes::awafs::Shim;

const BYTES: usize = Shim::WIRE_BYTES as usize;

fuzz_target!(|raw: &[u8]| {
    if let Some(shim) = Shim::decode(raw) {
        let mut again = [0xAA; BYTES];
        shim.encode(&mut again);
        assert_eq!(again[..], raw[..BYTES]);
        assert_eq!(Shim::decode(&again), Some(shim));
    }
});
