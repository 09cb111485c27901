//! `tailrace bench`.
use crate::args;
use tailrace_experiment::Error;
pub fn bench(_: &args::Bench) -> Result<i32, Error> {
    Ok(0)
}
