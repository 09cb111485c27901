//! Load balancing: which of several equal-cost ports a packet takes.

use tailrace_core::random::{Stream, mix, scale};
use tailrace_core::{Packet, Time};
use tailrace_scenario::fabric::{Fabric, LoadBalancing, NextHops, PortId, SwitchId};

/// Flowlet table size: collisions between flows only join their bursts.
const FLOWLETS: usize = 1 << 12;

/// Chooses among equal-cost ports, with the state that the fabric's rule needs.
pub(crate) enum Balancer {
    Ecmp,
    RoundRobin { turns: Vec<u32> },
    Random { stream: Stream },
    Flowlet { gap: u64, stream: Stream, table: Vec<Flowlet> },
}

/// The burst that last used a table entry.
#[derive(Clone, Copy, Default)]
pub(crate) struct Flowlet {
    last: u64,
    choice: u32,
}

impl Balancer {
    pub(crate) fn new(fabric: &Fabric, seed: u64) -> Self {
        let stream = Stream::new(seed, "load balancing", 0);
        match fabric.load_balancing {
            LoadBalancing::Ecmp => Balancer::Ecmp,
            LoadBalancing::SprayRoundRobin => Balancer::RoundRobin { turns: vec![0; fabric.ports.len()] },
            LoadBalancing::SprayRandom => Balancer::Random { stream },
            LoadBalancing::Flowlet { gap } => Balancer::Flowlet {
                gap: gap.as_ps(),
                stream,
                table: vec![Flowlet::default(); FLOWLETS * fabric.switches],
            },
        }
    }

    /// Whether a flow's way depends on nothing but the flow.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self, Balancer::Ecmp)
    }

    /// The port that `packet` takes at `switch`.
    #[inline]
    pub(crate) fn choose<H>(
        &mut self,
        now: Time,
        switch: SwitchId,
        hops: NextHops,
        packet: &Packet<H>,
    ) -> PortId {
        if hops.count == 1 {
            return hops.first;
        }
        // By flow and number of choices, not by switch: a flow's acknowledgements come back on the way that
        // its packets took, as explicit feedback needs it (PDQ).
        let key = u64::from(packet.flow) | u64::from(hops.count) << 32;
        hops.first
            + match self {
                Balancer::Ecmp => scale(mix(key), hops.count),
                Balancer::RoundRobin { turns } => {
                    let turn = &mut turns[hops.first as usize];
                    let choice = *turn;
                    *turn = if choice + 1 == hops.count { 0 } else { choice + 1 };
                    choice
                }
                Balancer::Random { stream } => stream.below(hops.count),
                Balancer::Flowlet { gap, stream, table } => {
                    let row = usize::from(switch) * FLOWLETS + (mix(key) as usize & (FLOWLETS - 1));
                    let flowlet = &mut table[row];
                    // The first packet of a run finds an entry that was never used.
                    if flowlet.last == 0 || now.as_ps() - flowlet.last > *gap {
                        flowlet.choice = stream.below(hops.count);
                    }
                    flowlet.last = now.as_ps().max(1);
                    flowlet.choice
                }
            }
    }
}
