//! `tailrace bench --growth`: time and memory as hosts and flows grow, each point in a process of its own.

use serde_json::{Value, json};
use tailrace_experiment::Error;
use tailrace_scenario::Scenario;

use super::parts::{Cost, full, peak_memory};
use super::{Report, in_own_process};

/// A point of the growth tables: `growth:LEAVES:HOSTS_PER_LEAF:SIZES:FLOWS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    leaves: u16,
    hosts_per_leaf: u16,
    sizes: String,
    flows: u32,
}

const SEPARATOR: char = ':';
const PREFIX: &str = "growth";

impl Size {
    fn name(&self) -> String {
        format!("{PREFIX}:{}:{}:{}:{}", self.leaves, self.hosts_per_leaf, self.sizes, self.flows)
    }

    /// Reads what [`Self::name`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split(SEPARATOR).collect();
        let [PREFIX, leaves, hosts_per_leaf, sizes, flows] = parts[..] else { return None };
        Some(Size {
            leaves: leaves.parse().ok()?,
            hosts_per_leaf: hosts_per_leaf.parse().ok()?,
            sizes: sizes.to_owned(),
            flows: flows.parse().ok()?,
        })
    }

    fn hosts(&self) -> u32 {
        u32::from(self.leaves) * u32::from(self.hosts_per_leaf)
    }

    /// Leaves with hosts, and 20 Web Search flows a host.
    pub fn of_hosts(leaves: u16, hosts_per_leaf: u16) -> Self {
        let flows = 20 * u32::from(leaves) * u32::from(hosts_per_leaf);
        Size { leaves, hosts_per_leaf, sizes: "web-search".to_owned(), flows }
    }

    /// The scenario.
    pub fn text(&self) -> String {
        let Size { leaves, hosts_per_leaf, sizes, flows } = self;
        let spines = (hosts_per_leaf / 4).max(1);
        format!(
            "[fabric]\nkind = \"leaf-spine\"\nleaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {hosts_per_leaf}\n\
             host_rate = \"10Gbps\"\nspine_rate = \"40Gbps\"\nhost_delay = \"20.2us\"\nspine_delay = \"0.2us\"\n\
             buffer = \"360KB\"\nload_balancing = \"spray\"\n\
             [transport]\ninitial_window = 70\nmax_window = 239\nrto = \"fixed\"\nloss_detection = \"timeout-only\"\n\
             [workload]\nsizes = \"{sizes}\"\nload = 0.6\nflows = {flows}\n[scheme]\nname = \"pias\"\n"
        )
    }

    /// Runs it in this process.
    pub fn run(&self) -> Result<Value, Error> {
        let before = peak_memory();
        let Cost { packet_hops, cpu_seconds } = full(&Scenario::parse(&self.text())?)?;
        let peak = peak_memory().zip(before).map(|(after, before)| after.saturating_sub(before).get());
        Ok(json!({
            "hosts": self.hosts(), "sizes": self.sizes, "flows": self.flows, "packet_hops": packet_hops,
            "cpu_seconds": cpu_seconds, "packet_hops_per_cpu_second": packet_hops as f64 / cpu_seconds,
            "memory_bytes": peak,
        }))
    }
}

/// Both tables.
pub fn measure() -> Result<Report, Error> {
    let by_hosts = [(2, 8), (4, 16), (9, 16), (16, 16), (16, 32), (32, 32)]
        .map(|(leaves, hosts)| Size::of_hosts(leaves, hosts));
    let by_flows = [1_000, 10_000, 100_000, 1_000_000].map(|flows| Size {
        leaves: 9,
        hosts_per_leaf: 16,
        sizes: "fb-webserver".to_owned(),
        flows,
    });
    let mut rows = Vec::new();
    let mut text = String::new();
    for (title, sizes) in [
        ("hosts, 20 Web Search flows a host", &by_hosts[..]),
        ("flows, web-server sizes, 144 hosts", &by_flows[..]),
    ] {
        text += &format!(
            "growth with {title}\n\n| hosts | flows | packet-hops | CPU s | M packet-hops/s | memory |\n|---|---|---|---|---|---|\n"
        );
        for size in sizes {
            let row = in_own_process(&size.name())?;
            text += &line(&row);
            rows.push(row);
        }
        text += "\n";
    }
    Ok((json!({ "growth": rows }), text))
}

fn line(row: &Value) -> String {
    let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    format!(
        "| {} | {} | {:.1} M | {:.2} | {:.2} | {:.1} MB |\n",
        row["hosts"],
        row["flows"],
        number("packet_hops") / 1e6,
        number("cpu_seconds"),
        number("packet_hops_per_cpu_second") / 1e6,
        number("memory_bytes") / 1e6,
    )
}
