//! Arguments of the commands that need no experiment: flows of one's own, and the one that is built in.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use tailrace_experiment::trace::Mapping;

use super::RunSettings;

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace demo                                  into tailrace-demo
  tailrace demo --scale 0.1                      a few seconds
What it runs is an ordinary experiment, demo.toml in the folder: change it, and run it with `tailrace run`.")]
pub struct Demo {
    /// Where its file and its results go
    #[arg(long, value_name = "DIR", default_value = "tailrace-demo")]
    pub out: PathBuf,
    /// Shrink the experiment as its [scale] table says
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub scale: f64,
    /// Runs at a time; as many as there are processors by default
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::how_many_runs)]
    pub jobs: Option<usize>,
}

/// Flows of one's own, and the fabric that they are for.
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace describe trace.csv
  tailrace describe trace.parquet --fabric rack16
  tailrace describe port.pcapng
  tailrace describe trace.csv --column start=ts:us --column size=\"payload length\"
Columns are recognised by their names (start_s, timestamp, src, srcIP, dst, bytes, size_kb, deadline_ms, task, …).")]
pub struct OwnTrace {
    /// The flows: CSV with a header or Parquet, one flow a row; or a capture of packets, pcap or pcapng
    pub trace: PathBuf,
    /// A preset's name, a file whose [fabric] it is (.toml), or a graph's (GraphML, GML, links, HPCC, htsim); by default one switch
    /// (or leaves and spines) fast enough for the flows
    #[arg(long, value_name = "NAME|FILE")]
    pub fabric: Option<String>,
    /// What a column is: src, dst, size, start, deadline, class, slice, task or flow_type, with a unit where it has one
    #[arg(long = "column", value_name = "ROLE=COLUMN[:UNIT]")]
    pub columns: Vec<Mapping>,
}

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace compare trace.csv
  tailrace compare trace.csv --schemes dctcp,pias,karuna --fabric spine144
  tailrace compare trace.csv --level flow --schemes rcp,srpt
The first scheme is the one that others are compared with. What is run is an ordinary experiment: TRACE.toml in the folder,
beside the flows that it names. Change it, and run it with `tailrace run`. Results are in the folder's results.
--fresh writes TRACE.toml anew, too.")]
pub struct Compare {
    #[command(flatten)]
    pub own: OwnTrace,
    /// Schemes, separated by commas; some usual ones by default
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub schemes: Vec<String>,
    #[command(flatten)]
    pub settings: RunSettings,
    /// Folder of the experiment and its results; out/<trace's name> by default
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
