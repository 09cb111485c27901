//! Arguments of what runs in real time.

use std::ffi::OsString;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::PathBuf;

use clap::Args as ClapArgs;
use tailrace_core::{HostId, Time};

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace emulate experiments/live/leaf-spine8.toml
  tailrace emulate FILE --scheme pias --set fabric.host_rate=50Mbps --name fifty
  tailrace emulate FILE --scheme pias --agents   hosts tag as the scheme says
  tailrace emulate FILE --for 10s --metrics 127.0.0.1:9090 > lines.txt
  tailrace emulate --clean
Needs root and `ip` of iproute2. Hosts are network namespaces, NAME-h0, NAME-h1, and so on; run
programs on them with `tailrace enter h0 -- PROGRAM`. The fabric ends with q or Ctrl-C, and programs
on its hosts with it.
A program sets DSCP D with IP_TOS = 4 D; the scheme's switch plan says which queue that is.
A file's flows mean nothing here; a sweep counts with its first point.")]
pub struct Emulate {
    /// Experiment file; its first scheme and first point of the sweep count
    #[arg(required_unless_present = "clean")]
    pub file: Option<PathBuf>,
    /// The scheme, by its label in the file; the first by default
    #[arg(long, value_name = "LABEL")]
    pub scheme: Option<String>,
    /// Change a field: dotted path and value, as in the file
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
    /// Hosts send only what `tailrace proxy` carries, so any scheme will do
    #[arg(long)]
    pub proxies: bool,
    /// Hosts run the host agent, which does the scheme's part at hosts: tags, or windows
    #[arg(long, conflicts_with = "proxies")]
    pub agents: bool,
    /// What namespaces' names begin with; the file's name by default
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// End by itself after so long
    #[arg(long = "for", value_name = "TIME", value_parser = super::some_time)]
    pub lasts: Option<Time>,
    /// Answer Prometheus at this address of the loopback interface
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,
    /// Write down every packet that enters the network, leaves it or is dropped, for `tailrace replay`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Take away what emulations have left that could not do it themselves, and do nothing else
    #[arg(long, conflicts_with_all = ["file", "scheme", "set", "proxies", "agents", "name", "lasts", "metrics", "record"])]
    pub clean: bool,
}

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace switch switch.toml
  tailrace switch switch.toml --metrics 127.0.0.1:9400 > lines.txt
  kill -HUP PID                                  read the file again, and go on as it says
A file:
  [switch]
  buffer = \"200KB\"

  [[port]]
  interface = \"eth1\"
  rate = \"1Gbps\"

  [[port]]
  interface = \"eth2\"
  rate = \"100Mbps\"
  macs = [\"02:00:00:00:00:0a\"]

  [scheme]
  name = \"dctcp\"
Needs root to begin with, and goes on as user nobody. The interfaces take in all frames as long as it runs.
It ends with q, Ctrl-C or SIGTERM. There is no spanning tree: a loop must not be built.")]
pub struct Switch {
    /// File of the switch
    pub file: PathBuf,
    /// End by itself after so long
    #[arg(long = "for", value_name = "TIME", value_parser = super::some_time)]
    pub lasts: Option<Time>,
    /// Answer Prometheus at this address of the loopback interface
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,
}

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace enter h3 -- ping h0
  tailrace enter fifty/h3 -- iperf3 --server
  tailrace enter h3                              a shell on host h3
Hosts know one another as h0, h1, and so on. Exit status is the program's, or 1 where it cannot be started.")]
pub struct Enter {
    /// The host, such as h3, or NAME/h3 where several emulations run
    pub host: String,
    /// The emulation, by its name
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The program and its arguments; your shell by default
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(ClapArgs)]
#[command(after_help = "Examples:
  tailrace enter h4 -- tailrace proxy FILE --memcached
                                                beside a memcached, on its host
  tailrace enter h0 -- tailrace proxy FILE --servers 4,5,6
                                                beside its clients: host 4's memcached is at 127.0.0.1:11211,
                                                host 5's at 127.0.0.1:11212, host 6's at 127.0.0.1:11213
  tailrace proxy FILE --scheme rcp --servers 4,5,6 --listen 127.0.0.1:11211 --listen 127.0.0.2:11211
FILE is what the fabric runs, and the proxy speaks the fabric's scheme. It must run in a host of the fabric.
What clients of one address ask within a millisecond, before any of it is answered, is one task.")]
pub struct Proxy {
    /// Experiment file; its first scheme and first point of the sweep count
    pub file: PathBuf,
    /// The scheme, by its label in the file; the first by default
    #[arg(long, value_name = "LABEL")]
    pub scheme: Option<String>,
    /// Change a field: dotted path and value, as in the file
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
    /// The hosts of memcached servers that clients of this host use
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', value_parser = host_number)]
    pub servers: Vec<HostId>,
    /// Where clients find the first server; the others are at the next ports. May be given several times
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:11211")]
    pub listen: Vec<SocketAddrV4>,
    /// The memcached of this host, if others are to reach it; 127.0.0.1:11211 if no address is given
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:11211")]
    pub memcached: Option<SocketAddr>,
}

#[derive(ClapArgs)]
#[command(after_help = "Example:
  tailrace emulate scenario.toml --record run.rec
  tailrace replay run.rec
A record holds the scenario and every packet that entered the network, left it or was dropped. The simulated
network is given the same packets at the same times, and must do the same to the byte. Exit status 0 only if
it does.")]
pub struct Replay {
    /// The record
    pub file: PathBuf,
}

fn host_number(text: &str) -> Result<HostId, String> {
    text.parse().map_err(|_| "must be hosts' numbers, such as 4,5,6: h4 has number 4".to_owned())
}
