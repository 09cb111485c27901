//! Load balancing: which of several equal-cost ports a packet takes.

use std::sync::Arc;

use tailrace_core::random::{Stream, mix};
use tailrace_core::transport::TransportParams;
use tailrace_core::{HEADER_BYTES, Header, Packet, Time};
use tailrace_fabric::{Fabric, LoadBalancing, NextHops, PortId, Reroute, SwitchId};

/// Size of a switch's flowlet table: collisions between flows only join their bursts.
const FLOWLETS: usize = 1 << 12;

/// Chooses among equal-cost ports, with the state that the fabric's rule needs. No kind holds more
/// than two words: the compiler keeps which it is in a word of its own then, which is read at once.
pub(crate) enum Balancer {
    /// What each switch's hash depends on.
    Ecmp {
        salts: Box<[u64]>,
    },
    /// ECMP where the way back must be found from the way there.
    EcmpTwoWay(Box<Fabric>),
    RoundRobin {
        turns: Box<[u32]>,
    },
    /// Streams by switch, so that no switch's choices depend on when another one chooses.
    Random {
        streams: Box<[Stream]>,
    },
    Flowlet(Box<Flowlets>),
    Flowcell(Box<Cells>),
}

/// What a balancer chooses.
pub(crate) enum Choice {
    /// The place in the list of equal-cost ports.
    OfList(u32),
    /// The port itself.
    Port(PortId),
}

/// The bursts of all switches.
pub(crate) struct Flowlets {
    gap: u64,
    streams: Vec<Stream>,
    /// By switch; empty until it has a choice.
    tables: Vec<Vec<Flowlet>>,
}

/// The burst that last used a table entry.
#[derive(Clone, Copy, Default)]
struct Flowlet {
    last: u64,
    choice: u32,
}

impl Flowlets {
    /// Which of `count` ports a packet of `flow` takes: that of the one before, if it follows soon. Out of line, as whatever takes
    /// more than some instructions here: a packet-hop has them all within it.
    #[inline(never)]
    fn choose(&mut self, now: Time, switch: SwitchId, count: u32, flow: u32) -> u32 {
        let key = u64::from(flow) | u64::from(count) << 32;
        let table = &mut self.tables[usize::from(switch)];
        if table.is_empty() {
            table.resize(FLOWLETS, Flowlet::default());
        }
        let flowlet = &mut table[mix(key) as usize & (FLOWLETS - 1)];
        // The first packet of a run finds an entry that was never used, and lists may differ in length.
        if flowlet.last == 0 || now.as_ps() - flowlet.last > self.gap || flowlet.choice >= count {
            flowlet.choice = self.streams[usize::from(switch)].below(count);
        }
        flowlet.last = now.as_ps().max(1);
        flowlet.choice
    }
}

/// Where cells end. A flow's paths are numbered through from end to end, so nothing need be remembered: a
/// packet's own number tells its cell, and with it the path.
pub(crate) struct Cells {
    packets: u32,
    /// A receiver's acknowledgements are a flow of their own, one for each packet: hosts cut what they send
    /// by its bytes, whatever it is (Presto §3.1).
    acks: u32,
    /// Equal-cost choices that a packet has had before it comes to each switch.
    before: Vec<u32>,
}

impl Cells {
    fn new(fabric: &Fabric, transport: &TransportParams) -> Self {
        let packets = |bytes| fabric.load_balancing.packets_per_cell(bytes).unwrap_or(1);
        Cells {
            packets: packets(transport.mss.saturating_add(HEADER_BYTES)),
            acks: packets(transport.ack_bytes),
            before: choices_before(fabric),
        }
    }

    /// Which of `count` ports `packet` takes: of its path's number, the digit that is this switch's.
    #[inline(never)]
    fn choose<H: Header>(&self, switch: SwitchId, count: u32, packet: &Packet<H>) -> u32 {
        let cell = if packet.is_ack() {
            // It names the segment after those that have arrived.
            packet.seq.saturating_sub(1) / self.acks
        } else {
            packet.seq / self.packets
        };
        let path = (mix(u64::from(packet.flow)) >> 32) + u64::from(cell);
        (path / u64::from(self.before[usize::from(switch)]) % u64::from(count)) as u32
    }
}

/// In no kind of fabric is there a choice on more than two tiers on the way up, and all edge switches are alike.
fn choices_before(fabric: &Fabric) -> Vec<u32> {
    let at_edge = fabric.routes.most_choices(fabric.edge_of[0]);
    let mut before = vec![at_edge.max(1); fabric.switches];
    fabric.edge_of.iter().for_each(|&edge| before[usize::from(edge)] = 1);
    before
}

impl Balancer {
    /// For packets and acknowledgements as long as `transport` has them.
    pub(crate) fn new(fabric: &Fabric, transport: &TransportParams, seed: u64) -> Self {
        let streams = || -> Vec<Stream> {
            (0..fabric.switches as u64).map(|switch| Stream::new(seed, "load balancing", switch)).collect()
        };
        match fabric.load_balancing {
            LoadBalancing::Ecmp if fabric.two_way => {
                Balancer::EcmpTwoWay(Box::new(Fabric { reroutes: Vec::new(), ..fabric.clone() }))
            }
            LoadBalancing::Ecmp => Balancer::Ecmp {
                salts: (0..fabric.switches as SwitchId).map(|switch| fabric.ecmp_salt(switch)).collect(),
            },
            LoadBalancing::SprayRoundRobin => {
                Balancer::RoundRobin { turns: vec![0; fabric.routes.choices()].into() }
            }
            LoadBalancing::SprayRandom => Balancer::Random { streams: streams().into() },
            LoadBalancing::Flowlet { gap } => Balancer::Flowlet(Box::new(Flowlets {
                gap: gap.as_ps(),
                streams: streams(),
                tables: vec![Vec::new(); fabric.switches],
            })),
            LoadBalancing::Flowcell { .. } => Balancer::Flowcell(Box::new(Cells::new(fabric, transport))),
        }
    }

    /// Lists of equal-cost ports are others from now on.
    pub(crate) fn reroute(&mut self, reroute: &Reroute) {
        match self {
            Balancer::EcmpTwoWay(fabric) => fabric.routes = Arc::clone(&reroute.routes),
            Balancer::RoundRobin { turns } => *turns = vec![0; reroute.routes.choices()].into(),
            // What these remember is a choice by its place, or nothing.
            Balancer::Ecmp { .. }
            | Balancer::Random { .. }
            | Balancer::Flowlet(_)
            | Balancer::Flowcell(_) => {}
        }
    }

    /// Whether a flow's way depends on nothing but the flow.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self, Balancer::Ecmp { .. } | Balancer::EcmpTwoWay(_))
    }

    /// Which of several ports `packet` takes at `switch`.
    #[inline(always)]
    pub(crate) fn choose<H: Header>(
        &mut self,
        now: Time,
        switch: SwitchId,
        hops: NextHops,
        packet: &Packet<H>,
    ) -> Choice {
        Choice::OfList(match self {
            Balancer::Ecmp { salts } => hops.hashed(salts[usize::from(switch)], packet.flow),
            Balancer::EcmpTwoWay(fabric) => {
                return Choice::Port(fabric.hashed_port(
                    switch,
                    packet.src.into(),
                    packet.dst.into(),
                    packet.flow,
                ));
            }
            Balancer::RoundRobin { turns } => {
                let turn = &mut turns[hops.first as usize];
                let choice = *turn;
                *turn = if choice + 1 == hops.count { 0 } else { choice + 1 };
                choice
            }
            Balancer::Random { streams } => streams[usize::from(switch)].below(hops.count),
            Balancer::Flowlet(flowlets) => flowlets.choose(now, switch, hops.count, packet.flow),
            Balancer::Flowcell(cells) => cells.choose(switch, hops.count, packet),
        })
    }
}
