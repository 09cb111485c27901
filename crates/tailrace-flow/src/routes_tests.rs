//! Which links flows take, on two leaves with two hosts each below two spines.

use tailrace_core::{Cap, Rate};
use tailrace_fabric::{Fabric, FabricParams};

use crate::routes::{LONGEST_PATH, Path, Routes};

const GBPS: f64 = 1.25e8;

fn fabric(load_balancing: &str) -> Fabric {
    let text = format!(
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nhost_rate = \"10Gbps\"\n\
         spine_rate = \"40Gbps\"\nbuffer = \"300KB\"\nload_balancing = \"{load_balancing}\""
    );
    FabricParams::from_table(&text.parse().unwrap()).unwrap().build().as_ref().clone()
}

#[test]
fn sprayed_ports_of_a_tier_are_one_link_of_their_total_rate() {
    let fabric = fabric("spray");
    let ports = fabric.ports.len() as u32;
    let mut routes = Routes::new(&fabric);
    let near = routes.path(0, 1, 0);
    assert_eq!(near.links(), [0, fabric.port_to[1]]);
    let far = routes.path(0, 2, 0);
    assert_eq!(far.links(), [0, ports, ports + 1, fabric.port_to[2]]);
    assert_eq!(routes.capacities()[ports as usize..], [80.0 * GBPS; 2]);
    // Other hosts of the leaf, and other flows, share them; the way back is another.
    assert_eq!(routes.path(1, 3, 5).links(), [1, ports, ports + 1, fabric.port_to[3]]);
    assert_eq!(routes.path(2, 0, 5).links(), [2, ports + 2, ports + 3, fabric.port_to[0]]);
    assert!([near, far].iter().all(|path| path.links().len() <= LONGEST_PATH && path.own_link().is_none()));
}

#[test]
fn what_passed_a_joint_link_is_spread_over_its_ports_to_the_byte() {
    let fabric = fabric("spray");
    let ports = fabric.ports.len();
    let mut routes = Routes::new(&fabric);
    routes.path(0, 2, 0);
    let mut of_links: Vec<u64> = (0..ports as u64).collect();
    of_links.extend([7, 1000]);
    let of_ports = routes.bytes_of_ports(of_links);
    let more: Vec<u64> =
        (0_u64..).zip(&of_ports).map(|(own, bytes)| bytes - own).filter(|more| *more > 0).collect();
    assert_eq!((of_ports.len(), more), (ports, vec![4, 3, 500, 500]));
    // Links that nothing passed may be missing.
    assert_eq!(routes.bytes_of_ports(vec![1; ports]), vec![1; ports]);
}

#[test]
fn hashed_flows_take_the_ports_that_their_packets_would() {
    let fabric = fabric("ecmp");
    let mut routes = Routes::new(&fabric);
    for flow in 0..8 {
        let path = routes.path(0, 3, flow);
        assert_eq!(path.links(), fabric.hashed_path(0, 3, flow).collect::<Vec<_>>());
    }
    assert_eq!(routes.capacities().len(), fabric.ports.len());
}

#[test]
fn a_link_of_its_own_is_as_wide_as_the_first_and_used_again() {
    let fabric = fabric("spray");
    let mut routes = Routes::new(&fabric);
    let path = routes.path(0, 1, 0);
    assert!(!routes.some_are_own());
    let own = routes.with_own_link(path);
    let link = own.own_link().unwrap();
    assert_eq!(own.links(), [link, 0, fabric.port_to[1]]);
    assert_eq!(routes.capacities()[link as usize], 10.0 * GBPS);
    assert!(routes.some_are_own());
    routes.give_back(path);
    assert!(routes.some_are_own(), "that path has none");
    routes.give_back(own);
    assert!(!routes.some_are_own());
    assert_eq!(routes.with_own_link(path).own_link(), Some(link));
    assert_ne!(routes.with_own_link(path).own_link(), Some(link));
}

#[test]
fn flows_under_a_cap_of_their_host_share_a_link_of_that_rate() {
    let fabric = fabric("spray");
    let mut routes = Routes::new(&fabric);
    let path: Path = routes.path(0, 1, 0);
    let cap = |group, gbps| Cap { group, rate: Rate::from_gbps(gbps) };
    let first = routes.under_cap(path, 0, cap(1, 2));
    assert_eq!(routes.capacities()[first.links()[0] as usize], 2.0 * GBPS);
    assert_eq!(first.links()[1..], *path.links());
    assert_eq!(first.own_link(), None);
    // The rate that was said last holds for the group.
    assert_eq!(routes.under_cap(path, 0, cap(1, 3)), first);
    assert_eq!(routes.capacities()[first.links()[0] as usize], 3.0 * GBPS);
    assert_ne!(routes.under_cap(path, 0, cap(2, 3)), first);
    assert_ne!(routes.under_cap(path, 1, cap(1, 3)), first);
}
