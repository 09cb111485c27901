//! Arguments of the host agent.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use tailrace_core::{Rate, Time};

/// By what connections are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The port of the end that was asked: the service
    Port,
    /// The cgroup (version 2) of the socket
    Cgroup,
    /// The slice, by the rules of an agent's file (--rules)
    Slice,
}

#[derive(Clone, ClapArgs)]
#[command(after_help = "Examples:
  tailrace measure --for 10m --interface eth0 --out out/monday
  tailrace thresholds --sizes out/monday/sizes.cdf --load 0.3
  tailrace measure --for 10m --by port           sizes of each service, too
  tailrace measure --for 10m --by slice --rules agent.toml
  tailrace measure --cgroup /system.slice/nginx.service --rate 10Gbps
Needs root and a kernel with BTF. The folder gets sizes.cdf (flow sizes, as --sizes and [workload] take them),
flows.csv (a flow list) with hosts.csv (which host is which address), and summary.toml, with the load. It
appears when the capture has ended, with all files, or not at all. Without --for, Ctrl-C ends the capture.
Connections of other network namespaces, such as those of containers, are not seen.")]
pub struct Measure {
    /// End by itself after so long
    #[arg(long = "for", value_name = "TIME", value_parser = super::some_time)]
    pub lasts: Option<Time>,
    /// Connections over this interface only; all but loopback by default
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// Connections of sockets in this cgroup and below only
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<PathBuf>,
    /// Statistics and sizes of each group of connections as well
    #[arg(long, value_enum, value_name = "WHAT")]
    pub by: Option<By>,
    /// For --by slice: an agent's file, whose [[rule]]s say which connections are of which slice
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// The link's rate, for the load; with --interface, what the interface says by default
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,
    /// Result folder, which must not be there
    #[arg(long, value_name = "DIR", default_value = "out/measured")]
    pub out: PathBuf,
}

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace agent agent.toml --dry-run            the table of tags, without touching anything
  tailrace agent agent.toml
  tailrace agent agent.toml --metrics 127.0.0.1:9400
  tailrace agent status                          what agents that run do
  tailrace agent top --interface eth0            its fastest flows, second by second
  kill -HUP PID                                  read the file again, and go on as it says
A file:
  [agent]
  interface = \"eth0\"

  [scheme]
  name = \"pias\"
  params = { thresholds = [\"10KB\", \"100KB\", \"1MB\"], port = { queues = 4 } }
Name and params are those of an experiment. With [workload], sizes and load in it, thresholds can follow from
the traffic, as `tailrace measure` has found it. Needs root and Linux 6.6 or newer with BTF. The packets of
TCP flows that leave the interface get a DSCP by the bytes of their flow before them; `tailrace qos` says
which queues switches must have for it. It ends with Ctrl-C or SIGTERM, and nothing is left behind, however
it ends. With `pins = \"/sys/fs/bpf\"` its program stays and goes on tagging, until the next agent takes over
or `tailrace agent detach FILE`.")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Agent {
    /// File of the agent; ./status where it is called like a command
    #[arg(required = true)]
    pub file: Option<PathBuf>,
    #[command(subcommand)]
    pub ask: Option<Ask>,
    /// Print how packets would be tagged, and end
    #[arg(long)]
    pub dry_run: bool,
    /// End by itself after so long
    #[arg(long = "for", value_name = "TIME", value_parser = super::some_time)]
    pub lasts: Option<Time>,
    /// Answer Prometheus at this address of the loopback interface
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,
}

/// What agents that run are asked, and what is left of others.
#[derive(Subcommand)]
pub enum Ask {
    /// What each agent of this network namespace does: its tags, what it has tagged, what it has heard of flows
    Status(AskStatus),
    /// The flows that an agent remembers, those first that have sent most
    Flows(AskFlows),
    /// The flows of an agent that send most, second by second; q ends it
    Top(AskTop),
    /// Take away what an agent whose file has `pins` leaves at its interface
    Detach(Detach),
}

#[derive(ClapArgs)]
pub struct Detach {
    /// File of the agent
    pub file: PathBuf,
}

#[derive(ClapArgs)]
pub struct AskStatus {
    /// The agent of this interface only
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// Print JSON: an array with an agent each
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs)]
pub struct AskFlows {
    /// The agent's interface; not needed where one agent runs
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub most: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs)]
pub struct AskTop {
    /// The agent's interface; not needed where one agent runs
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// End by itself after so long
    #[arg(long = "for", value_name = "TIME", value_parser = super::some_time)]
    pub lasts: Option<Time>,
}

#[derive(Clone, ClapArgs)]
#[command(after_help = "Examples:
  tailrace control control.toml
  tailrace control control.toml --metrics 127.0.0.1:9401
A file:
  [control]
  endpoints = [\"https://10.0.0.1:2379\"]
  ca = \"ca.pem\"
  user = \"fleet\"
  password_file = \"password\"

  [scheme]
  name = \"awafs\"
  params = { placement = \"host\", period = \"1s\", window = \"10s\" }
Agents with the same [control] and [scheme] tell which flows have ended, and do as this says. Several may run:
one leads, and another takes over within two slots when it is gone. It ends with Ctrl-C or SIGTERM; agents
keep the last values.")]
pub struct Control {
    /// File of the controller
    pub file: PathBuf,
    /// End by itself after so long
    #[arg(long = "for", value_name = "TIME", value_parser = super::some_time)]
    pub lasts: Option<Time>,
    /// Answer Prometheus at this address of the loopback interface
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,
}
