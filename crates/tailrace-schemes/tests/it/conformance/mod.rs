//! What every registered scheme must do. A new scheme is tested by being registered.

mod mutant;
mod mutants;
mod notes;

use tailrace_conformance::{checks_of_parts, verdict};
use tailrace_core::Scheme;
use tailrace_schemes::{NAMES, SchemeVisitor, with_scheme};

struct Parts;

impl SchemeVisitor for Parts {
    type Output = tailrace_conformance::Verdict;
    fn visit<S: Scheme>(self) -> Self::Output {
        verdict::<S>(&checks_of_parts::<S>())
    }
}

#[test]
fn every_scheme_conforms() {
    let wrong: Vec<_> = NAMES.iter().filter_map(|name| with_scheme(name, Parts).unwrap().err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
