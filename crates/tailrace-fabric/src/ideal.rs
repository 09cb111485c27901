//! How long a flow takes that has the fabric to itself.
//!
//! Assumed, and true of the packet simulator: all packets of the flow wait at its network card from time 0
//! (no window holds them back); every port stores a packet wholly before it forwards it, takes
//! [`LinkRate::time_for`] to serialise it and serves packets in order of arrival; queues lose nothing; every
//! data packet but the last carries a full segment; each, or every n-th, is
//! acknowledged at once with as many bytes as the transport has.
//! Acknowledgements go back over links of the same rates.

use tailrace_core::transport::{FctEnd, TransportParams};
use tailrace_core::{Bytes, HostId, LinkRate, Time};

use super::farthest::{Extreme, Ps, time};
use super::{Fabric, LoadBalancing, Node, PortId};

/// One hop of the path, with the flow's serialisation times on it.
#[derive(Clone, Copy)]
struct Hop {
    /// Of a full packet.
    full: Ps,
    /// Of the last packet.
    last: Ps,
    delay: Ps,
    /// How many ports the packets of the flow may be spread over.
    width: u64,
}

/// A flow's data packets: so many, all full but the last.
#[derive(Clone, Copy)]
struct Train {
    packets: u64,
    full_bytes: u16,
    last_bytes: u16,
}

impl Train {
    fn new(size: Bytes, mss: u16, header_bytes: u16) -> Self {
        let mss = u64::from(mss.max(1));
        let packets = size.get().div_ceil(mss).max(1);
        let wire = |payload: u64| u16::try_from(payload).unwrap_or(u16::MAX).saturating_add(header_bytes);
        Train { packets, full_bytes: wire(mss), last_bytes: wire(size.get() - (packets - 1) * mss) }
    }
}

impl Fabric {
    /// How long a flow takes that is alone, of that number and of `size` payload bytes, to the end that `transport`
    /// names; each data packet carries up to a full segment and `header_bytes`.
    ///
    /// Exact under ECMP, on the flow's own path; where packets are spread over equal-cost paths of different rates or
    /// delays, a lower bound. Where these are alike, exact too, and under flowlets and round-robin spraying where no link between the switches is
    /// slower than the sender's; so it is under flowcells, whose receivers hold back what comes too early. A lower
    /// bound too under random spraying, where those links are slower, and to the last acknowledgement where not every
    /// packet is acknowledged, a short last packet is a cell of its own (held back, it is acknowledged right
    /// after the one before it), or packets on several paths end with one that is shorter than an acknowledgement.
    pub fn ideal_fct(
        &self,
        src: HostId,
        dst: HostId,
        flow: u32,
        size: Bytes,
        transport: &TransportParams,
        header_bytes: u16,
    ) -> Time {
        let train = Train::new(size, transport.mss, header_bytes);
        let acked = transport.fct_end == FctEnd::Acked;
        if self.two_way && self.load_balancing != LoadBalancing::Ecmp && !self.paths_are_alike(src, dst) {
            let way = self.at_best(src, dst, train.full_bytes, train.last_bytes);
            let back = acked.then(|| self.at_best(dst, src, transport.ack_bytes, transport.ack_bytes));
            return time(one_path(&way, train.packets) + back.map_or(0, |back| one_path(&back, 1)));
        }
        let mut hops = self.hops([src, dst], flow, train.full_bytes, train.last_bytes);
        let spraying = self.spraying(&hops, &train);
        let back = if acked {
            self.hops([dst, src], flow, transport.ack_bytes, transport.ack_bytes)
        } else {
            Vec::new()
        };
        if spraying.is_none() && transport.ack_every == 1 {
            // Each packet's acknowledgement continues its way, and may queue behind that of the one before.
            hops.extend(back);
            return time(one_path(&hops, train.packets));
        }
        // Of several paths, no link back is slower than the one over which the data came in, nor are
        // acknowledgements larger than full packets, so none waits for another but for a last one that is short.
        time(self.received(src, dst, &hops, train.packets, spraying) + one_path(&back, 1))
    }

    /// When the receiver has the last byte.
    fn received(
        &self,
        src: HostId,
        dst: HostId,
        hops: &[Hop],
        packets: u64,
        spraying: Option<Spraying>,
    ) -> Ps {
        match spraying {
            None => one_path(hops, packets),
            Some(_) if packets == 1 => one_path(hops, 1),
            Some(Spraying::InTurn { cell }) => self.in_turn(src, dst, hops, packets, cell),
            Some(Spraying::Spread) => spread(hops, packets),
        }
    }

    /// The ports that a packet passes which finds `turn` packets (or cells) of its flow gone before it. At a
    /// switch with `n` equal-cost ports every n-th takes the same one, and what went there takes turns on.
    pub(super) fn ports_passed(
        &self,
        src: HostId,
        dst: HostId,
        mut turn: u64,
    ) -> impl Iterator<Item = PortId> {
        std::iter::successors(Some(PortId::from(src)), move |&port| match self.ports[port as usize].to {
            Node::Host(_) => None,
            Node::Switch(switch) => {
                let group = self.next_hops(switch, dst);
                let choice = turn % u64::from(group.count);
                turn /= u64::from(group.count);
                Some(self.routes.port(group, choice as u32))
            }
        })
    }

    /// The hops of a flow's way, of which several may be alike.
    fn hops(&self, [src, dst]: [HostId; 2], flow: u32, full_bytes: u16, last_bytes: u16) -> Vec<Hop> {
        let mut width = 1;
        let hop = |port: PortId| {
            if let Node::Switch(switch) = self.ports[port as usize].from {
                width *= u64::from(self.next_hops(switch, dst).count);
            }
            self.hop(port, full_bytes, last_bytes, width)
        };
        if self.load_balancing == LoadBalancing::Ecmp {
            self.hashed_path(src, dst, flow).map(hop).collect()
        } else {
            self.ports_passed(src, dst, 0).map(hop).collect()
        }
    }

    fn hop(&self, port: PortId, full_bytes: u16, last_bytes: u16, width: u64) -> Hop {
        let spec = &self.ports[port as usize];
        let rate = LinkRate::new(spec.rate);
        let on_wire = |bytes| Ps::from(rate.time_for(bytes).as_ps());
        let (full, last, delay) = (on_wire(full_bytes), on_wire(last_bytes), spec.delay.as_ps().into());
        Hop { full, last, delay, width }
    }

    /// Hops that no packet passes later than those of its way: its hosts' links, and between them nothing but the
    /// time that the quickest packet takes.
    fn at_best(&self, src: HostId, dst: HostId, full_bytes: u16, last_bytes: u16) -> [Hop; 3] {
        let (first, exit) = (PortId::from(src), self.port_to[dst as usize]);
        let [first, exit] = [first, exit].map(|port| self.hop(port, full_bytes, last_bytes, 1));
        let edge = |host: HostId| self.edge_of[host as usize];
        let delay = self.extreme(edge(src), edge(dst), Extreme::Least, |port| {
            let hop = self.hop(port, full_bytes.min(last_bytes), full_bytes.min(last_bytes), 1);
            hop.full + hop.delay
        });
        [first, Hop { full: 0, last: 0, delay, width: 1 }, exit]
    }

    /// Whether and how the packets of a lone flow are spread over several paths.
    fn spraying(&self, hops: &[Hop], train: &Train) -> Option<Spraying> {
        let cell = self.load_balancing.packets_per_cell(train.full_bytes).map_or(1, u64::from);
        let slowest_inside = inside(hops).iter().map(|hop| hop.full).max()?;
        let parallel = inside(hops).iter().any(|hop| hop.width > 1);
        match self.load_balancing {
            _ if !parallel => None,
            LoadBalancing::Ecmp => None,
            // Packets follow each other at the sender's pace. A flow that pauses changes links, which gains
            // it nothing where these keep up with the sender; over slower ones it would fill several.
            LoadBalancing::Flowlet { gap }
                if slowest_inside <= hops[0].full && hops[0].full <= gap.as_ps().into() =>
            {
                None
            }
            LoadBalancing::Flowcell { .. } if train.packets <= cell => None,
            LoadBalancing::SprayRoundRobin | LoadBalancing::Flowcell { .. }
                if slowest_inside <= hops[0].full =>
            {
                Some(Spraying::InTurn { cell })
            }
            _ => Some(Spraying::Spread),
        }
    }

    /// Packets, or cells of so many, take equal-cost ports in turn. Full packets then never wait for each other before the last
    /// hop: they reach it in order, one every `hops[0].full`. Only the last packet, if it is short, can run
    /// into full ones and pass them on parallel links, and only those few that are not yet ahead of it by
    /// more than their whole way. These are replayed, packet by packet.
    fn in_turn(&self, src: HostId, dst: HostId, hops: &[Hop], packets: u64, cell: u64) -> Ps {
        let (pace, way) = (hops[0].full, inside(hops).iter().map(|hop| hop.full).sum::<Ps>());
        let exit = hops[hops.len() - 1];
        let within_reach = (way / pace.max(1) + 1) as u64;
        let ahead = (packets - 1).saturating_sub(within_reach);
        let mut replayed: Vec<Replayed> = (ahead..packets)
            .map(|turn| {
                let last = turn == packets - 1;
                let sent = Ps::from(turn) * pace + if last { hops[0].last } else { pace };
                Replayed { at: sent, turn, last, ports: self.ports_passed(src, dst, turn / cell).collect() }
            })
            .collect();
        for (j, hop) in hops.iter().enumerate().skip(1) {
            // When the packets ahead have left the last hop; on links before they are out of the way.
            let busy = if j < hops.len() - 1 || ahead == 0 {
                0
            } else {
                pace + way + exit.full + Ps::from(ahead - 1) * exit.full.max(pace)
            };
            pass_hop(&mut replayed, j, hop, busy);
        }
        let end = replayed.iter().map(|packet| packet.at).max().unwrap_or(0);
        end + hops.iter().map(|hop| hop.delay).sum::<Ps>()
    }
}

/// How packets of one flow are spread over several paths.
enum Spraying {
    /// Round robin over links that keep up, so many packets at once.
    InTurn { cell: u64 },
    /// At random, or round robin over links that do not keep up.
    Spread,
}

/// A packet in the replay of the last few.
struct Replayed {
    /// When it reaches the next hop, delays left out: they are the same on all paths.
    at: Ps,
    turn: u64,
    last: bool,
    ports: Vec<PortId>,
}

/// Moves all packets over hop `j`, each port in order of arrival and not before `busy`.
fn pass_hop(packets: &mut [Replayed], j: usize, hop: &Hop, busy: Ps) {
    packets.sort_by_key(|packet| (packet.at, packet.turn));
    for i in 0..packets.len() {
        let (before, here) = (&packets[..i], &packets[i]);
        let same_port = before.iter().rev().find(|other| other.ports[j] == here.ports[j]);
        let free = same_port.map_or(busy, |other| other.at);
        packets[i].at = here.at.max(free) + if here.last { hop.last } else { hop.full };
    }
}

/// The hops between the first and the last, which all packets of a flow share.
fn inside(hops: &[Hop]) -> &[Hop] {
    &hops[1..hops.len() - 1]
}

/// All packets take one path: a flow shop with equal jobs and a last, shorter one, whose length is that of
/// its critical path. That path follows the first packet up to the slowest hop so far, stays there until all
/// full packets are through, moves on, and changes over to the last packet at some hop.
fn one_path(hops: &[Hop], packets: u64) -> Ps {
    let delays: Ps = hops.iter().map(|hop| hop.delay).sum();
    let mut last_on: Ps = hops.iter().map(|hop| hop.last).sum();
    if packets == 1 {
        return delays + last_on;
    }
    let (mut full_to, mut slowest, mut longest) = (0, 0, 0);
    for hop in hops {
        full_to += hop.full;
        slowest = hop.full.max(slowest);
        longest = (full_to + Ps::from(packets - 2) * slowest + last_on).max(longest);
        last_on -= hop.last;
    }
    delays + longest
}

/// A bound for packets on several paths: between the first and the last hop nothing waits, or else the
/// busiest of the parallel ports of some hop limits.
fn spread(hops: &[Hop], packets: u64) -> Ps {
    let (first, exit) = (hops[0], hops[hops.len() - 1]);
    let delays: Ps = hops.iter().map(|hop| hop.delay).sum();
    let way_full: Ps = inside(hops).iter().map(|hop| hop.full).sum();
    let way_last: Ps = inside(hops).iter().map(|hop| hop.last).sum();
    let full = Ps::from(packets - 1);
    // When full packet i (from 1) and the last one reach the last hop.
    let reaches = |i: Ps| i * first.full + way_full;
    let last_reaches = full * first.full + first.last + way_last;
    // Full packets that are there no later than the last one.
    let before = (last_reaches.saturating_sub(way_full) / first.full.max(1)).min(full);
    // The last hop ends no sooner than any arrival plus what arrives from then on; with arrivals evenly
    // spaced it is enough to look at both ends of the two stretches.
    let from_full = |i: Ps| {
        let last = if i <= before { exit.last } else { 0 };
        reaches(i) + (full - i + 1) * exit.full + last
    };
    let ends = [1, before, before + 1, full].into_iter().filter(|i| (1..=full).contains(i)).map(from_full);
    let unqueued = ends.fold(last_reaches + exit.last + (full - before) * exit.full, Ps::max);

    let mut ahead = first.full;
    let mut behind = way_last + exit.last;
    let mut longest = unqueued;
    for hop in inside(hops) {
        let on_busiest = Ps::from(packets.div_ceil(hop.width));
        longest = longest.max(ahead + (on_busiest - 1) * hop.full + behind);
        ahead += hop.last;
        behind -= hop.last;
    }
    delays + longest
}
