//! How late live packets may be, and how many they may be.

use tailrace_core::{Rate, Time};
use tailrace_fabric::Fabric;
use tailrace_scenario::{Level, Scenario, Stack};

/// Where one packet in a hundred is later than this, or than a tenth of the farthest round trip if that is more, numbers
/// are of the machine and not of the scheme.
const WORST_LAG: Time = Time::from_us(300);

/// What may be the lag of one packet in a hundred.
pub(crate) fn tolerable_lag(fabric: &Fabric) -> Time {
    WORST_LAG.max(Time::from_ps(fabric.base_rtt().as_ps() / 10))
}

/// What the hosts' links of a live fabric may carry in all before one core is not known to be fast enough: those of sixteen
/// hosts with 100 Mbps, with room to spare (docs/performance.md).
const SURELY_CARRIED: Rate = Rate::from_bps(1_600_000_000);
/// The same where the core does the work of the hosts' transport, too.
const WITH_TRANSPORT: Rate = Rate::from_bps(800_000_000);

/// A warning for who asks for more of a live fabric than one core surely carries.
pub fn asks_for_much(scenario: &Scenario) -> Option<String> {
    let (hosts, rate) = (scenario.fabric.hosts(), scenario.fabric.host_rate());
    let asked = Rate::from_bps(rate.as_bps().saturating_mul(u64::from(hosts)));
    let with_transport = scenario.level == Level::Live && scenario.live.stack == Stack::Tailrace;
    let carried = if with_transport { WITH_TRANSPORT } else { SURELY_CARRIED };
    (asked > carried).then(|| {
        format!(
            "{hosts} hosts with {rate} each may ask for {asked}, and all of it is one core's work, which carries \
             {carried} where it has nothing else to do; `tailrace-bench --level live` says how much more here. What \
             comes too late is said."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_more_than_a_core_carries_is_told() {
        let note = |hosts: u32, rate: &str, stack: &str| {
            let text = format!(
                "scheme = {{ name = \"dctcp\" }}\nlevel = \"live\"\nlive = {{ stack = \"{stack}\" }}\n\
                 fabric = {{ kind = \"star\", hosts = {hosts}, host_rate = \"{rate}\" }}\n\
                 workload = {{ sizes = \"web-search\", load = 0.1, flows = 1 }}"
            );
            asks_for_much(&Scenario::parse(&text).unwrap())
        };
        assert_eq!(note(16, "100Mbps", "kernel"), None);
        let told = note(17, "100Mbps", "kernel").unwrap();
        assert!(told.starts_with("17 hosts with 100Mbps each may ask for 1.7Gbps"), "{told}");
        assert_eq!(note(8, "100Mbps", "tailrace"), None);
        assert!(note(9, "100Mbps", "tailrace").unwrap().contains("800Mbps"));
    }
}
