//! More flows than there is room for: they have the last priority, are counted, and get room as others end or fall silent.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "flows are silent in real time")]
#![cfg(feature = "programs")]

use std::time::Duration;

use crate::frames::Frames;
use tailrace_bpf::EgressTagger;
use tailrace_core::{Bytes, Directive, Directives, TagTable, dscp_of};
use tailrace_linux::{check_rights, skip_test};

const SYN: u8 = 2;
const FIN_ACK: u8 = 17;
const ACK: u8 = 16;
/// Where in a frame of IPv4 its source and TCP's flags are.
const SOURCE: usize = 26;
const FLAGS: usize = 47;
const TOS: usize = 15;

fn tagger(flows: u32) -> Option<EgressTagger> {
    if let Err(error) = check_rights("this test") {
        skip_test(error);
        return None;
    }
    let tags = TagTable::with_limits(&[Bytes::new(1_000), Bytes::new(2_000)]);
    Some(EgressTagger::new(flows, &Directives::same(Directive::tagged(tags)), &[]).unwrap())
}

/// The DSCP of a packet of this flow.
fn dscp(tagger: &mut EgressTagger, frame: &mut [u8], flow: u32, flags: u8) -> u8 {
    frame[SOURCE..SOURCE + 4].copy_from_slice(&flow.to_be_bytes());
    frame[FLAGS] = flags;
    tagger.try_on(frame, 1).unwrap().0[TOS] >> 2
}

#[test]
fn a_crowd_degrades_is_counted_and_recovers() {
    let (room, crowd) = (256, 4_000);
    let Some(mut tagger) = tagger(room) else { return };
    let mut frame = Frames::plain(true, 500);
    let (first, last) = (dscp_of(0), dscp_of(7));
    let begun: Vec<u8> = (0..crowd).map(|flow| dscp(&mut tagger, &mut frame, flow, SYN)).collect();
    // All places are taken, and those who came later have the priority of packets that nobody tags.
    let with_room: Vec<u32> = (0..crowd).filter(|&flow| begun[flow as usize] == first).collect();
    assert_eq!(with_room.len() as u32, room);
    assert!(begun.iter().all(|&dscp| dscp == first || dscp == last));
    let counts = tagger.counts().unwrap();
    assert_eq!((counts.flows, counts.crowded), (u64::from(room), u64::from(crowd - room)));
    // Who has room keeps it: the fifth packet of 500 bytes has 2,000 before it.
    let one = with_room[7];
    let tags: Vec<u8> = (0..5).map(|_| dscp(&mut tagger, &mut frame, one, ACK)).collect();
    assert_eq!(tags[0], first);
    // As flows end, others find room, in the middle of their way, too.
    for &flow in &with_room {
        dscp(&mut tagger, &mut frame, flow, FIN_ACK);
    }
    let begun = (crowd..2 * crowd).filter(|&flow| dscp(&mut tagger, &mut frame, flow, ACK) == first).count();
    assert_eq!(begun as u32, room);
    assert_eq!(tagger.flows().unwrap().largest(10).unwrap().0, u64::from(room));
    // The same when those who have room are silent for ten seconds, as flows whose host is gone.
    assert_eq!(dscp(&mut tagger, &mut frame, 3 * crowd, SYN), last);
    std::thread::sleep(Duration::from_millis(10_200));
    let begun =
        (2 * crowd..3 * crowd).filter(|&flow| dscp(&mut tagger, &mut frame, flow, SYN) == first).count();
    assert_eq!(begun as u32, room);
}

/// Anybody can ask for connections, and need not have one.
#[test]
fn connections_that_are_asked_for_keep_no_room_from_flows_that_send() {
    let (room, crowd) = (256, 4_000);
    let Some(mut tagger) = tagger(room) else { return };
    let (mut asks, mut sends) = (Frames::plain(true, 0), Frames::plain(true, 500));
    let (first, last) = (dscp_of(0), dscp_of(7));
    const SYN_ACK: u8 = 18;
    for flow in 0..crowd {
        assert_eq!(dscp(&mut tagger, &mut asks, flow, if flow % 2 == 0 { SYN } else { SYN_ACK }), first);
    }
    assert_eq!(tagger.counts().unwrap().crowded, 0);
    assert_eq!(tagger.flows().unwrap().largest(10).unwrap().0, 0, "none has sent anything");
    let begun = (0..crowd).filter(|&flow| dscp(&mut tagger, &mut sends, flow, ACK) == first).count();
    assert_eq!(begun as u32, room);
    // Those are flows, which more that are asked for do not push out.
    for flow in crowd..2 * crowd {
        assert_eq!(dscp(&mut tagger, &mut asks, flow, SYN), first);
    }
    let there: Vec<_> =
        (0..crowd).filter(|&flow| dscp(&mut tagger, &mut sends, flow, ACK) == first).collect();
    assert_eq!(there.len() as u32, room);
    assert_eq!(dscp(&mut tagger, &mut sends, 3 * crowd, ACK), last);
    assert_eq!(dscp(&mut tagger, &mut asks, there[0], FIN_ACK), first);
    assert_eq!(tagger.flows().unwrap().largest(10).unwrap().0, u64::from(room) - 1);
}

/// All of them at once, and as many again. A flow's place is one of a few that its hash gives: some find none while others are
/// free.
#[test]
fn two_million_flows_at_once_fill_the_room_for_a_million() {
    let room = 1_000_000;
    let Some(mut tagger) = tagger(room) else { return };
    let mut frame = Frames::plain(true, 500);
    let (first, last) = (dscp_of(0), dscp_of(7));
    let mut shares = Vec::new();
    for flow in 0..2 * room {
        let found = dscp(&mut tagger, &mut frame, flow, SYN);
        assert!(found == first || found == last, "{flow}: {found}");
        if [room / 2, room, 2 * room].contains(&(flow + 1)) {
            let counts = tagger.counts().unwrap();
            assert_eq!(counts.flows + counts.crowded, u64::from(flow + 1));
            shares.push(counts.flows as f64 / f64::from(flow + 1));
        }
    }
    println!("half as many as there is room for, as many, twice as many: {shares:.3?} of them found room");
    assert!(shares[0] > 0.95 && shares[1] > 0.8 && shares[2] > 0.45, "{shares:?}");
    // Each of those that end makes room for others.
    for flow in 0..room {
        dscp(&mut tagger, &mut frame, flow, FIN_ACK);
    }
    let begun = (2 * room..2 * room + 10_000)
        .filter(|&flow| dscp(&mut tagger, &mut frame, flow, SYN) == first)
        .count();
    assert!(begun > 9_000, "{begun}");
}

#[test]
fn a_million_flows_take_less_than_64_mb() {
    let Some(tagger) = tagger(1_000_000) else { return };
    let memory = tagger.flows().unwrap().memory_bytes().unwrap();
    println!("room for 1,000,000 flows takes {memory} bytes of the kernel's memory");
    assert!((50_000_000..64_000_000).contains(&memory), "{memory}");
}
