//! The protocol-free kernel: fixed-window packets, turned round at the receiver over the same fabric,
//! ports and agenda as every run, and nothing else. `tailrace-bench` measures the full stack against it.

use tailrace_core::transport::TransportParams;
use tailrace_core::{ACK_BYTES, Ecn, HostId, MTU_BYTES, Packet, PacketKind, PortFacts, PortPolicy};
use tailrace_fabric::Fabric;

use crate::{Network, Step};

/// The load of a kernel run.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Flows that each host sends.
    pub flows_per_host: usize,
    /// Packets that each flow keeps in flight.
    pub window: u32,
    /// Packets after which no new ones are sent.
    pub packets: u64,
}

/// Runs the kernel; returns packet-hops and events.
pub fn run<P: PortPolicy<()>>(fabric: &Fabric, load: Load, policy: impl Fn(&PortFacts) -> P) -> (u64, u64) {
    let mut network: Network<P, ()> = Network::new(fabric, &TransportParams::default(), 1, 0, policy);
    let hosts = fabric.hosts;
    let mut next_seq = vec![0u32; hosts * load.flows_per_host];
    let send = |network: &mut Network<P, ()>, src: usize, dst: usize, flow: usize, seq: &mut u32| {
        let mut packet = Packet::<()>::EMPTY;
        (packet.flow, packet.dst, packet.src) = (flow as u32, dst as u16, src as u16);
        packet.bytes = MTU_BYTES;
        packet.priority = (*seq >> 6).min(7) as u8;
        packet.seq = *seq;
        packet.set(PacketKind::Data, Ecn::Capable);
        *seq += 1;
        network.inject(src as HostId, packet);
    };
    for round in 0..load.flows_per_host {
        for src in 0..hosts {
            let flow = round * hosts + src;
            let dst = (src + 17 + 31 * round) % hosts;
            for _ in 0..load.window {
                send(&mut network, src, dst, flow, &mut next_seq[flow]);
            }
        }
    }
    let mut turned = 0;
    while let Some(Step::Arrival(host, packet)) = network.next() {
        if packet.is_ack() {
            turned += 1;
            if turned < load.packets {
                let flow = packet.flow as usize;
                send(&mut network, host as usize, usize::from(packet.src), flow, &mut next_seq[flow]);
            }
        } else {
            let mut ack = packet;
            (ack.dst, ack.src, ack.bytes, ack.priority) = (packet.src, Packet::address(host), ACK_BYTES, 0);
            ack.set(PacketKind::Ack, Ecn::NotCapable);
            network.inject(host, ack);
        }
    }
    (network.packet_hops(), network.events())
}
