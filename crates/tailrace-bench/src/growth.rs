//! `tailrace-bench --growth`: time and memory as hosts and flows grow, each point in a process of its own.

use crate::error::Error;
use cpu_time::ThreadTime;
use serde_json::{Value, json};
use tailrace_console::complain;
use tailrace_scenario::Scenario;

use crate::stacks::{Cost, full, peak_memory};
use crate::{Report, in_own_process, memory};

/// A point of the growth tables: `growth:SHAPE:SIZES:FLOWS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    shape: Shape,
    sizes: String,
    flows: u32,
}

/// A fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// `LEAVES:HOSTS_PER_LEAF`: two tiers without oversubscription.
    Leaves(u16, u16),
    /// `fat-tree:RADIX`: three tiers.
    FatTree(u16),
}

const SEPARATOR: char = ':';
const PREFIX: &str = "growth";
const FAT_TREE: &str = "fat-tree";

impl Shape {
    fn hosts(self) -> u32 {
        match self {
            Shape::Leaves(leaves, each) => u32::from(leaves) * u32::from(each),
            Shape::FatTree(radix) => u32::from(radix).pow(3) / 4,
        }
    }

    fn name(self) -> String {
        match self {
            Shape::Leaves(leaves, each) => format!("{leaves}{SEPARATOR}{each}"),
            Shape::FatTree(radix) => format!("{FAT_TREE}{SEPARATOR}{radix}"),
        }
    }

    fn parse([first, second]: [&str; 2]) -> Option<Self> {
        let second = second.parse().ok()?;
        match first {
            FAT_TREE => Some(Shape::FatTree(second)),
            leaves => Some(Shape::Leaves(leaves.parse().ok()?, second)),
        }
    }

    /// Fields of `[fabric]`.
    fn fields(self) -> String {
        match self {
            Shape::Leaves(leaves, each) => format!(
                "kind = \"leaf-spine\"\nleaves = {leaves}\nspines = {}\nhosts_per_leaf = {each}\n\
                 host_rate = \"10Gbps\"\nspine_rate = \"40Gbps\"\nhost_delay = \"20.2us\"\nspine_delay = \"0.2us\"\n",
                (each / 4).max(1)
            ),
            Shape::FatTree(radix) => format!(
                "kind = \"fat-tree\"\nradix = {radix}\nhost_rate = \"10Gbps\"\nhost_delay = \"20.2us\"\n\
                 switch_delay = \"0.2us\"\n"
            ),
        }
    }
}

impl Size {
    /// Web Search flows below so many leaves with so many hosts.
    pub fn leaves(leaves: u16, hosts_per_leaf: u16, flows: u32) -> Self {
        Size { shape: Shape::Leaves(leaves, hosts_per_leaf), sizes: "web-search".to_owned(), flows }
    }

    /// What [`Self::parse`] reads.
    pub fn name(&self) -> String {
        [PREFIX, &self.shape.name(), &self.sizes, &self.flows.to_string()].join(&SEPARATOR.to_string())
    }

    /// Reads what [`Self::name`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split(SEPARATOR).collect();
        let [PREFIX, first, second, sizes, flows] = parts[..] else { return None };
        let shape = Shape::parse([first, second])?;
        Some(Size { shape, sizes: sizes.to_owned(), flows: flows.parse().ok()? })
    }

    /// The scenario.
    pub fn text(&self) -> String {
        let Size { shape, sizes, flows } = self;
        format!(
            "[fabric]\n{}buffer = \"360KB\"\nload_balancing = \"spray\"\n\
             [transport]\ninitial_window = 70\nmax_window = 239\nrto = \"fixed\"\nloss_detection = \"timeout-only\"\n\
             [workload]\nsizes = \"{sizes}\"\nload = 0.6\nflows = {flows}\n[scheme]\nname = \"pias\"\n",
            shape.fields()
        )
    }

    /// Runs it in this process. Setting up is all that a run of one flow does, from the text on; the run itself finds the
    /// fabric laid out.
    pub fn run(&self) -> Result<Value, Error> {
        let before = peak_memory();
        let since = || peak_memory().zip(before).map(|(now, before)| now.saturating_sub(before).get());
        let start = ThreadTime::now();
        full(&Scenario::parse(&Size { flows: 1, ..self.clone() }.text())?)?;
        let (setup_seconds, setup_bytes) = (start.elapsed().as_secs_f64(), since());
        let scenario = Scenario::parse(&self.text())?;
        let Cost { packet_hops, cpu_seconds } = full(&scenario)?;
        Ok(json!({
            "hosts": self.shape.hosts(), "ports": scenario.fabric.build().ports.len(), "sizes": self.sizes,
            "flows": self.flows, "packet_hops": packet_hops, "setup_seconds": setup_seconds,
            "setup_bytes": setup_bytes, "cpu_seconds": cpu_seconds,
            "packet_hops_per_cpu_second": packet_hops as f64 / cpu_seconds, "memory_bytes": since(),
        }))
    }
}

/// All tables.
pub fn measure() -> Result<Report, Error> {
    let by_hosts = [(2, 8), (4, 16), (9, 16), (16, 16), (16, 32), (32, 32), (64, 64), (128, 64)]
        .map(|(leaves, each)| Size::leaves(leaves, each, 5 * u32::from(leaves) * u32::from(each)));
    let web_server = |shape, flows| Size { shape, sizes: "fb-webserver".to_owned(), flows };
    let trees = [4, 8, 16, 32, 64].map(|radix| {
        let shape = Shape::FatTree(radix);
        web_server(shape, 2 * shape.hosts())
    });
    let by_flows = [1_000, 10_000, 100_000, 1_000_000].map(|flows| web_server(Shape::Leaves(9, 16), flows));
    let mut rows = Vec::new();
    let mut text = String::new();
    for (title, sizes) in [
        ("hosts in two tiers, 5 Web Search flows a host", &by_hosts[..]),
        ("hosts in three tiers (fat trees of radix 4 to 64), 2 web-server flows a host", &trees[..]),
        ("flows, web-server sizes, 144 hosts", &by_flows[..]),
    ] {
        text += &format!(
            "growth with {title}\n\n| hosts | ports | flows | set-up CPU s | set-up memory | packet-hops | CPU s \
             | M packet-hops/s | memory |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        );
        for size in sizes {
            complain!("{}", size.name());
            let row = in_own_process(&size.name())?;
            text += &line(&row);
            rows.push(row);
        }
        text += "\n";
    }
    let lines = memory::WORKING_SETS.map(|mib| in_own_process(&memory::name(mib)));
    let lines = lines.into_iter().collect::<Result<Vec<_>, _>>()?;
    text += &memory::text(&lines);
    Ok((json!({ "growth": rows, "memory": lines }), text))
}

fn line(row: &Value) -> String {
    let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    format!(
        "| {} | {} | {} | {:.2} | {:.1} MB | {:.1} M | {:.2} | {:.2} | {:.1} MB |\n",
        row["hosts"],
        row["ports"],
        row["flows"],
        number("setup_seconds"),
        number("setup_bytes") / 1e6,
        number("packet_hops") / 1e6,
        number("cpu_seconds"),
        number("packet_hops_per_cpu_second") / 1e6,
        number("memory_bytes") / 1e6,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_scenarios_have_so_many_hosts() {
        for shape in [Shape::Leaves(9, 16), Shape::FatTree(8)] {
            let size = Size { shape, sizes: "fb-webserver".to_owned(), flows: 7 };
            assert_eq!(Size::parse(&size.name()), Some(size.clone()));
            let scenario = Scenario::parse(&size.text()).unwrap();
            assert_eq!(scenario.fabric.hosts(), shape.hosts());
            assert_eq!(scenario.fabric.oversubscription(), 1.0);
        }
        assert_eq!(Size::parse("growth:fat-tree:x:web-search:1"), None);
        assert_eq!(Size::parse("pias"), None);
    }
}
