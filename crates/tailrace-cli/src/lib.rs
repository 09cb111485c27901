//! The command line. [`run`] is the whole program; the binary and the Python package call it.

mod args;
mod catalogue;
mod check;
mod claims;
mod compare;
mod demo;
mod describe;
mod fabric_text;
mod flows;
mod fluid;
mod forecast;
mod gather;
#[cfg(live)]
mod live;
#[cfg(not(live))]
#[path = "no_live.rs"]
mod live;
mod manual;
mod mistake;
mod new_scheme;
mod output;
mod overrides;
mod progress;
mod qos;
mod report;
mod run;
mod tables;
mod thresholds;
mod traffic;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use mimalloc::MiMalloc;
use tailrace_console::complain;
use tailrace_experiment::{Error, Experiment, Folder, Observer};

pub use compare::comparison_of;
pub use live::provide as provide_live;

/// Of all programs that have this library: the command and the Python package.
#[global_allocator]
static MEMORY: MiMalloc = MiMalloc;

/// What the command needs from whoever calls it.
pub trait Host {
    /// Whether the user asked to stop (Ctrl-C).
    fn interrupted(&self) -> bool;
    /// Draws the plots of a finished result folder; `None` if this caller cannot.
    fn draw(&self, dir: &Path) -> Option<Drawn>;
    /// Writes the report of result folders, into the only one unless it is said where; its path, or what was wrong. `None` if this
    /// caller cannot.
    fn report(&self, _dirs: &[PathBuf], _out: Option<&Path>) -> Option<Result<PathBuf, String>> {
        None
    }
    /// Has a cluster make the runs of an experiment that its folder has not got; `observer` hears of each that is finished. `None`
    /// if this caller cannot.
    fn on_cluster(
        &self,
        _experiment: &Experiment,
        _folder: &Folder,
        _how: &Cluster<'_>,
        _observer: &mut dyn Observer,
    ) -> Option<Result<(), Error>> {
        None
    }
}

/// Machines that make runs, and how.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    /// Which: `local`, the address of a scheduler, `slurm:FILE`.
    pub place: &'a str,
    /// How many workers, where the cluster is one's own.
    pub jobs: Option<usize>,
    /// Where they leave their runs; in the folder if nothing is said.
    pub store: Option<&'a str>,
    /// Whether runs that are there are made again.
    pub fresh: bool,
}

/// What has become of the plots of a result folder.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// The pictures.
    pub files: Vec<PathBuf>,
    /// What was wrong with each plot that could not be drawn.
    pub failures: Vec<String>,
}

/// Runs the command with `args` (the program's name first); returns its exit status: 0 for success, 1 for
/// a failure or an unmet expectation, 2 for the user's mistakes.
pub fn run(args: impl IntoIterator<Item = OsString>, host: &dyn Host) -> i32 {
    live::provide();
    let args = match args::Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // A closed pipe is no reason to fail.
            let _ = error.print();
            return error.exit_code();
        }
    };
    match dispatch(&args.command, host) {
        Ok(status) => status,
        Err(error) => {
            complain!("error: {error}");
            error.exit_status()
        }
    }
}

fn dispatch(command: &args::Command, host: &dyn Host) -> Result<i32, Error> {
    use args::Command;
    match command {
        Command::Run(options) => run::run(options, host),
        Command::Demo(options) => demo::demo(options, host),
        Command::Compare(options) => compare::compare(options, host),
        Command::Describe(options) => describe::describe(options),
        Command::Gather(options) => gather::gather(options, host),
        Command::Show(options) => gather::show(options),
        Command::Report(options) => report::report(options, host),
        Command::Check(options) => check::check(options, host),
        Command::Claims(options) => claims::claims(options),
        Command::Schemes(options) => catalogue::schemes(options),
        Command::Workloads(options) => catalogue::workloads(options),
        Command::Fabrics(options) => catalogue::fabrics(options),
        Command::Thresholds(options) => thresholds::thresholds(options),
        Command::Qos(options) => qos::qos(options),
        Command::Flows(options) => flows::flows(options),
        Command::Fluid(options) => fluid::fluid(options, host),
        Command::Emulate(options) => live::emulate(options, host),
        Command::Switch(options) => live::switch(options, host),
        Command::Enter(options) => live::enter(options),
        Command::Proxy(options) => live::proxy(options, host),
        Command::Measure(options) => live::measure(options, host),
        Command::Agent(options) => live::agent(options, host),
        Command::Control(options) => live::control(options, host),
        Command::NewScheme(options) => new_scheme::new_scheme(options),
        Command::Replay(options) => live::replay(options),
        Command::Completions(options) => manual::completions(options),
        Command::Man(options) => manual::man(options),
    }
}

/// The program without Python: Ctrl-C by signal handler, no plots.
pub fn main() -> i32 {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    struct Plain;
    impl Host for Plain {
        fn interrupted(&self) -> bool {
            INTERRUPTED.load(Ordering::Relaxed)
        }
        fn draw(&self, _: &Path) -> Option<Drawn> {
            None
        }
    }
    let handler = || {
        // Asked twice, the user means it.
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        complain!("warning: Ctrl-C will not end runs cleanly: {error}");
    }
    run(std::env::args_os(), &Plain)
}
