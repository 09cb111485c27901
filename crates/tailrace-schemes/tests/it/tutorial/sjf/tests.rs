//! The port without a network.

use super::*;
use tailrace_core::{PortPlace, Rate};

fn port() -> SjfPort {
    let facts = Facts::new(2, Rate::from_gbps(10), Time::from_us(85), 4);
    let buffer = Bytes::new(360_000);
    let place = PortFacts::new(0, PortPlace::SwitchToHost, facts.host_rate, buffer);
    Sjf::new(Params::default(), &facts).unwrap().port(&place)
}

/// A full packet of a flow that has so many bytes.
fn packet(flow: u32, size: u64) -> Packet<Size> {
    Packet { flow, bytes: 1500, header: Size(size), ..Packet::EMPTY }
}

/// Puts packets in, with room for so many, and takes out what is left: flows in order, and those dropped.
fn through(packets: &[(u32, u64)], room: u64) -> (Vec<u32>, Vec<(u32, Reason)>) {
    let (mut port, mut dropped) = (port(), Vec::new());
    for &(flow, size) in packets {
        let room = Bytes::new(room * 1500);
        port.enqueue(Time::ZERO, packet(flow, size), room, &mut |p, why| dropped.push((p.flow, why)));
    }
    let left = std::iter::from_fn(|| port.dequeue(Time::ZERO)).map(|packet| packet.flow).collect();
    (left, dropped)
}

#[test]
fn the_smallest_flow_goes_first() {
    assert_eq!(through(&[(1, 9000), (2, 10), (3, 1500), (4, 10)], 10), (vec![2, 4, 3, 1], vec![]));
}

#[test]
fn a_full_port_loses_the_largest_flow() {
    let (left, dropped) = through(&[(1, 9000), (2, 10), (3, 1500), (4, 9001)], 2);
    assert_eq!(left, [2, 3]);
    assert_eq!(dropped, [(1, Reason::Evicted), (4, Reason::Buffer)]);
}
