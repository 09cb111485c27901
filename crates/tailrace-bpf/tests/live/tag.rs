//! The program that tags against the table that it is given: frame by frame without a network, and between namespaces.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "both ends of a connection, in real time")]

#[cfg(not(feature = "programs"))]
#[test]
fn tags() {
    tailrace_linux::skip_test(
        "this build has no host agent (cargo test -p tailrace-bpf --features programs; needs clang)",
    );
}

#[cfg(feature = "programs")]
mod with_bpf {
    use std::net::{TcpListener, TcpStream};

    use tailrace_bpf::{Counts, EgressTagger};
    use tailrace_core::{Bytes, Directive, Directives, TagTable, dscp_of};
    use tailrace_linux::{check_rights, skip_test};

    use crate::common::*;
    use crate::frames::{Frames, Model, Tap};

    fn table(limits: &[u64]) -> TagTable {
        TagTable::with_limits(&limits.iter().map(|&limit| Bytes::new(limit)).collect::<Vec<_>>())
    }

    fn directive(tags: &TagTable, acks: u8) -> Directive {
        Directive { acks, ..Directive::tagged(*tags) }
    }

    /// The same for all flows.
    fn same(tags: &TagTable, acks: u8) -> Directives {
        Directives::same(directive(tags, acks))
    }

    fn tagger(tags: &TagTable, acks: u8) -> Option<EgressTagger> {
        if let Err(error) = check_rights("this test") {
            skip_test(error);
            return None;
        }
        // Frames that are no longer what they were are of flows of their own, and all must find room.
        Some(EgressTagger::new(4 * how_many(), &same(tags, acks), &[]).unwrap())
    }

    /// As many as `TAILRACE_FRAMES` says, or a million.
    fn how_many() -> u32 {
        std::env::var("TAILRACE_FRAMES").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000)
    }

    #[test]
    fn every_frame_is_what_the_table_says_to_the_byte() {
        let tables = [
            (table(&[1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000]), 0),
            (table(&[0, 1_461, 100_000]), 1),
            (TagTable::FLAT, 0),
            (TagTable::flat(7), 7),
        ];
        let Some(mut tagger) = tagger(&tables[0].0, tables[0].1) else { return };
        let (mut frames, mut model) = (Frames::new(1), Model::default());
        for number in 0..how_many() {
            // Tables change while flows go on.
            let (tags, acks) = &tables[(number / 10_000) as usize % tables.len()];
            if number % 10_000 == 0 {
                tagger.set(&same(tags, *acks), &[]).unwrap();
            }
            let frame = frames.next();
            let expected = model.tagged(&frame, |_| directive(tags, *acks));
            let (found, _) = tagger.try_on(&frame, 1).unwrap();
            assert_eq!(found, expected, "frame {number}: {frame:02x?}");
        }
        assert_eq!(tagger.counts().unwrap(), model.counts);
        let Counts { tagged, untouched, flows, .. } = model.counts;
        let all = u64::from(how_many());
        assert!(tagged > all / 3 && untouched > all / 10 && flows > all / 1_000, "{:?}", model.counts);
        assert!(model.priorities.iter().all(|&count| count > all / 1_000), "{:?}", model.priorities);
    }

    #[test]
    fn what_a_packet_costs_is_said() {
        let Some(mut tagger) = tagger(&table(&[1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000]), 0)
        else {
            return;
        };
        let own = libbpf_rs::query::ProgInfoIter::default().filter(|program| program.name == "tag");
        let verified = own.map(|program| program.verified_insns).max();
        println!("the kernel's verifier looked at {} instructions", verified.unwrap());
        for (what, frame) in [
            ("IPv4 data", Frames::plain(true, 1_448)),
            ("IPv6 data", Frames::plain(false, 1_428)),
            ("IPv4 acknowledgement", Frames::plain(true, 0)),
            ("not TCP", Frames::not_tcp()),
        ] {
            let median = |mut rounds: Vec<u32>| {
                rounds.sort_unstable();
                rounds[rounds.len() / 2]
            };
            let again = median((0..5).map(|_| tagger.try_on(&frame, 200_000).unwrap().1).collect());
            // Alone, each begins without a tag, and with what is not in the processor's caches.
            let alone = median((0..5_000).map(|_| tagger.try_on(&frame, 1).unwrap().1).collect());
            println!(
                "{what}: {again} ns a packet whose tag is right already, {alone} ns alone with its tag written"
            );
        }
    }

    /// Sends bytes from `a` to `b`; returns priority and place of each segment that came.
    fn segments(tap: &Tap, port: u16) -> Vec<(u64, u8)> {
        tap.segments(port).into_iter().map(|(before, tos)| (before, tos >> 2)).collect()
    }

    #[test]
    fn dscp_moves_at_the_thresholds_and_live_changes_are_for_what_follows() {
        let Some(Pair { a, b }) = pair() else { return };
        let tags = table(&[10_000, 50_000, 200_000]);
        // A packet for each segment, and then packets that are cut behind the program: those are tagged by their first byte.
        for (to, port, most) in [(B4, 80, 1), (B6, 81, 1), (B4, 82, 65_535), (B6, 83, 65_535)] {
            let tap = b.inside(|| Ok(Tap::new())).unwrap();
            let listener = b.inside(|| TcpListener::bind(address(to, port))).unwrap();
            let send = || {
                ip(&format!("link set eth0 gso_max_segs {most}"));
                let mut tagger = EgressTagger::new(64, &same(&tags, 0), &[]).unwrap();
                let own = nix::net::if_::if_nametoindex("eth0")?;
                tagger.attach(own).unwrap();
                let mut near = TcpStream::connect(address(to, port))?;
                let (mut far, _) = listener.accept()?;
                carry(&mut near, &mut far, 300_000);
                tagger.set(&same(&TagTable::flat(5), 0), &[]).unwrap();
                carry(&mut near, &mut far, 100_000);
                let counts = tagger.counts().unwrap();
                drop(tagger);
                carry(&mut near, &mut far, 50_000);
                assert!(counts.tagged > if most == 1 { 250 } else { 10 } && counts.flows == 1, "{counts:?}");
                Ok(())
            };
            a.inside(send).unwrap();
            let seen = segments(&tap, port);
            let of = |from: u64, to: u64| seen.iter().filter(move |(before, _)| (from..to).contains(before));
            for (before, dscp) in of(0, 300_000) {
                assert_eq!(*dscp, dscp_of(usize::from(tags.priority(*before))), "{before}");
            }
            assert!(of(300_000, 400_000).all(|(_, dscp)| *dscp == 2));
            assert!(of(400_000, 450_000).all(|(_, dscp)| *dscp == 0), "there is no program any more");
            let counts = [of(0, 10_000).count(), of(200_000, 300_000).count(), of(300_000, 400_000).count()];
            if most == 1 {
                assert!(counts[0] >= 7 && counts[1] > 60 && counts[2] > 60, "{counts:?}");
            } else {
                assert!(counts.iter().all(|&count| count > 0) && counts[1] < 60, "{counts:?}");
            }
        }
    }

    /// While packets leave, tables change as fast as they can be written: of one that is written half, packets would have a
    /// priority that neither table gives.
    #[test]
    fn packets_find_the_old_table_or_the_new_one() {
        use std::io::{Read, Write};
        use std::net::Shutdown;
        use std::sync::atomic::{AtomicBool, Ordering};
        const CHANGES: usize = 60;
        let Some(Pair { a, b }) = pair() else { return };
        // Whatever a flow has sent after its first bytes: the last priority, or the first.
        let tables = [table(&[1, 2, 3, 4, 5, 6, 7]), table(&[1 << 40, 2 << 40, 3 << 40, 4 << 40, 5 << 40])];
        let tap = b.inside(|| Ok(Tap::new())).unwrap();
        let listener = b.inside(|| TcpListener::bind(address(B4, 90))).unwrap();
        let done = AtomicBool::new(false);
        a.inside(|| {
            ip("link set eth0 gso_max_segs 1");
            let mut tagger = EgressTagger::new(64, &same(&tables[0], 0), &[]).unwrap();
            tagger.attach(nix::net::if_::if_nametoindex("eth0")?).unwrap();
            let mut near = TcpStream::connect(address(B4, 90))?;
            let (mut far, _) = listener.accept()?;
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        near.write_all(&[1; 28_960]).unwrap();
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    near.shutdown(Shutdown::Write).unwrap();
                });
                scope.spawn(|| far.read_to_end(&mut Vec::new()).unwrap());
                for change in 1..=CHANGES {
                    tagger.set(&same(&tables[change % 2], 0), &[]).unwrap();
                }
                done.store(true, Ordering::Relaxed);
            });
            Ok(())
        })
        .unwrap();
        let seen = segments(&tap, 90);
        let of = |priority: usize| {
            seen.iter().filter(|(before, dscp)| *before > 10 && *dscp == dscp_of(priority)).count()
        };
        let (first, last) = (of(0), of(7));
        println!(
            "{CHANGES} changes under {} packets: {first} of the first priority, {last} of the last",
            seen.len()
        );
        assert!(first > 500 && last > 500, "{first}, {last}");
        assert_eq!(first + last, seen.iter().filter(|(before, _)| *before > 10).count());
    }

    fn carry(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
        use std::io::{Read, Write};
        std::thread::scope(|scope| {
            scope.spawn(|| from.write_all(&vec![1; bytes]).unwrap());
            to.read_exact(&mut vec![0; bytes]).unwrap();
        });
        // What the sender knows to have arrived is not sent again under other tags.
        std::thread::sleep(std::time::Duration::from_millis(60));
    }
}
