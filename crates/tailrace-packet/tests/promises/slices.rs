//! What slices get of links under tunnels, as figure 3 of Uranus has it, and that a tapped run is the same run.

use tailrace_core::{HostId, Objective, Scheme, Slice, Time};
use tailrace_fabric::Fabric;
use tailrace_packet::Watch;
use tailrace_workload::FlowSpec;

use crate::setup::{Run, Setup, WithScheme, fabric, flow};

/// Three racks; only links of 1 Gbps from the second and the third to their hosts can be congested.
fn three_racks() -> Fabric {
    fabric(
        r#"kind = "leaf-spine"
        leaves = 3
        spines = 1
        hosts_per_leaf = 4
        host_rate = "1Gbps"
        spine_rate = "10Gbps"
        delay = "10us""#,
    )
}

/// Receivers in the second and in the third rack.
const L1: u32 = 4;
const L2: u32 = 8;

/// Slices A and B of weight 1, each with tunnels over two links: A1 and A2 with one and nine flows alike, B1 and
/// B2 with five each. So of their slices' weights they have 0.1, 0.9, 0.5 and 0.5. Sources are hosts 0 to 3.
fn tunnels(first: u32, second: u32, horizon: Time) -> Setup {
    let tunnel = |src, dst, slice, flows: u16| {
        let endless = move |_| FlowSpec { slice, ..flow(src, dst, 1 << 40, Time::ZERO) };
        (0..flows).map(endless)
    };
    let a = tunnel(0, first, 1, 1).chain(tunnel(1, second, 1, 9));
    let b = tunnel(2, first, 2, 5).chain(tunnel(3, second, 2, 5));
    let slices = vec![Slice { weight: 1.0, objective: Objective::Completion }; 2];
    let watch = Watch { slices, ..Watch::default() };
    Setup { horizon: Some(horizon), watch, ..Setup::new(three_racks(), a.chain(b).collect()) }
}

fn sent(setup: &Setup, run: &Run, port: &str) -> u64 {
    let number = setup.fabric.port_named(port).unwrap_or_else(|| panic!("no port {port}"));
    run.ports[number as usize].sent.bytes
}

/// Bits a second that A1, A2, B1 and B2 send, after half a second.
fn rates(first: u32, second: u32) -> [f64; 4] {
    let until = |ms| {
        let setup = tunnels(first, second, Time::from_ms(ms));
        let run = setup.run("scc", "");
        [0, 1, 2, 3].map(|host| sent(&setup, &run, &format!("host{host}->leaf0")))
    };
    let (before, after) = (until(500), until(3_500));
    [0, 1, 2, 3].map(|tunnel| (after[tunnel] - before[tunnel]) as f64 * 8.0 / 3.0)
}

fn near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found / expected - 1.0).abs() < tolerance
}

/// Of the small tunnel not more than four packets are under way, of which none can be cut in two: its share is
/// rougher.
#[test]
fn tunnels_over_one_link_share_it_by_weight() {
    let rates = rates(L1, L1);
    let all: f64 = rates.iter().sum();
    let [a1, a2, b1, b2] = rates.map(|rate| rate / all);
    let said = format!("{a1:.4} {a2:.4} {b1:.4} {b2:.4} of {all}");
    assert!(all > 0.99e9, "{said}");
    assert!(near(a1, 0.05, 0.5) && near(a2, 0.45, 0.05), "{said}");
    assert!(near(b1, 0.25, 0.05) && near(b2, 0.25, 0.05) && near(a1 + a2, 0.5, 0.03), "{said}");
}

#[test]
fn tunnels_over_two_links_leave_slices_with_17_to_25() {
    let [a1, a2, b1, b2] = rates(L1, L2);
    let (first, second, slices) = (a1 / (a1 + b1), a2 / (a2 + b2), (a1 + a2) / (b1 + b2));
    let said = format!("{first:.4} {second:.4} {slices:.4} of {} {}", a1 + b1, a2 + b2);
    assert!(a1 + b1 > 0.99e9 && a2 + b2 > 0.99e9, "{said}");
    assert!(near(first, 1.0 / 6.0, 0.06) && near(second, 9.0 / 14.0, 0.03), "{said}");
    assert!(near(slices, 17.0 / 25.0, 0.04), "{said}");
}

/// Gbps of the tunnels of a slice of weight 1 and of those of one of weight `weight`, over one link of 10 Gbps, which is one of three
/// of this delay.
fn shares(scheme: &str, (light, heavy): (HostId, HostId), weight: f64, delay: &str) -> [f64; 2] {
    let hosts = light + heavy;
    let network = format!(
        "kind = \"dumbbell\"\nleft = {hosts}\nright = {hosts}\nhost_rate = \"10Gbps\"\n\
         bottleneck_rate = \"10Gbps\"\ndelay = \"{delay}\"\nbuffer = \"2MB\""
    );
    let endless = |n: u32| FlowSpec {
        slice: if n < light { 1 } else { 2 },
        ..flow(n, hosts + n, 1 << 40, Time::from_us(10 * u64::from(n)))
    };
    let slices = [1.0, weight].map(|weight| Slice { weight, objective: Objective::Completion }).to_vec();
    let watch = Watch { slices, ..Watch::default() };
    let until = |ms| {
        let setup = Setup {
            horizon: Some(Time::from_ms(ms)),
            watch: watch.clone(),
            ..Setup::new(fabric(&network), (0..hosts).map(endless).collect())
        };
        let run = setup.run(scheme, "");
        let of = |hosts: std::ops::Range<u32>| -> u64 {
            hosts.map(|host| sent(&setup, &run, &format!("host{host}->left"))).sum()
        };
        [of(0..light), of(light..hosts)]
    };
    let (before, after) = (until(100), until(500));
    [0, 1].map(|slice| (after[slice] - before[slice]) as f64 * 8.0 / 0.4e9)
}

/// Windows of one packet beside those of ten. Arithmetic gives the weights, but that hosts under Uranus send at least a segment of
/// each flow in a round trip: 40 light flows have that more of the link than their weight gives them.
#[test]
fn many_light_tunnels_beside_a_few_heavy_ones_share_a_link_by_weight() {
    for (light, heavy, weight, expected) in [
        (16, 4, 2.0, [(2.0, 0.15), (2.0, 0.15)]),
        (10, 2, 10.0, [(10.0, 0.2), (10.0, 0.1)]),
        (40, 4, 4.0, [(4.0, 0.22), (1.8, 0.1)]),
        (30, 2, 1.0, [(1.0, 0.2), (1.0, 0.1)]),
    ] {
        for (scheme, (expected, within)) in ["scc", "uranus"].into_iter().zip(expected) {
            let [of_light, of_heavy] = shares(scheme, (light, heavy), weight, "10us");
            let got = of_heavy / of_light;
            println!("{scheme}, {light} and {heavy} tunnels, 1 : {weight}: 1 to {got:.2}");
            assert!(
                near(got, expected, within),
                "{scheme}, {light} and {heavy} tunnels: {got:.3} of {expected}"
            );
        }
    }
}

/// SCC cuts by what one round had of marks, all tunnels at once, so a queue that is shorter than what the link carries in a round trip
/// runs empty now and then.
#[test]
fn tunnels_leave_some_of_a_link_idle_under_scc_where_round_trips_are_long() {
    for (delay, least) in
        [("10us", [0.98, 0.98, 0.98]), ("50us", [0.92, 0.98, 0.98]), ("100us", [0.87, 0.98, 0.98])]
    {
        for (scheme, least) in ["scc", "uranus", "dctcp"].into_iter().zip(least) {
            let used = shares(scheme, (16, 4), 2.0, delay).iter().sum::<f64>() / 10.0;
            println!("{scheme}, links of {delay}: {used:.3} of the link");
            assert!((least..1.001).contains(&used), "{scheme}, links of {delay}: {used:.3} of the link");
        }
    }
}

/// The digest of a run whose first port is tapped.
struct Tapped<'a>(&'a Setup);

impl WithScheme for Tapped<'_> {
    type Output = u64;
    fn with<S: Scheme>(self, scheme: S) -> u64 {
        self.0.run_tapped(scheme, Some((0, Box::new(|_, _, _| {})))).digest
    }
}

#[test]
fn a_tapped_run_has_its_controller() {
    let setup = tunnels(L1, L2, Time::from_ms(5));
    for scheme in ["uranus", "scc"] {
        assert_eq!(setup.with_scheme(scheme, "", Tapped(&setup)), setup.run(scheme, "").digest, "{scheme}");
    }
}
