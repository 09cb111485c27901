//! How many cases property tests draw. `make soak` raises all of them by one factor, `TAILRACE_CASES`.

use proptest::test_runner::Config;

/// As many cases as given, times the factor in `TAILRACE_CASES`, which is 1 by default.
///
/// # Panics
///
/// If the factor is no whole number from 1 on.
pub fn cases(number: u32) -> Config {
    let factor = std::env::var("TAILRACE_CASES").map_or(1, |text| {
        text.parse()
            .ok()
            .filter(|factor| *factor > 0)
            .unwrap_or_else(|| panic!("TAILRACE_CASES is \"{text}\", but must be a whole number from 1 on"))
    });
    Config::with_cases(number.saturating_mul(factor))
}
