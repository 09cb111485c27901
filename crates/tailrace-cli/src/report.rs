//! `tailrace report`, and the report at the end of other commands.

use std::path::{Path, PathBuf};

use tailrace_config::ScenarioError;
use tailrace_console::{complain, say};
use tailrace_experiment::Error;

use crate::{Host, args};

pub fn report(options: &args::Report, host: &dyn Host) -> Result<i32, Error> {
    if options.out.is_none() && options.folders.len() > 1 {
        let message =
            "missing: the report of several folders belongs to none of them, so say where it is to be";
        return Err(ScenarioError::new("--out", message).into());
    }
    Ok(exit_status(written(&options.folders, options.out.as_deref(), host)))
}

/// What has become of a report.
pub enum Written {
    /// It is there.
    Yes,
    /// It could not be made.
    No,
    /// There is no Python here to make it.
    Never,
}

/// Of who asked for a report.
pub fn exit_status(written: Written) -> i32 {
    i32::from(!matches!(written, Written::Yes))
}

/// Writes the report of a result folder after its runs, and tells the exit status of both. A caller that can write none is no failure.
pub fn at_end(folder: &Path, status: i32, host: &dyn Host) -> i32 {
    match written(&[folder.to_owned()], None, host) {
        Written::No => 1,
        Written::Yes | Written::Never => status,
    }
}

/// Writes the report and says where it is, or why there is none; the results are there all the same.
pub fn written(folders: &[PathBuf], out: Option<&Path>, host: &dyn Host) -> Written {
    match host.report(folders, out) {
        Some(Ok(file)) => {
            say!("report: {}", file.display());
            Written::Yes
        }
        Some(Err(why)) => {
            complain!("error: no report: {why}");
            Written::No
        }
        None => {
            complain!("no report: it needs the Python package (`make demo` sets it up)");
            Written::Never
        }
    }
}
