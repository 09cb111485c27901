//! The headers of RCP, D3, PDQ and Baraat: whatever decodes encodes to the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailrace_core::Header;
use tailrace_schemes::baraat::BaraatHeader;
use tailrace_schemes::d3::D3Header;
use tailrace_schemes::pdq::PdqHeader;
use tailrace_schemes::rcp::RcpHeader;

fn check<H: Header + PartialEq>(raw: &[u8]) {
    if let Some(header) = H::decode(raw) {
        let len = usize::from(header.wire_bytes());
        let mut again = vec![0xAA; usize::from(H::WIRE_BYTES)];
        header.encode(&mut again);
        assert_eq!(again[..len], raw[..len]);
        assert_eq!(H::decode(&again), Some(header));
        let answer = header.returned();
        assert_eq!(answer.returned(), H::NONE);
    }
}

fuzz_target!(|raw: &[u8]| {
    check::<RcpHeader>(raw);
    check::<D3Header>(raw);
    check::<PdqHeader>(raw);
    check::<BaraatHeader>(raw);
});
