//! Arguments and help.

mod agent;
mod catalogue;
mod developing;
mod live;
mod own;
mod results;

pub use agent::{Agent, Control, Measure};
#[cfg(feature = "agent")]
pub use agent::{Ask, AskFlows, AskStatus, AskTop, By};
pub use catalogue::{Catalogue, Fabrics};
pub use developing::NewScheme;
pub use live::{Emulate, Enter, Proxy, Replay, Switch};
pub use own::{Compare, Demo, OwnTrace};
pub use results::{Gather, Report};

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use tailrace_core::{Rate, Time};

/// Simulate how schemes schedule the flows of a datacenter.
#[derive(Parser)]
#[command(name = "tailrace", version, max_term_width = 100)]
#[command(after_help = "Examples:
  tailrace demo                                  first table, plots and report
  tailrace run FILE --set workload.load=0.7      another load
  tailrace emulate experiments/live/leaf-spine8.toml
                                                 eight hosts for your programs
  tailrace schemes pias                          a scheme's parameters
  tailrace thresholds --sizes my.cdf --load 0.8  thresholds for your own traffic")]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run an experiment: tables, Parquet files and plots
    Run(Run),
    /// Run the experiment that is built in, and write its report: half a minute to the first plot
    Demo(Demo),
    /// Run your flows under several schemes, and compare them flow by flow
    Compare(Compare),
    /// Say what a list of your flows holds: hosts, load of links, sizes, and what to know before it is run
    Describe(OwnTrace),
    /// Put together the finished runs of an experiment that was made in parts, or interrupted
    Gather(Gather),
    /// Show the tables of the runs that are finished
    Show(Gather),
    /// Write the report of results: one HTML file with tables, charts and comparisons, which needs nothing else
    Report(Report),
    /// Run experiments twice; compare digests, expectations and the paper's claims
    Check(Check),
    /// List the claims of experiments, and how they stand by what was measured last
    Claims(Claims),
    /// List the schemes, or show one with its parameters
    #[command(after_help = "Examples:
  tailrace schemes
  tailrace schemes awafs                            its parameters and their defaults
  tailrace schemes --json | jq '.[].name'")]
    Schemes(Catalogue),
    /// List the published flow-size distributions, or show one
    #[command(after_help = "Examples:
  tailrace workloads
  tailrace workloads web-search                     its quantiles, mean and source")]
    Workloads(Catalogue),
    /// List the kinds of fabric and the presets, or show one
    Fabrics(Fabrics),
    /// Compute which flows belong into which queue for your flow sizes
    Thresholds(Thresholds),
    /// Write what switches must be told for a scheme: DSCPs, queues, ECN thresholds
    Qos(Qos),
    /// Write the flows of a scenario as a list that other tools can replay
    Flows(Flows),
    /// Solve a fluid model: long flows over one bottleneck as differential equations
    Fluid(Fluid),
    /// Run a scenario's fabric in real time between hosts of this machine that run programs of yours
    Emulate(Emulate),
    /// Switch frames between real interfaces of this machine, under a scheme
    Switch(Switch),
    /// Run a program on a host of a fabric that `tailrace emulate` runs
    Enter(Enter),
    /// Carry memcached's requests and answers over Tailrace's transport, beside programs on a host of a fabric
    Proxy(Proxy),
    /// Measure the flows of this machine: sizes, durations, load, in files that other commands read
    Measure(Measure),
    /// Tag the packets of this machine's TCP flows as a scheme's hosts would
    Agent(Agent),
    /// Decide for the hosts of a fleet: thresholds of all their flows, weights, over etcd
    Control(Control),
    /// Make the folder of a new scheme, ready to be filled in
    NewScheme(NewScheme),
    /// Give the packets of a live network's record to a fresh one, and compare what it does
    Replay(Replay),
    /// Print what completes this command's words in a shell
    Completions(Completions),
    /// Write this command's manual pages
    Man(Man),
}

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace run experiments/demo.toml
  tailrace run experiments/awafs/web-search.toml --scale 0.05 --jobs 2
  tailrace run experiments/live/*.toml           one after another
  tailrace run FILE --set workload.load=0.7 --set scheme.awafs.params.window=500ms
  tailrace run FILE --only dctcp --only pias --report
  tailrace run FILE --dry-run                    runs, packet-hops, time and disk
  tailrace run FILE --json > summary.json
  tailrace run FILE --cluster tcp://host:8786    on a Dask cluster; also local, slurm:FILE
  tailrace run FILE --part 3/10 --out DIR        on one of ten machines that share DIR
A run that was stopped goes on where it stopped when the same command is given again. `tailrace gather DIR`
puts parts together; in a Slurm array of tasks 1 to 10, a part is
  tailrace run FILE --out DIR --part $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT")]
pub struct Run {
    /// Experiment files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub settings: RunSettings,
    /// Run this scheme only, by its label; may be given several times
    #[arg(long, value_name = "LABEL")]
    pub only: Vec<String>,
    /// Shrink the experiment as its [scale] table says; 1 is the paper's scale
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub scale: f64,
    /// Result folder, of several files the folder of theirs; out/<file's name> by default
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Make the K-th of N parts of the runs only: no tables, no plots
    #[arg(long, value_name = "K/N", conflicts_with = "json")]
    pub part: Option<Shard>,
    /// Make the runs on a Dask cluster: its scheduler's address, slurm:FILE (a TOML file of what
    /// dask_jobqueue.SLURMCluster takes, and of jobs), or local. All machines must see the result folder, unless there is --store
    #[arg(long, value_name = "CLUSTER", conflicts_with_all = ["part", "dry_run", "pcap"])]
    pub cluster: Option<String>,
    /// Where the machines of the cluster leave their runs, to be fetched from there: an address that fsspec knows, such as
    /// s3://bucket/folder
    #[arg(long, value_name = "URL", requires = "cluster")]
    pub store: Option<String>,
    /// Show a run while it is made: flows, and the busiest ports with their queues and marks. Where standard output is no terminal,
    /// lines of JSON: each second one of each run, and the whole summary last
    #[arg(long, conflicts_with_all = ["cluster", "part", "json", "report", "dry_run"])]
    pub watch: bool,
    /// Print the whole summary as one JSON document on standard output
    #[arg(long)]
    pub json: bool,
    /// Write the report as well, as `tailrace report` does
    #[arg(long, conflicts_with_all = ["json", "part"])]
    pub report: bool,
    /// Say what would be run, how long it would take and how much it would leave, and run nothing
    #[arg(long, conflicts_with_all = ["json", "part", "report", "pcap"])]
    pub dry_run: bool,
    /// Write what a port carried as a packet capture into each run's folder; may be given several times
    #[arg(long, value_name = "PORT")]
    pub pcap: Vec<String>,
}

impl Run {
    /// All of one file into a folder, and nothing else.
    pub fn of(file: &Path, settings: RunSettings, scale: f64, out: &Path) -> Self {
        Run {
            files: vec![file.to_owned()],
            settings,
            only: Vec::new(),
            scale,
            out: Some(out.to_owned()),
            part: None,
            cluster: None,
            store: None,
            json: false,
            report: false,
            watch: false,
            dry_run: false,
            pcap: Vec::new(),
        }
    }
}

/// Options of running that several commands have.
#[derive(ClapArgs, Clone)]
pub struct RunSettings {
    /// Change a field: dotted path and value, as in the file
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
    /// What becomes of flows; as the file says by default
    #[arg(long, value_enum)]
    pub level: Option<Level>,
    /// Runs at a time; as many as there are processors by default
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = how_many_runs)]
    pub jobs: Option<usize>,
    /// Threads of each run, packet by packet; 0 is as many as there are processors. By default 1, and of a run by itself
    /// as many as make it faster. Results do not depend on it
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = how_many_threads)]
    pub threads: Option<usize>,
    /// Make finished runs again
    #[arg(long)]
    pub fresh: bool,
    /// Show each run, not means over seeds
    #[arg(long)]
    pub each: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace completions bash > ~/.local/share/bash-completion/completions/tailrace
  tailrace completions zsh > ~/.zfunc/_tailrace")]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

#[derive(ClapArgs)]
#[command(after_help = "Example:
  tailrace man ~/.local/share/man/man1           then: man tailrace-run")]
pub struct Man {
    /// Where to write
    pub folder: PathBuf,
}

#[derive(ClapArgs)]
#[command(after_help = "Example:
  tailrace check experiments/awafs/*.toml --scale 0.01
Exit status 0 only if every expectation holds and every run repeats to the last event.")]
pub struct Check {
    /// Experiment files
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Shrink the experiments as their [scale] tables say
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub scale: f64,
    /// Runs at a time; as many as there are processors by default
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = how_many_runs)]
    pub jobs: Option<usize>,
    /// Keep the results below this folder, in NAME/first and NAME/second; by default they are removed
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example:
  tailrace claims experiments/karuna/*.toml
What was measured is in the files, under `measured`; `tailrace check` measures anew.")]
pub struct Claims {
    /// Experiment files
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print them as one JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

/// A shard of an experiment's runs, one of several: every `of`-th, from the `number`-th on, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// The numbers of its runs, of so many.
    pub fn runs(self, all: usize) -> Vec<usize> {
        (self.number - 1..all).step_by(self.of).collect()
    }
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let read = |text: &str| text.trim().parse::<usize>().ok();
        match text.split_once('/').map(|(number, of)| (read(number), read(of))) {
            Some((Some(number), Some(of))) if (1..=of).contains(&number) => Ok(Shard { number, of }),
            _ => Err("must be K/N with K from 1 to N, such as 3/10".to_owned()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// What becomes of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Every packet
    Packet,
    /// Rates, shared as if feedback were instant and exact
    Flow,
    /// Real packets in real time, between network namespaces of this machine
    Live,
}

impl From<Level> for tailrace_scenario::Level {
    fn from(level: Level) -> Self {
        match level {
            Level::Packet => Self::Packet,
            Level::Flow => Self::Flow,
            Level::Live => Self::Live,
        }
    }
}

/// Schemes with a model of their queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Modelled {
    /// Flows of unknown size sink through all queues
    Pias,
    /// The first queue for deadlines; the others for known sizes, split, and unknown ones, which sink
    Karuna,
}

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace thresholds --sizes web-search --load 0.8 --queues 8
  tailrace thresholds --sizes my-flows.cdf --load 0.6 --queues 4 --json
  tailrace thresholds --scheme karuna --deadline-load 0.2 --known rpc.cdf --known-load 0.3
      --unknown web-search --unknown-load 0.2
pias takes --sizes and --load, karuna the loads and sizes of the kinds of flows.
A file has one point a line: size in bytes and cumulative probability, ending at 1.")]
pub struct Thresholds {
    /// The scheme whose thresholds are wanted
    #[arg(long, value_enum, value_name = "NAME", default_value = "pias")]
    pub scheme: Modelled,
    #[command(flatten)]
    pub traffic: Traffic,
    /// Number of strict-priority queues, at most 8
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub queues: u8,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What shares a link: flows that are all alike, or kinds of flows by what they say of themselves.
#[derive(ClapArgs)]
pub struct Traffic {
    /// Sizes of all flows: name of a published distribution, or a CDF file
    #[arg(long, value_name = "NAME|FILE")]
    pub sizes: Option<String>,
    /// Load of the link that goes with --sizes, between 0 and 1
    #[arg(long, value_name = "LOAD", allow_negative_numbers = true)]
    pub load: Option<f64>,
    /// By kinds instead: share of the link that flows with deadlines take; 0 by default
    #[arg(long, value_name = "LOAD", allow_negative_numbers = true)]
    pub deadline_load: Option<f64>,
    /// Sizes of flows that say theirs; as --sizes
    #[arg(long, value_name = "NAME|FILE")]
    pub known: Option<String>,
    /// Share of the link that flows of known size take
    #[arg(long, value_name = "LOAD", allow_negative_numbers = true)]
    pub known_load: Option<f64>,
    /// Sizes of flows that do not say theirs; as --sizes
    #[arg(long, value_name = "NAME|FILE")]
    pub unknown: Option<String>,
    /// Share of the link that flows of unknown size take
    #[arg(long, value_name = "LOAD", allow_negative_numbers = true)]
    pub unknown_load: Option<f64>,
}

/// Configurations that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QosFormat {
    /// Tables of SONiC's config_db.json
    Sonic,
    /// A shell script that sets up a Linux interface with tc
    LinuxTc,
    /// The plan itself, for tools of your own
    Json,
}

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace qos --scheme pias --sizes my.cdf --load 0.6 --rates 10Gbps,40Gbps --format json
  tailrace qos --scheme karuna --deadline-load 0.2 --known rpc.cdf --known-load 0.3
      --unknown web-search --unknown-load 0.2 --rates 10Gbps --format linux-tc --out karuna.sh
  tailrace qos own.toml --scheme pias --format linux-tc --out pias.sh
  tailrace qos own.toml --scheme pias --format sonic --ports 1Gbps=Ethernet0,Ethernet4 --out pias.json
  tailrace qos own.toml --scheme pias --rates 1Gbps --apply eth1
  tailrace qos --remove eth1
Without a file, sizes and loads are for schemes that derive thresholds from them.
A sweep counts with its first point. Nothing is written if anything is wrong.")]
pub struct Qos {
    /// Experiment file that has the scheme with its parameters
    pub file: Option<PathBuf>,
    /// The scheme: its label in the file, or its name
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// What to write
    #[arg(long, value_enum, value_name = "FORMAT", required_unless_present_any = ["apply", "remove"])]
    pub format: Option<QosFormat>,
    /// Set up this interface of this machine, in place of writing anything
    #[arg(long, value_name = "INTERFACE", conflicts_with_all = ["format", "ports", "out"])]
    pub apply: Option<String>,
    /// Take away what --apply has set up at this interface, and do nothing else
    #[arg(long, value_name = "INTERFACE", exclusive = true)]
    pub remove: Option<String>,
    /// Rates of your links; those of the file's fabric by default
    #[arg(long, value_name = "RATE,RATE", value_delimiter = ',')]
    pub rates: Vec<Rate>,
    /// Without a file: number of queues; the scheme's own by default
    #[arg(long, value_name = "N")]
    pub queues: Option<u8>,
    #[command(flatten)]
    pub traffic: Traffic,
    /// Change a field: dotted path and value, as in the file
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
    /// For sonic: the ports of a rate; may be given several times
    #[arg(long, value_name = "RATE=PORT,PORT")]
    pub ports: Vec<String>,
    /// Where to write; standard output by default
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example:
  tailrace flows experiments/demo.toml --out flows.csv
Columns: src,dst,size_bytes,start_ns,deadline_ns,class,slice,task,flow_type. Read back with
workload.flow_list = \"flows.csv\".")]
pub struct Flows {
    /// Experiment file; its first scheme and first point of the sweep count
    pub file: PathBuf,
    /// Change a field: dotted path and value, as in the file
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
    /// Shrink the experiment as its [scale] table says
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub scale: f64,
    /// Where to write: a .csv or .parquet file
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace fluid experiments/uranus/fluid/wvcc.toml
  tailrace fluid own.toml --out out/own --json
A file has law (dctcp, wvcc or acdc), rate, rtt, marking_threshold, duration, and
flows = N, weights = [...] or priorities = [...], or a [[flow]] for each.")]
pub struct Fluid {
    /// File of the model
    pub file: PathBuf,
    /// Result folder; out/<file's name> by default
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the means as one JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

/// A number of runs at a time.
fn how_many_runs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(runs) if runs > 0 => Ok(runs),
        _ => Err("must be a whole number from 1 on, such as 2".to_owned()),
    }
}

/// A number of threads.
fn how_many_threads(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "must be a whole number from 0 on, such as 2".to_owned())
}

/// A time that something may last.
fn some_time(text: &str) -> Result<Time, String> {
    match text.parse() {
        Ok(Time::ZERO) => Err("must be more than no time, such as 10s".to_owned()),
        parsed => parsed.map_err(|error: <Time as FromStr>::Err| error.to_string()),
    }
}
