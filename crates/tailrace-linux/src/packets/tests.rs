//! The live world's frames go the ways of the simulator's packets: of two worlds with the same flows, the hosts of one are
//! simulated, and of the other all that hosts send is made a frame, read, and read again where it leaves.

use proptest::prelude::*;
use tailrace_core::{Bytes, Outcome, PacketKind, PortCounts, Reveals, Scheme};
use tailrace_packet::{Watch, World};
use tailrace_scenario::Scenario;
use tailrace_schemes::{awafs::Awafs, baraat::Baraat, dctcp::Dctcp, pfabric::Pfabric, pias::Pias};
use tailrace_workload::FlowSpec;
use tailrace_workload::feed::Feed;

use super::*;
use crate::forward::{Forwarding, Way};
use crate::frame::{ipv4_of, mac_of};
use crate::sys::HEADROOM;

const MSS: u16 = 1460;

/// Each kind of fabric, with four hosts or eight.
const FABRICS: [&str; 5] = [
    "kind = \"star\"\nhosts = 4",
    "kind = \"dumbbell\"\nleft = 2\nright = 2\nbottleneck_rate = \"1Gbps\"",
    "kind = \"parking-lot\"\nswitches = 4\nhosts_per_switch = 1\nrow_rate = \"2Gbps\"",
    "kind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 2\nspine_rate = \"1Gbps\"",
    "kind = \"tree\"\npods = 2\nedges_per_pod = 2\nhosts_per_edge = 2\naggs_per_pod = 2\ncores = 4\n\
     edge_rate = \"1Gbps\"\ncore_rate = \"1Gbps\"",
];
const ECMP: &str = "\"ecmp\"";
const BALANCERS: [&str; 5] = [
    ECMP,
    "\"spray\"",
    "\"spray-random\"",
    "\"flowlet\"\nflowlet_gap = \"5us\"",
    "\"flowcell\"\nflowcell_size = \"9KB\"",
];

fn scenario(fabric: &str, balancing: &str, scheme: &str) -> Scenario {
    let text = format!(
        "[fabric]\n{fabric}\nhost_rate = \"1Gbps\"\ndelay = \"1us\"\nbuffer = \"60KB\"\n\
         load_balancing = {balancing}\n[workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 1\n\
         [scheme]\nname = \"{scheme}\"\n"
    );
    Scenario::parse(&text).unwrap()
}

/// A flow between two hosts of a fabric, as numbers that any fabric has: when it starts after the one before it, and its size.
type Drawn = (HostId, HostId, u64, u64);

fn flows(drawn: &[Drawn], hosts: HostId) -> Vec<FlowSpec> {
    let mut start = Time::ZERO;
    let flow = |(task, &(src, away, after_ns, size)): (u32, &Drawn)| {
        start += Time::from_ns(after_ns);
        let src = src % hosts;
        FlowSpec {
            src,
            dst: (src + 1 + away % (hosts - 1)) % hosts,
            size: Bytes::new(size),
            start,
            deadline: None,
            reveals: Reveals::default(),
            controlled: false,
            class: 0,
            slice: 0,
            task,
            task_size: Bytes::new(size),
            ticket: 0,
        }
    };
    (1..).zip(drawn).map(flow).collect()
}

/// A packet that has come to a host: to which, and what it was.
type Came = (HostId, u32, u32, u16, u8, PacketKind, Ecn);

/// What is seen of a world: what came to hosts, what each port had sent at each of these times, and the outcome.
struct Seen {
    came: Vec<Came>,
    ports: Vec<Vec<PortCounts>>,
    outcome: Outcome,
}

/// What carries packets between a world and its hosts.
trait Edge<S: Scheme> {
    /// What its hosts have sent enters the network.
    fn enter(&mut self, world: &mut World<S>);
    /// What the host gets of a packet that has left the network.
    fn leave(&mut self, host: HostId, packet: Packet<S::Header>) -> Packet<S::Header>;
}

/// Of a world with its hosts inside: there is nothing to carry.
struct Inside;

impl<S: Scheme> Edge<S> for Inside {
    fn enter(&mut self, _: &mut World<S>) {}
    fn leave(&mut self, _: HostId, packet: Packet<S::Header>) -> Packet<S::Header> {
        packet
    }
}

/// Hands packets over as they are.
struct Plain;

impl<S: Scheme> Edge<S> for Plain {
    fn enter(&mut self, world: &mut World<S>) {
        let sent = std::mem::take(&mut world.carry_on().sent);
        sent.into_iter().for_each(|(host, packet)| world.enter(host, packet));
    }
    fn leave(&mut self, _: HostId, packet: Packet<S::Header>) -> Packet<S::Header> {
        packet
    }
}

/// The driver's, with wires that take no time.
struct Frames {
    slab: Slab,
    forwarding: Forwarding,
    priorities: Priorities,
}

impl<S: Scheme> Edge<S> for Frames {
    fn enter(&mut self, world: &mut World<S>) {
        let outside = world.carry_on();
        let lost: Vec<_> = outside.lost.drain(..).collect();
        lost.iter().for_each(|lost| self.slab.free(lost.packet.sent_ps as u32));
        for (host, packet) in std::mem::take(&mut outside.sent) {
            let bytes = frame_of(host, &packet);
            let number = self.slab.take().unwrap();
            self.slab.put(number, HEADROOM, bytes.len());
            self.slab.bytes_mut(number).copy_from_slice(&bytes);
            let way = self.forwarding.way(&bytes, host, Time::ZERO);
            let Way::To(to) = way else { panic!("{way:?}") };
            let entering = packet_of(&mut self.slab, number, to, true, &self.priorities, MSS.into());
            assert!(self.slab.slot(number).own, "{packet:?}");
            world.enter(host, entering);
        }
    }

    fn leave(&mut self, host: HostId, packet: Packet<S::Header>) -> Packet<S::Header> {
        let number = write_back(&mut self.slab, &packet);
        let bytes = self.slab.bytes(number);
        assert_eq!(bytes[..6], mac_of(host), "leaves where it is not for");
        let frame = Frame::read(bytes).unwrap();
        let packet = wire::decode(&bytes[frame.transport.unwrap().payload_at..], frame.tos).unwrap();
        self.slab.free(number);
        packet
    }
}

/// What a host's kernel makes of a datagram of its transport.
fn frame_of<H: Header>(from: HostId, packet: &Packet<H>) -> Vec<u8> {
    let datagram = wire::datagram_bytes(packet);
    let mut bytes = [mac_of(packet.dst.into()), mac_of(from)].concat();
    bytes.extend([0x08, 0x00, 0x45, wire::tos(packet)]);
    bytes.extend(((wire::BELOW + datagram) as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    bytes.extend(ipv4_of(from).octets());
    bytes.extend(ipv4_of(packet.dst.into()).octets());
    bytes.extend([wire::PORT, wire::PORT, 8 + datagram as u16].map(u16::to_be_bytes).concat());
    bytes.extend([0, 0]);
    let start = bytes.len();
    bytes.resize(start + datagram, 0);
    wire::encode(packet, &mut bytes[start..]);
    bytes
}

/// Runs a world from one event to the next, to its end.
fn run<S: Scheme>(mut world: World<S>, edge: &mut impl Edge<S>) -> Seen {
    let (mut came, mut ports, mut arriving) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(at) = world.next_event().filter(|_| !world.is_over()) {
        // The clock may come before what is due at its own time.
        world.run_until(at + Time::from_ps(1), &mut |_, host, packet| arriving.push((host, packet)));
        for (host, packet) in arriving.drain(..) {
            let packet = edge.leave(host, packet);
            let Packet { flow, seq, bytes, priority, .. } = packet;
            came.push((host, flow, seq, bytes, priority, packet.kind(), packet.ecn()));
            ports.push(world.port_counts().collect());
            world.arrive(host, &packet);
        }
        edge.enter(&mut world);
    }
    Seen { came, ports, outcome: world.into_outcome() }
}

/// What the frames of a scheme's hosts are compared with, and the flows.
struct Case<'a> {
    fabric: &'a str,
    balancing: &'a str,
    /// Whether the simulator's hosts are inside. They send at once, and others a picosecond later.
    inside: bool,
    drawn: &'a [Drawn],
}

impl Case<'_> {
    /// How many flows end.
    fn check<S: Scheme>(&self) -> usize {
        let scenario = scenario(self.fabric, if S::ONE_PATH { ECMP } else { self.balancing }, S::NAME);
        let fabric = scenario.fabric.build();
        let flows = flows(self.drawn, fabric.hosts as u32);
        let world = || -> World<S> {
            let scheme = S::new(S::Params::default(), &scenario.facts(&fabric)).unwrap();
            let (feed, watch) = (Feed::from(flows.clone()), Watch::default());
            World::new(scheme, &fabric, scenario.transport, feed, None, watch, scenario.seed)
        };
        let simulated = match self.inside {
            true => run(world(), &mut Inside),
            false => run(world().outside(), &mut Plain),
        };
        let mut frames = Frames {
            slab: Slab::new(4096, wire::longest_ip_packet::<S::Header>(MSS)).unwrap(),
            forwarding: Forwarding::Hosts(fabric.hosts),
            priorities: Priorities::new(None),
        };
        let live = run(world().outside(), &mut frames);
        for (number, (live, simulated)) in live.came.iter().zip(&simulated.came).enumerate() {
            assert_eq!(live, simulated, "packet {number} under {}", S::NAME);
        }
        assert_eq!(live.came.len(), simulated.came.len());
        // One packet more at one port, and one fewer at another, is another way.
        assert!(live.ports == simulated.ports, "packets go other ways under {}", S::NAME);
        let [live, simulated] = [live.outcome, simulated.outcome];
        assert!(live.ledger.unwrap().balances());
        assert_eq!((live.ports, live.ledger), (simulated.ports, simulated.ledger));
        assert!(self.inside || live.digest == simulated.digest, "at other times under {}", S::NAME);
        live.flows.iter().filter(|flow| flow.fct().is_some()).count()
    }

    fn check_one(&self, scheme: usize) -> usize {
        match scheme {
            0 => self.check::<Pfabric>(),
            1 => self.check::<Pias>(),
            2 => self.check::<Awafs>(),
            3 => self.check::<Dctcp>(),
            _ => self.check::<Baraat>(),
        }
    }
}

proptest! {
    #![proptest_config(tailrace_cases::cases(40))]

    /// One after another: there is one packet, or an acknowledgement.
    #[test]
    fn a_frame_goes_the_way_of_the_simulated_packet(
        drawn in prop::collection::vec((any::<u32>(), any::<u32>(), 1_000_000u64..2_000_000, 1u64..1_460), 1..40),
        scheme in 0usize..5,
        balancing in prop::sample::select(&BALANCERS[..]),
    ) {
        for fabric in FABRICS {
            let case = Case { fabric, balancing, inside: true, drawn: &drawn };
            prop_assert_eq!(case.check_one(scheme), drawn.len(), "{}", fabric);
        }
    }

    /// Of flows that fill queues, some of which overflow.
    #[test]
    fn many_frames_go_the_ways_of_simulated_packets(
        drawn in prop::collection::vec((any::<u32>(), any::<u32>(), 0u64..200_000, 1u64..60_000), 1..25),
        scheme in 0usize..5,
        balancing in prop::sample::select(&BALANCERS[..]),
    ) {
        for fabric in FABRICS {
            let case = Case { fabric, balancing, inside: false, drawn: &drawn };
            prop_assert_eq!(case.check_one(scheme), drawn.len(), "{}", fabric);
        }
    }
}
