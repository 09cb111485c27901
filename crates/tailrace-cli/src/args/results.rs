//! Arguments of the commands that are about results.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace gather out/demo
  tailrace show out/demo --each                  the tables alone
The folder is enough: it says which runs it is for. `gather` exits with status 1 if some are missing, `show` does not.")]
pub struct Gather {
    /// Result folder of an experiment
    pub folder: PathBuf,
    /// Show each run, not means over seeds
    #[arg(long)]
    pub each: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace report out/demo                       into out/demo/report.html
  tailrace report out/monday out/tuesday --out week.html
Of an experiment whose runs are not all finished it is about those that are.")]
pub struct Report {
    /// Result folders of experiments
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Where to write; report.html in the folder by default
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}
