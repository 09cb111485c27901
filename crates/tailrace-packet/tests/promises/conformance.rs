//! What every registered scheme must do in whole networks.

use tailrace_conformance::{Verdict, checks_of_worlds, verdict};
use tailrace_core::Scheme;
use tailrace_schemes::{NAMES, SchemeVisitor, with_scheme};

struct Worlds;

impl SchemeVisitor for Worlds {
    type Output = Verdict;
    fn visit<S: Scheme>(self) -> Verdict {
        verdict::<S>(&checks_of_worlds::<S>())
    }
}

#[test]
fn every_scheme_conforms_in_whole_networks() {
    for name in NAMES {
        assert_eq!(with_scheme(name, Worlds).unwrap(), Ok(()));
    }
}
