//! The headers of all schemes: whatever decodes encodes to the same bytes, and an answer has no answer.

use tailrace_core::{Header, Scheme};
use tailrace_schemes::{NAMES, SchemeVisitor, with_scheme};

use super::Outcome;

/// Checks the bytes as a header of a scheme; tells whether they are one.
#[derive(Clone, Copy)]
struct Check<'a>(&'a [u8]);

impl SchemeVisitor for Check<'_> {
    type Output = bool;
    fn visit<S: Scheme>(self) -> bool {
        let Check(raw) = self;
        let Some(header) = S::Header::decode(raw) else { return false };
        // A header that takes no link time is encoded in full all the same.
        let written = match usize::from(header.wire_bytes()) {
            0 => usize::from(S::Header::WIRE_BYTES),
            bytes => bytes,
        };
        let mut again = vec![0xAA; usize::from(S::Header::WIRE_BYTES)];
        header.encode(&mut again);
        assert_eq!(again[..written], raw[..written], "{}: {header:?}", S::NAME);
        let read = S::Header::decode(&again).map(|read| format!("{read:?}"));
        assert_eq!(read, Some(format!("{header:?}")), "{}", S::NAME);
        let answer = header.returned().returned();
        assert_eq!(
            format!("{answer:?}"),
            format!("{:?}", S::Header::NONE),
            "{}: an answer is answered",
            S::NAME
        );
        true
    }
}

pub(super) fn check(raw: &[u8]) -> Outcome {
    let is_header = |name: &&&str| with_scheme(name, Check(raw)).expect("the name is of the registry");
    Outcome::Used(NAMES.iter().filter(is_header).copied().collect::<Vec<_>>().join(" "))
}
