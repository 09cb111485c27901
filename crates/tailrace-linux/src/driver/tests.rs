//! Frames of all kinds through a fabric between real namespaces: what one host sends, and what the other gets.

use nix::net::if_::if_nametoindex;
use tailrace_core::{Ecn, QueueLength, Time};
use tailrace_packet::Watch;
use tailrace_scenario::Scenario;
use tailrace_schemes::dctcp::{Dctcp, Params};
use tailrace_workload::feed::Feed;

use super::*;
use crate::frame::{Frame, ipv4_of, ipv6_of, mac_of};
use crate::hosts::INTERFACE;
use crate::link::{Kind, PacketLinks};
use crate::record::{Record, Shared, replay};
use crate::sys::packet_socket;

/// What has not come after so long does not come any more.
pub(super) const PATIENCE: Time = Time::from_ms(500);
/// What a fabric carries its frames over.
pub(super) const KINDS: [Wanted; 2] = [Wanted::Packet, Wanted::Xdp];

pub(super) fn is_root() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        crate::skip_test("network namespaces need root");
    }
    root
}

/// Two hosts on a star at 1 Gbps, under DCTCP that marks from `k` packets on, with packet sockets in the hosts.
pub(super) struct Rig<'a> {
    pub(super) driver: Driver<'a, Dctcp>,
    pub(super) ends: PacketLinks,
    slab: Slab,
}

pub(super) fn world(k: u32) -> (World<Dctcp>, Priorities) {
    let text = "[fabric]\nkind = \"star\"\nhosts = 2\nhost_rate = \"1Gbps\"\nhost_delay = \"10us\"\nbuffer = \"300KB\"\n\
         [workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 1\n\
         [scheme]\nname = \"dctcp\"\n";
    let scenario = Scenario::parse(text).unwrap();
    let fabric = scenario.fabric.build();
    let mut params = Params::default();
    params.port.marking_threshold = QueueLength::Packets(k).into();
    let scheme = Dctcp::new(params, &scenario.facts(&fabric)).unwrap();
    let priorities = Priorities::new(scheme.switch_plan(fabric.host_rate()).as_ref());
    let (feed, watch) = (Feed::from(Vec::new()), Watch::default());
    (World::new(scheme, &fabric, scenario.transport, feed, None, watch, 1).outside(), priorities)
}

impl<'a> Rig<'a> {
    /// `None` where this kind does not work, which is said.
    pub(super) fn new(hosts: &'a Hosts, wanted: Wanted, k: u32) -> Option<Self> {
        let (world, priorities) = world(k);
        let driver = match Driver::new(world, hosts, priorities, 1460, false, wanted) {
            Ok(driver) => driver,
            Err(error) => {
                assert_ne!(wanted, Wanted::Packet, "{error}");
                crate::skip_test(error);
                return None;
            }
        };
        let open = |host| {
            let open = || packet_socket(if_nametoindex(INTERFACE)?);
            hosts.namespace(host).inside(open).unwrap()
        };
        let ends = PacketLinks::over(vec![open(0), open(1)]);
        Some(Rig { driver, ends, slab: Slab::new(4096, hosts.mtu()).unwrap() })
    }

    /// One turn of the driver: what host 1 has got of host 0 by then.
    pub(super) fn turn(&mut self, frames: &mut Vec<Vec<u8>>) -> bool {
        let until = self.driver.now() + Time::from_ms(1);
        self.driver.turn(until).unwrap();
        let (mut taken, before) = (Vec::new(), frames.len());
        self.ends.receive(1, &mut self.slab, &mut taken).unwrap();
        for number in taken {
            let frame = self.slab.bytes(number);
            let from_fabric = frame.get(12..14) == Some(&ARP) || frame.get(20) == Some(&NEIGHBOURS);
            if frame.get(6..12) == Some(&mac_of(0)) && !from_fabric {
                frames.push(frame.to_vec());
            }
            self.slab.free(number);
        }
        frames.len() > before
    }

    /// What host 1 gets of host 0 until `enough` frames are there, or nothing more comes.
    pub(super) fn received(&mut self, enough: usize) -> Vec<Vec<u8>> {
        let (mut frames, mut last) = (Vec::new(), self.driver.now());
        while frames.len() < enough && self.driver.now() < last + PATIENCE {
            if self.turn(&mut frames) {
                last = self.driver.now();
            }
        }
        frames
    }

    /// What comes of a frame that host 0 sends.
    fn through(&mut self, frame: &[u8]) -> Vec<u8> {
        self.ends.send_now(0, frame).unwrap();
        let mut received = self.received(1);
        assert_eq!(received.len(), 1, "{frame:02x?}");
        received.pop().unwrap()
    }
}

/// A frame from host 0 to host 1, behind VLAN tags.
pub(super) fn frame(tags: &[[u8; 4]], kind: [u8; 2], payload: &[u8]) -> Vec<u8> {
    let mut frame = [mac_of(1), mac_of(0)].concat();
    tags.iter().for_each(|tag| frame.extend(tag));
    frame.extend(kind);
    frame.extend(payload);
    frame
}

fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A UDP datagram to a port where nobody listens, in an IPv4 packet of so many bytes.
pub(super) fn ipv4(tos: u8, bytes: u16) -> Vec<u8> {
    let mut packet = vec![0x45, tos];
    packet.extend(bytes.to_be_bytes());
    packet.extend([0, 1, 0x40, 0, 64, 17, 0, 0]);
    packet.extend(ipv4_of(0).octets());
    packet.extend(ipv4_of(1).octets());
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend([0x10, 0, 0x20, 0]);
    packet.extend((bytes - 20).to_be_bytes());
    packet.resize(usize::from(bytes), 0);
    packet
}

fn ipv6(tos: u8, payload: u16) -> Vec<u8> {
    let mut packet = vec![0x60 | tos >> 4, tos << 4, 0, 0];
    packet.extend(payload.to_be_bytes());
    packet.extend([59, 64]);
    packet.extend(ipv6_of(0).octets());
    packet.extend(ipv6_of(1).octets());
    packet.resize(40 + usize::from(payload), 5);
    packet
}

pub(super) const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// A kind of frame for experiments (IEEE 802).
pub(super) const OTHER: [u8; 2] = [0x88, 0xb5];
const ARP: [u8; 2] = [0x08, 0x06];
/// What IPv6 calls the protocol of neighbour discovery.
const NEIGHBOURS: u8 = 58;
pub(super) const NEVER: u32 = 1_000_000;
pub(super) const ALWAYS: u32 = 0;

#[test]
fn frames_of_all_kinds_come_out_as_they_went_in() {
    if !is_root() {
        return;
    }
    let (plain, service) = ([0x81, 0, 0x60, 5], [0x88, 0xa8, 0, 9]);
    let hosts = Hosts::new(2, 1500, None).unwrap();
    for kind in KINDS {
        let Some(mut rig) = Rig::new(&hosts, kind, NEVER) else { continue };
        for tags in [&[][..], &[plain], &[service], &[service, plain]] {
            // A packet socket carries one tag more than its interface, of the usual kind.
            let longest = if tags.first() == Some(&service) { 1500 - 4 * tags.len() as u16 } else { 1500 };
            for packet in [
                frame(tags, IPV4, &ipv4(0x2e << 2 | 2, longest)),
                frame(tags, IPV4, &ipv4(0, 28)),
                frame(tags, IPV6, &ipv6(3, 1000)),
                frame(tags, OTHER, &[7; 46]),
                // Shorter than Ethernet allows. (The kernel takes no tag with less than two bytes behind it.)
                frame(tags, OTHER, &[3; 2]),
                // Says that it is longer than it is; and no whole header.
                frame(tags, IPV4, &ipv4(0, 900)[..60]),
                frame(tags, IPV6, &ipv6(0, 900)[..39]),
            ] {
                assert_eq!(rig.through(&packet), packet, "{kind:?} {tags:02x?}");
            }
        }
        let ledger = rig.driver.world().ledger();
        assert!(ledger.balances(), "{ledger:?}");
        // The hosts' own kernels may have answered some.
        assert!((28..60).contains(&ledger.injected.packets), "{ledger:?}");
    }
}

#[test]
fn marks_are_put_into_frames_of_both_versions_behind_tags_too() {
    if !is_root() {
        return;
    }
    let hosts = Hosts::new(2, 1500, None).unwrap();
    for kind in KINDS {
        let Some(mut rig) = Rig::new(&hosts, kind, ALWAYS) else { continue };
        for tags in [&[][..], &[[0x81, 0, 0, 5]]] {
            for (kind_of_ip, packet) in [(IPV4, ipv4(0x22, 1400)), (IPV6, ipv6(0x22, 1400))] {
                let sent = frame(tags, kind_of_ip, &packet);
                // The first one finds an empty port. Those behind it are marked.
                (0..5).for_each(|_| rig.ends.send_now(0, &sent).unwrap());
                let received = rig.received(5);
                let read: Vec<Frame> = received.iter().map(|frame| Frame::read(frame).unwrap()).collect();
                assert_eq!(read.len(), 5);
                assert!(read.iter().any(|frame| frame.ecn() == Ecn::Marked), "{kind:?}");
                for (bytes, frame) in received.iter().zip(&read) {
                    assert_eq!(frame.dscp(), 8);
                    let at = 14 + 4 * tags.len();
                    assert!(kind_of_ip == IPV6 || checksum(&bytes[at..at + 20]) == 0, "{bytes:02x?}");
                }
            }
        }
    }
}

#[test]
fn jumbo_frames_go_over_packet_sockets_since_chunks_are_pages() {
    if !is_root() {
        return;
    }
    let hosts = Hosts::new(2, 9000, None).unwrap();
    let refused = Driver::new(world(NEVER).0, &hosts, Priorities::new(None), 8960, false, Wanted::Xdp);
    let why = refused.err().unwrap().to_string();
    assert!(why.contains("4096 bytes hold no packet of 9000"), "{why}");
    let mut rig = Rig::new(&hosts, Wanted::Best, NEVER).unwrap();
    let shown = rig.driver.frames().to_string();
    assert!(shown.starts_with("AF_PACKET (not AF_XDP: "), "{shown}");
    for tags in [&[][..], &[[0x81, 0, 0, 5]]] {
        let sent = frame(tags, IPV4, &ipv4(2, 9000));
        assert_eq!(rig.through(&sent), sent);
    }
}

#[test]
fn what_is_for_nobody_is_counted_and_questions_are_answered() {
    if !is_root() {
        return;
    }
    let hosts = Hosts::new(2, 1500, None).unwrap();
    for kind in KINDS {
        let Some(mut rig) = Rig::new(&hosts, kind, NEVER) else { continue };
        let before = rig.driver.frame_counters();
        let mut to_all = frame(&[], OTHER, &[0; 46]);
        to_all[..6].fill(0xff);
        let mut to_nobody = frame(&[], OTHER, &[0; 46]);
        to_nobody[..6].copy_from_slice(&mac_of(2));
        rig.ends.send_now(0, &to_all).unwrap();
        rig.ends.send_now(0, &to_nobody).unwrap();
        rig.ends.send_now(0, &frame(&[], OTHER, &[1; 46])).unwrap();
        assert_eq!(rig.received(1).len(), 1);
        // The hosts' own kernels may ask for something at any time.
        assert!(rig.driver.frame_counters().unroutable >= before.unroutable + 2);
        let mut question = frame(&[], ARP, &[0, 1, 8, 0, 6, 4, 0, 1]);
        question[..6].fill(0xff);
        question.extend(mac_of(0));
        question.extend(ipv4_of(0).octets());
        question.extend([0; 6]);
        question.extend(ipv4_of(1).octets());
        let before = rig.driver.frame_counters().answered;
        rig.ends.send_now(0, &question).unwrap();
        let _ = rig.received(1);
        assert!(rig.driver.frame_counters().answered > before);
    }
}

#[test]
fn of_a_flood_of_the_shortest_frames_each_one_is_accounted_for() {
    if !is_root() {
        return;
    }
    const SENT: u64 = 20_000;
    let hosts = Hosts::new(2, 1500, None).unwrap();
    for kind in KINDS {
        let Some(mut rig) = Rig::new(&hosts, kind, NEVER) else { continue };
        let lost_before = rig.driver.exact_frame_counters().lost;
        let shortest = frame(&[], OTHER, &[0; 46]);
        for sent in 1..=SENT {
            rig.ends.send_now(0, &shortest).unwrap();
            if sent.is_multiple_of(1000) {
                rig.turn(&mut Vec::new());
            }
        }
        let received = rig.received(usize::MAX).len();
        let ledger = rig.driver.world().ledger();
        let frame_counters = rig.driver.exact_frame_counters();
        assert!(ledger.balances() && received > 0, "{ledger:?}");
        let of_the_flood = ledger.injected.packets + frame_counters.lost - lost_before;
        // The hosts' own kernels may have sent a few.
        assert!((SENT..SENT + 20).contains(&of_the_flood), "{kind:?} {ledger:?} {frame_counters:?}");
    }
}

#[test]
fn what_was_recorded_of_real_frames_a_fresh_network_does_too() {
    if !is_root() {
        return;
    }
    let hosts = Hosts::new(2, 1500, None).unwrap();
    for kind in KINDS {
        let Some(mut rig) = Rig::new(&hosts, kind, 20) else { continue };
        let file = Shared::default();
        rig.driver.record(Recorder::new(Box::new(file.clone()), "two hosts").unwrap());
        for (burst, bytes) in [(1u64, 1500), (300, 1500), (400, 64), (300, 1000)] {
            let sent = frame(&[], IPV4, &ipv4(2, bytes));
            // Bursts that wait at the port of the host's card.
            (0..burst).for_each(|_| rig.ends.send_now(0, &sent).unwrap());
            let _ = rig.received(usize::MAX);
        }
        let outcome = rig.driver.into_world().unwrap().into_outcome();
        let ledger = outcome.ledger.unwrap();
        let raw = file.into_bytes();
        let replayed = replay(world(20).0, &mut Record::open(&raw[..]).unwrap()).unwrap();
        assert_eq!(replayed.difference, None);
        assert_eq!(replayed.entered, ledger.injected.packets);
        assert_eq!(replayed.dropped, ledger.dropped_buffer.packets);
        assert_eq!(replayed.left, ledger.delivered.packets);
        assert!(replayed.entered > 500 && replayed.left > 200 && !replayed.cut_short, "{replayed:?}");
    }
}

/// What becomes of the driver within a second.
fn fate(rig: &mut Rig<'_>) -> Result<(), LiveError> {
    let end = rig.driver.now() + Time::from_ms(1000);
    while rig.driver.now() < end {
        let until = rig.driver.now() + Time::from_ms(5);
        rig.driver.turn(until)?;
    }
    Ok(())
}

#[test]
fn an_interface_that_is_gone_ends_a_run() {
    if !is_root() {
        return;
    }
    for kind in KINDS {
        let hosts = Hosts::new(2, 1500, None).unwrap();
        let Some(mut rig) = Rig::new(&hosts, kind, NEVER) else { continue };
        let ip = |arguments: &'static [&'static str]| {
            hosts.namespace(1).inside(|| std::process::Command::new("ip").args(arguments).status()).unwrap()
        };
        let sent = frame(&[], OTHER, &[7; 46]);
        assert_eq!(rig.through(&sent), sent);
        assert!(ip(&["link", "del", INTERFACE]).success());
        let _ = rig.ends.send_now(0, &sent);
        let error = fate(&mut rig).unwrap_err().to_string();
        // Whichever is looked at first.
        let gone = "the interface of host h1 is gone; somebody has deleted it, or its end in the fabric";
        let expected = ["receiving", "sending", "waiting for"].map(|what| format!("{what} frames: {gone}"));
        assert!(expected.contains(&error), "{error}");
    }
}
