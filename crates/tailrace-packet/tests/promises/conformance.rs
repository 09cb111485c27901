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

/// What is known to be wrong, until it is mended: LIMITATIONS.md says so to users.
const KNOWN: [(&str, &str); 1] = [("pdq", "flows do not end: Horizon")];

#[test]
fn every_scheme_conforms_in_whole_networks() {
    for name in NAMES {
        let verdict = with_scheme(name, Worlds).unwrap();
        match KNOWN.iter().find(|(known, _)| known == name) {
            Some((_, fault)) => {
                let wrong = verdict.expect_err("mended: take it off the list and out of LIMITATIONS.md");
                assert!(wrong.contains(fault), "{wrong}");
            }
            None => assert_eq!(verdict, Ok(())),
        }
    }
}
