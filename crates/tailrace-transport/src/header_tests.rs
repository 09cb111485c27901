//! A header for tests: a number that comes back doubled; without one it takes no room.

use tailrace_core::Header;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TestHeader(pub(crate) u8);

impl Header for TestHeader {
    const NONE: TestHeader = TestHeader(0);
    const WIRE_BYTES: u16 = 9;
    fn encode(&self, out: &mut [u8]) {
        out[0] = self.0;
    }
    fn decode(raw: &[u8]) -> Option<Self> {
        raw.first().map(|&byte| TestHeader(byte))
    }
    fn wire_bytes(&self) -> u16 {
        if self.0 == 0 { 0 } else { Self::WIRE_BYTES }
    }
    fn returned(&self) -> Self {
        TestHeader(self.0 * 2)
    }
}
