//! The scheme of CONTRIBUTING.md, "Add a scheme in an afternoon": its files are those that are printed there, its tests
//! are run, and it conforms.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod live;
mod numbers;
mod sjf;

const CONTRIBUTING: &str = include_str!("../../../../../CONTRIBUTING.md");

/// The blocks of that language in the tutorial.
fn blocks(language: &str) -> Vec<&'static str> {
    let (_, tutorial) = CONTRIBUTING.split_once("\n## Add a scheme in an afternoon\n").unwrap();
    let (tutorial, _) = tutorial.split_once("\n## ").unwrap();
    // Fences in turn open and close a block.
    let blocks = tutorial.split("\n```").skip(1).step_by(2).map(|block| block.split_once('\n').unwrap());
    blocks.filter(|(tongue, _)| *tongue == language).map(|(_, block)| block).collect()
}

#[test]
fn the_tutorial_prints_the_files_that_are_compiled_here() {
    let blocks = blocks("rust");
    let (tests, scheme) = blocks.split_last().unwrap();
    let file = |blocks: &[&str]| blocks.join("\n\n") + "\n";
    assert_eq!(file(scheme), include_str!("sjf/mod.rs"), "mod.rs");
    assert_eq!(file(&[tests]), include_str!("sjf/tests.rs"), "tests.rs");
}

#[test]
fn the_scheme_conforms() {
    tailrace_conformance::assert_conforms::<sjf::Sjf>();
}
