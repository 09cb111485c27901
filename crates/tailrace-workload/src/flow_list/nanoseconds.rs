//! Times in lists: numbers of nanoseconds.

use tailrace_core::Time;

/// Reads nanoseconds with up to three decimals.
pub(super) fn picoseconds(text: &str) -> Option<Time> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 3 || !digits(whole) || !digits(part) {
        return None;
    }
    let part: u64 = format!("{part:0<3}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(part).map(Time::from_ps)
}

/// Writes nanoseconds as they are read.
pub(super) fn nanoseconds(time: Time) -> String {
    match time.as_ps() % 1_000 {
        0 => format!("{}", time.as_ns()),
        part => format!("{}.{part:03}", time.as_ns()),
    }
}
