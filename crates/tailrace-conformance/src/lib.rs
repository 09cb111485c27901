//! What every scheme must do, checked: for the schemes that ship, and for those of other crates.
//!
//! ```no_run
//! # use tailrace_core::Scheme;
//! # fn mine<MyScheme: Scheme>() {
//! tailrace_conformance::assert_conforms::<MyScheme>();
//! # }
//! ```
//!
//! A check is a function of the scheme's type that says what is wrong. Most of them let flows run over one
//! [port](rig), with losses, shrinking buffers and marks of others, and look at every packet that goes in or comes out.
//!
//! The crate is a dev-dependency: it brings an allocator that counts, for the checks of [memory].

pub mod headers;
pub mod hosts;
pub mod laws;
pub mod memory;
pub mod params;
pub mod ports;
pub mod rig;
pub mod setting;
pub mod switches;
pub mod worlds;

use std::panic::{AssertUnwindSafe, catch_unwind};

use tailrace_core::Scheme;

/// Fails unless a condition holds, with words like `format!`'s.
macro_rules! ensure {
    ($holds:expr, $($words:tt)*) => {
        if !$holds {
            return Err(format!($($words)*));
        }
    };
}
pub(crate) use ensure;

/// What a check says: nothing, or what is wrong.
pub type Verdict = Result<(), String>;

/// A check of one scheme.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Where it is in this crate.
    pub name: &'static str,
    /// What it does.
    pub run: fn() -> Verdict,
}

impl Check {
    /// What is wrong; a panic in the scheme is.
    pub fn verdict(&self) -> Verdict {
        let outcome = catch_unwind(AssertUnwindSafe(self.run));
        let verdict = outcome.unwrap_or_else(|panic| Err(format!("panics: {}", words(&*panic))));
        verdict.map_err(|wrong| format!("{}: {wrong}", self.name))
    }
}

/// What a panic said.
fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word")
}

macro_rules! checks {
    ($($module:ident::$check:ident),* $(,)?) => {
        vec![$(Check { name: concat!(stringify!($module), "::", stringify!($check)), run: $module::$check::<S> }),*]
    };
}

/// The checks of a scheme's parts, each on its own or at one port.
pub fn checks_of_parts<S: Scheme>() -> Vec<Check> {
    checks![
        params::are_documented_and_round_trip,
        switches::are_told_of_every_queue,
        headers::go_there_and_back,
        hosts::tag_downwards_and_wake_forwards,
        laws::allow_something_finite,
        ports::keep_their_books,
        ports::pass_what_they_would_queue,
        ports::repeat_themselves,
        memory::stays_bounded,
    ]
}

/// The checks of a scheme in whole networks.
pub fn checks_of_worlds<S: Scheme>() -> Vec<Check> {
    checks![worlds::end_balanced_and_repeat_themselves]
}

/// Everything that is wrong with scheme `S` by these checks.
pub fn verdict<S: Scheme>(checks: &[Check]) -> Verdict {
    let wrong: Vec<String> = checks.iter().filter_map(|check| check.verdict().err()).collect();
    ensure!(wrong.is_empty(), "{} does not conform:\n  {}", S::NAME, wrong.join("\n  "));
    Ok(())
}

/// Makes all checks of scheme `S`; panics with everything that is wrong.
pub fn assert_conforms<S: Scheme>() {
    let checks = [checks_of_parts::<S>(), checks_of_worlds::<S>()].concat();
    verdict::<S>(&checks).unwrap_or_else(|wrong| panic!("{wrong}"));
}
