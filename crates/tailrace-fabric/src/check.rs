//! Which parts of a fabric fit together, and how many and how fast they may be.

use tailrace_config::ScenarioError;
use tailrace_core::{Rate, Time};

use super::{Dumbbell, LeafSpine, ParkingLot, Star, Tree};

/// A million servers; packets know fewer, see [`tailrace_core::Packet::MAX_HOSTS`].
pub const MAX_HOSTS: u64 = 1 << 20;
/// A fat tree of a million hosts (radix 160) has 32,000; it takes most of a minute to set up.
pub(super) const MAX_SWITCHES: u64 = 32_768;
/// Two ports each, of a tenth of a kilobyte.
const MAX_LINKS: u64 = 1 << 24;
/// What switches know of all pods together, eight bytes each.
const MAX_WAYS: u64 = 1 << 26;
const BETWEEN: &str = "links between switches";
/// What is asked of the farthest hosts walks along the row from each.
const LONGEST_ROW: u16 = 64;
/// Outside this range serialisation times would overflow or vanish.
const RATES: [Rate; 2] = [Rate::from_bps(1_000_000), Rate::from_gbps(10_000)];
/// Far more than any datacenter needs, and little enough that sums stay in range.
const MAX_DELAY: Time = Time::from_ms(10_000);

pub(super) type Checked = Result<(), ScenarioError>;

impl Star {
    pub(super) fn check(&self) -> Checked {
        hosts("hosts", &[self.hosts])?;
        rate("host_rate", self.host_rate)?;
        delay("host_delay", self.host_delay)
    }
}

impl Dumbbell {
    pub(super) fn check(&self) -> Checked {
        positive("left", self.left)?;
        positive("right", self.right)?;
        if u64::from(self.left) + u64::from(self.right) > MAX_HOSTS {
            return Err(ScenarioError::new(
                "right",
                format!("left and right exceed {MAX_HOSTS} hosts in all"),
            ));
        }
        rate("host_rate", self.host_rate)?;
        rate("bottleneck_rate", self.bottleneck_rate)?;
        delay("host_delay", self.host_delay)?;
        delay("bottleneck_delay", self.bottleneck_delay)
    }
}

impl ParkingLot {
    pub(super) fn check(&self) -> Checked {
        positive("switches", self.switches)?;
        positive("hosts_per_switch", self.hosts_per_switch)?;
        hosts("hosts_per_switch", &[self.switches, self.hosts_per_switch])?;
        if self.switches > LONGEST_ROW {
            let message = format!("is {}, but a row has at most {LONGEST_ROW}", self.switches);
            return Err(ScenarioError::new("switches", message));
        }
        rate("host_rate", self.host_rate)?;
        rate("row_rate", self.row_rate)?;
        delay("host_delay", self.host_delay)?;
        delay("row_delay", self.row_delay)
    }
}

impl LeafSpine {
    pub(super) fn check(&self) -> Checked {
        positive("leaves", self.leaves)?;
        positive("spines", self.spines)?;
        positive("hosts_per_leaf", self.hosts_per_leaf)?;
        hosts("hosts_per_leaf", &[self.leaves, self.hosts_per_leaf])?;
        at_most(MAX_SWITCHES, "leaves", u64::from(self.leaves) + u64::from(self.spines), "switches")?;
        at_most(MAX_LINKS, "spines", u64::from(self.leaves) * u64::from(self.spines), BETWEEN)?;
        rate("host_rate", self.host_rate)?;
        rate("spine_rate", self.spine_rate)?;
        delay("host_delay", self.host_delay)?;
        delay("spine_delay", self.spine_delay)
    }
}

impl Tree {
    pub(super) fn check(&self) -> Checked {
        positive("pods", self.pods)?;
        positive("edges_per_pod", self.edges_per_pod)?;
        positive("hosts_per_edge", self.hosts_per_edge)?;
        positive("aggs_per_pod", self.aggs_per_pod)?;
        positive("cores", self.cores)?;
        if !self.cores.is_multiple_of(self.aggs_per_pod) {
            let message = format!(
                "is {}, but must be a multiple of aggs_per_pod = {}, so that each aggregation switch has as many links to core switches",
                self.cores, self.aggs_per_pod
            );
            return Err(ScenarioError::new("cores", message));
        }
        hosts("hosts_per_edge", &[self.pods, self.edges_per_pod, self.hosts_per_edge])?;
        let per_pod = u64::from(self.edges_per_pod) + u64::from(self.aggs_per_pod);
        let all = u64::from(self.pods) * per_pod + u64::from(self.cores);
        at_most(MAX_SWITCHES, "pods", all, "switches")?;
        let inside = u64::from(self.edges_per_pod) * u64::from(self.aggs_per_pod);
        at_most(MAX_LINKS, "cores", u64::from(self.pods) * (inside + u64::from(self.cores)), BETWEEN)?;
        at_most(MAX_WAYS, "pods", all * u64::from(self.pods), "ways from switches to pods")?;
        rate("host_rate", self.host_rate)?;
        rate("edge_rate", self.edge_rate)?;
        rate("core_rate", self.core_rate)?;
        delay("host_delay", self.host_delay)?;
        delay("edge_delay", self.edge_delay)?;
        delay("core_delay", self.core_delay)
    }
}

fn positive(field: &str, count: u16) -> Checked {
    if count > 0 { Ok(()) } else { Err(ScenarioError::new(field, "is 0, but must be at least 1")) }
}

pub(super) fn hosts(field: &str, factors: &[u16]) -> Checked {
    let hosts: u64 = factors.iter().map(|&factor| u64::from(factor)).product();
    if (2..=MAX_HOSTS).contains(&hosts) {
        Ok(())
    } else {
        Err(ScenarioError::new(field, format!("gives {hosts} hosts, but there must be 2 to {MAX_HOSTS}")))
    }
}

/// No more than there may be of something that grows with a field.
fn at_most(most: u64, field: &str, count: u64, what: &str) -> Checked {
    if count <= most {
        Ok(())
    } else {
        Err(ScenarioError::new(field, format!("gives {count} {what}, but there may be {most}")))
    }
}

/// Checks the `rate` and `delay` of a link.
pub fn check_link(link_rate: Rate, link_delay: Time) -> Result<(), ScenarioError> {
    rate("rate", link_rate)?;
    delay("delay", link_delay)
}

pub(super) fn rate(field: &str, rate: Rate) -> Checked {
    let [slowest, fastest] = RATES;
    if (slowest..=fastest).contains(&rate) {
        Ok(())
    } else {
        Err(ScenarioError::new(field, format!("is {rate}, but must lie between {slowest} and {fastest}")))
    }
}

pub(super) fn delay(field: &str, delay: Time) -> Checked {
    if delay <= MAX_DELAY {
        Ok(())
    } else {
        Err(ScenarioError::new(field, format!("is {delay}, but must be at most {MAX_DELAY}")))
    }
}

#[cfg(test)]
mod tests {
    use crate::FabricParams;

    fn error(preset: &str, change: &str) -> String {
        let text = format!("preset = \"{preset}\"\n{change}");
        FabricParams::from_table(&text.parse().unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn parts_that_do_not_fit_are_named() {
        assert_eq!(error("micro4", "hosts = 0"), "hosts: gives 0 hosts, but there must be 2 to 1048576");
        assert!(
            error("spine144", "leaves = 30\nhosts_per_leaf = 60000")
                .starts_with("hosts_per_leaf: gives 1800000")
        );
        assert_eq!(error("spine144", "spines = 0"), "spines: is 0, but must be at least 1");
        assert!(
            error("fattree64", "cores = 5")
                .starts_with("cores: is 5, but must be a multiple of aggs_per_pod = 2")
        );
        assert!(error("spine144", "spine_rate = \"0Gbps\"").starts_with("spine_rate: is 0bps"));
        assert!(error("spine144", "host_delay = \"11s\"").starts_with("host_delay: is 11s"));
        assert!(error("spine144", "leaves = 60000\nhosts_per_leaf = 1").contains("60004 switches"));
        assert!(
            error("spine144", "leaves = 16384\nspines = 16384\nhosts_per_leaf = 1")
                .starts_with("spines: gives 268435456 links between switches, but there may be 16777216")
        );
        assert!(
            error("tree36k", "pods = 16000\nedges_per_pod = 1\nhosts_per_edge = 1")
                .starts_with("pods: gives 512016000 ways from switches to pods, but there may be 67108864")
        );
    }
}
