//! `tailrace qos --apply` in a build without the live half: it answers with what is missing.

use tailrace_experiment::Error;

use super::job::Job;

pub fn apply(_: &Job, _: &str) -> Result<(), Error> {
    Err(crate::live::absent())
}

pub fn remove(_: &str) -> Result<(), Error> {
    Err(crate::live::absent())
}
