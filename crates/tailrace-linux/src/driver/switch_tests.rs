//! A switch between real interfaces: which frame comes out where, over both kinds of links.

use nix::net::if_::if_nametoindex;
use tailrace_core::{QueueLength, Time};
use tailrace_fabric::Fabric;
use tailrace_packet::Watch;
use tailrace_scenario::Scenario;
use tailrace_schemes::dctcp::{Dctcp, Params};
use tailrace_workload::feed::Feed;

use super::tests::{ALWAYS, IPV4, KINDS, NEVER, OTHER, PATIENCE, ipv4, is_root};
use super::*;
use crate::hosts::INTERFACE;
use crate::link::{Kind, PacketLinks};
use crate::mac_table::{Mac, MacTable};
use crate::sys::packet_socket;

const PORTS: usize = 3;
const ALL: Mac = [0xff; 6];

/// The address of whoever is behind a port.
fn mac(port: u8) -> Mac {
    [0x02, 0xaa, 0, 0, 0, port]
}

fn frame(to: Mac, from: Mac, tags: &[[u8; 4]], kind: [u8; 2], payload: &[u8]) -> Vec<u8> {
    [&to, &from, tags.concat().as_slice(), &kind, payload].concat()
}

fn scheme(k: u32, rate: &str) -> (Dctcp, Fabric, Scenario) {
    let text = format!(
        "[fabric]\nkind = \"star\"\nhosts = {PORTS}\nhost_rate = \"{rate}\"\ndelay = \"0s\"\nbuffer = \"300KB\"\n\
         [workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 1\n[scheme]\nname = \"dctcp\"\n"
    );
    let scenario = Scenario::parse(&text).unwrap();
    let fabric = Fabric::clone(&scenario.fabric.build());
    let mut params = Params::default();
    params.port.marking_threshold = QueueLength::Packets(k).into();
    (Dctcp::new(params, &scenario.facts(&fabric)).unwrap(), fabric, scenario)
}

/// A switch, and packet sockets at the far ends of its ports.
struct Rig<'a> {
    driver: Driver<'a, Dctcp>,
    ends: PacketLinks,
    slab: Slab,
}

impl<'a> Rig<'a> {
    /// `None` where this kind does not work, which is said.
    fn new(hosts: &'a Hosts, wanted: Wanted, rate: &str) -> Option<Self> {
        let (scheme, fabric, scenario) = scheme(NEVER, rate);
        let priorities = Priorities::new(scheme.switch_plan(fabric.host_rate()).as_ref());
        let (feed, watch) = (Feed::from(Vec::new()), Watch::default());
        let world = World::new(scheme, &fabric, scenario.transport, feed, None, watch, 1).outside();
        let table = MacTable::new([(mac(2), 2)], true);
        let driver = match Driver::switch(world, hosts.ports(), table, priorities, 1460, wanted) {
            Ok(driver) => driver,
            Err(error) => {
                assert_ne!(wanted, Wanted::Packet, "{error}");
                crate::skip_test(error);
                return None;
            }
        };
        let open = |port| {
            let open = || packet_socket(if_nametoindex(INTERFACE)?);
            hosts.namespace(port).inside(open).unwrap()
        };
        let ends = PacketLinks::over((0..PORTS as u32).map(open).collect());
        Some(Rig { driver, ends, slab: Slab::new(4096, hosts.mtu()).unwrap() })
    }

    /// One turn; adds frames between the addresses above that come out, each with its port.
    fn turn(&mut self, came: &mut Vec<(usize, Vec<u8>)>) {
        let until = self.driver.now() + Time::from_ms(1);
        self.driver.turn(until).unwrap();
        for port in 0..PORTS {
            let mut taken = Vec::new();
            self.ends.receive(port, &mut self.slab, &mut taken).unwrap();
            for number in taken {
                let frame = self.slab.bytes(number);
                if frame.get(6..11) == Some(&mac(0)[..5]) {
                    came.push((port, frame.to_vec()));
                }
                self.slab.free(number);
            }
        }
    }

    /// What comes out until `enough` frames have, or no more do.
    fn received(&mut self, enough: usize) -> Vec<(usize, Vec<u8>)> {
        let (mut came, mut last, mut before) = (Vec::new(), self.driver.now(), 0);
        while came.len() < enough && self.driver.now() < last + PATIENCE {
            self.turn(&mut came);
            if came.len() > before {
                (last, before) = (self.driver.now(), came.len());
            }
        }
        came
    }

    /// Where a frame comes out, as it went in.
    fn ways(&mut self, port: usize, frame: &[u8]) -> Vec<usize> {
        self.ends.send_now(port, frame).unwrap();
        let came = self.received(usize::MAX);
        assert!(came.iter().all(|(_, bytes)| bytes == frame), "{came:02x?}");
        let mut ports: Vec<usize> = came.into_iter().map(|(port, _)| port).collect();
        ports.sort_unstable();
        ports
    }
}

#[test]
fn frames_go_to_who_is_known_or_to_all_others_and_each_copy_is_counted() {
    if !is_root() {
        return;
    }
    let hosts = Hosts::new(PORTS, 1500, None).unwrap();
    for kind in KINDS {
        let Some(mut rig) = Rig::new(&hosts, kind, "1Gbps") else { continue };
        let before = rig.driver.world().ledger().injected.packets;
        let [a, b, given] = [0, 1, 2].map(mac);
        for tags in [&[][..], &[[0x81, 0, 0x60, 5]]] {
            let ip = ipv4(0x2e << 2 | 2, 1500);
            let frame = |to, from| frame(to, from, tags, IPV4, &ip);
            if tags.is_empty() {
                assert_eq!(rig.ways(0, &frame(b, a)), [1, 2], "{kind:?}: nobody knows b");
            }
            assert_eq!(rig.ways(1, &frame(a, b)), [0]);
            assert_eq!(rig.ways(0, &frame(b, a)), [1]);
            assert_eq!(rig.ways(0, &frame(given, a)), [2], "it is known without having sent anything");
            assert_eq!(rig.ways(1, &frame(ALL, b)), [0, 2]);
        }
        // a has moved to where b is: what is for b stays there.
        let other = frame(b, a, &[], OTHER, &[7; 46]);
        let stayed = rig.driver.frame_counters().back;
        assert_eq!(rig.ways(1, &other), [] as [usize; 0]);
        assert_eq!(rig.driver.frame_counters().back, stayed + 1);
        assert_eq!(rig.ways(2, &frame(a, given, &[], OTHER, &[7; 46])), [1]);
        let ledger = rig.driver.world().ledger();
        assert!(ledger.balances(), "{ledger:?}");
        // Two for each that went to all; the namespaces' own kernels may have sent some, too.
        assert!(ledger.injected.packets - before >= 13, "{ledger:?}");
    }
}

#[test]
fn of_a_flood_for_all_each_copy_is_accounted_for() {
    if !is_root() {
        return;
    }
    let hosts = Hosts::new(PORTS, 1500, None).unwrap();
    for kind in KINDS {
        let Some(mut rig) = Rig::new(&hosts, kind, "20Mbps") else { continue };
        let sent = frame(ALL, mac(0), &[], IPV4, &ipv4(0, 1500));
        let mut came = Vec::new();
        for number in 1..=2_000 {
            rig.ends.send_now(0, &sent).unwrap();
            if number % 100 == 0 {
                rig.turn(&mut came);
            }
        }
        came.extend(rig.received(usize::MAX));
        let (ledger, frame_counters) = (rig.driver.world().ledger(), rig.driver.exact_frame_counters());
        assert!(ledger.balances() && ledger.dropped_buffer.packets > 0, "{ledger:?}");
        let [one, two] = [1, 2].map(|port| came.iter().filter(|(to, _)| *to == port).count() as u64);
        // The namespaces' own kernels may have sent a few, which take room.
        assert!(one > 150 && one.abs_diff(two) < 10, "{kind:?}: {one} {two} {ledger:?} {frame_counters:?}");
        assert!(
            ledger.injected.packets + frame_counters.no_room + 2 * frame_counters.lost >= 4_000,
            "{ledger:?} {frame_counters:?}"
        );
    }
}

#[test]
fn another_scheme_finds_the_frames_that_wait_and_none_is_lost() {
    if !is_root() {
        return;
    }
    const SENT: u16 = 100;
    let hosts = Hosts::new(PORTS, 1500, None).unwrap();
    for kind in KINDS {
        let Some(mut rig) = Rig::new(&hosts, kind, "10Mbps") else { continue };
        for number in 0..SENT {
            let mut packet = ipv4(2, 1400);
            packet[1000..1002].copy_from_slice(&number.to_be_bytes());
            rig.ends.send_now(0, &frame(mac(2), mac(0), &[], IPV4, &packet)).unwrap();
        }
        let mut came = rig.received(10);
        // It takes 112 ms until all have left.
        let (_, queued, _) = rig.driver.world().queues((PORTS + 2) as u32);
        assert!(queued > 20, "{kind:?} {queued}");
        let (scheme, fabric, _) = scheme(ALWAYS, "100Mbps");
        let priorities = Priorities::new(scheme.switch_plan(fabric.host_rate()).as_ref());
        rig.driver.refit(scheme, &fabric, priorities);
        came.extend(rig.received(usize::from(SENT) - came.len()));
        let number =
            |(port, bytes): &(usize, Vec<u8>)| (*port, u16::from_be_bytes([bytes[1014], bytes[1015]]));
        let numbers: Vec<_> = came.iter().map(number).collect();
        let all: Vec<_> = (0..SENT).map(|number| (2, number)).collect();
        assert_eq!(numbers, all, "{kind:?}");
        let marked = |(_, bytes): &(usize, Vec<u8>)| bytes[15] & 3 == 3;
        assert!(!marked(&came[0]) && marked(&came[usize::from(SENT) - 1]));
        let marks = came.iter().filter(|frame| marked(frame)).count() as u64;
        assert_eq!(rig.driver.world().port_counts().map(|port| port.marked).sum::<u64>(), marks);
        let ledger = rig.driver.world().ledger();
        assert_eq!((ledger.balances(), ledger.dropped().packets), (true, 0), "{ledger:?}");
    }
}
