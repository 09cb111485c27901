//! Schemes whose ports read a header that the kernel's TCP does not send.

use tailrace_config::ScenarioError;
use tailrace_core::Scheme;

/// Refuses a scheme whose ports need a header; there may be a way out beside another scheme.
pub fn plain_header<S: Scheme>(scheme: &S, otherwise: &str) -> Result<(), ScenarioError> {
    without_header(scheme, "awafs needs none with params = { silence = \"20ms\" }", otherwise)
}

/// The same with the scheme to choose instead.
pub fn without_header<S: Scheme>(scheme: &S, instead: &str, otherwise: &str) -> Result<(), ScenarioError> {
    if !scheme.needs_header() {
        return Ok(());
    }
    let message = format!(
        "is {}, whose ports read a header that the TCP of programs cannot carry; choose another scheme ({instead}){otherwise}",
        S::NAME
    );
    Err(ScenarioError::new("scheme.name", message))
}
