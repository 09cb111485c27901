//! Connections between namespaces, as the kernel tells of them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "both ends of a connection, in real time")]

#[cfg(not(feature = "programs"))]
#[test]
fn measures() {
    tailrace_linux::skip_test(
        "this build has no host agent (cargo test -p tailrace-bpf --features programs; needs clang)",
    );
}

#[cfg(feature = "programs")]
mod with_bpf {
    use std::collections::BTreeMap;
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};

    use tailrace_bpf::{Capture, Connection, Kind, Wanted};
    use tailrace_linux::Namespace;

    use crate::common::*;

    /// Starts a server in a namespace and asks it from another one, one after another.
    fn exchange(server: &Namespace, client: &Namespace, at: SocketAddr, exchanges: &[Exchange]) {
        let (ready, is_ready) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                let run = || {
                    let listener = TcpListener::bind(at)?;
                    ready.send(()).unwrap();
                    serve(&listener, exchanges.len());
                    Ok(())
                };
                server.inside(run).unwrap();
            });
            is_ready.recv().unwrap();
            on(client, || exchanges.iter().for_each(|exchange| ask(at, exchange)));
        });
    }

    /// Looks until so many have ended, or for ten seconds.
    fn look_for(capture: &mut Capture, ended: usize) -> Vec<Connection> {
        let (mut heard, until) = (Vec::new(), Instant::now() + Duration::from_secs(10));
        let count = |heard: &[Connection]| heard.iter().filter(|c| c.kind == Kind::Ended).count();
        while count(&heard) < ended && Instant::now() < until {
            heard.extend(capture.look(Duration::from_millis(50)).unwrap());
        }
        heard
    }

    fn sizes_of(connections: &[Connection]) -> BTreeMap<(u64, u64), usize> {
        let mut sizes = BTreeMap::new();
        for c in connections.iter().filter(|c| c.kind == Kind::Ended) {
            *sizes.entry((c.sent, c.received)).or_default() += 1;
        }
        sizes
    }

    #[test]
    fn bytes_of_connections_are_exact_on_both_ends_whoever_asks_and_closes() {
        let Some(Pair { a, b }) = pair() else { return };
        let sizes = [(17, 0), (17, 1), (1_000, 1_460), (1_461, 100_000), (3_000_000, 18), (5_000, 2_000_000)];
        let exchanges: Vec<Exchange> = [false, true]
            .into_iter()
            .flat_map(|server_closes| {
                sizes.map(|(asked, answered)| Exchange { asked, answered, server_closes })
            })
            .collect();
        let run = || {
            let mut capture = Capture::new(&Wanted::default()).unwrap();
            exchange(&b, &a, address(B4, 80), &exchanges);
            exchange(&b, &a, address(B6, 81), &exchanges);
            exchange(&a, &b, address(A4, 82), &exchanges);
            exchange(&a, &b, address(A6, 83), &exchanges);
            let heard = look_for(&mut capture, 4 * exchanges.len());
            let (rest, unsaid) = capture.finish().unwrap();
            assert_eq!((rest, unsaid), (Vec::new(), (0, 0)));
            Ok(heard)
        };
        let heard = a.inside(run).unwrap();
        let ended: Vec<&Connection> = heard.iter().filter(|c| c.kind == Kind::Ended).collect();
        assert_eq!((ended.len(), heard.len()), (48, 96));
        for service in [80, 81, 82, 83] {
            let of: Vec<&&Connection> = ended.iter().filter(|c| c.service() == service).collect();
            let mut seen: Vec<(u64, u64)> = of.iter().map(|c| (c.sent, c.received)).collect();
            let active = service < 82;
            let mut sent: Vec<(u64, u64)> = exchanges
                .iter()
                .map(|e| if active { (e.asked, e.answered) } else { (e.answered, e.asked) })
                .collect();
            seen.sort_unstable();
            sent.sort_unstable();
            assert_eq!(seen, sent, "port {service}");
            let (own, other) = if service % 2 == 0 { (A4, B4) } else { (A6, B6) };
            assert!(of.iter().all(|c| c.active == active && c.interface > 1), "{of:?}");
            assert!(of.iter().all(|c| c.local.0.to_string() == own && c.remote.0.to_string() == other));
        }
        assert!(ended.iter().all(|c| c.start.is_some_and(|start| start < c.at)));
    }

    #[test]
    fn connections_open_before_or_after_count_with_what_they_carry_meanwhile() {
        let Some(Pair { a, b }) = pair() else { return };
        let run = || {
            let listener = b.inside(|| TcpListener::bind(address(B4, 80)))?;
            let connect = || -> (TcpStream, TcpStream) {
                (TcpStream::connect(address(B4, 80)).unwrap(), listener.accept().unwrap().0)
            };
            let talk = |(near, far): &mut (TcpStream, TcpStream), up: u64, down: u64| {
                move_bytes(near, far, up);
                move_bytes(far, near, down);
            };
            let (mut first, mut second) = (connect(), connect());
            talk(&mut first, 1_000, 2_000);
            let mut capture = Capture::new(&Wanted::default()).unwrap();
            talk(&mut first, 300, 40);
            let mut third = connect();
            talk(&mut second, 5, 6);
            talk(&mut third, 70, 80);
            drop(first);
            let heard = look_for(&mut capture, 1);
            let ended: Vec<&Connection> = heard.iter().filter(|c| c.kind == Kind::Ended).collect();
            assert_eq!(ended.len(), 1);
            assert_eq!((ended[0].start, ended[0].sent, ended[0].received), (None, 300, 40));
            let (rest, unsaid) = capture.finish().unwrap();
            assert_eq!(unsaid, (0, 0));
            let mut open: Vec<_> =
                rest.iter().map(|c| (c.kind, c.start.is_some(), c.sent, c.received)).collect();
            open.sort_unstable_by_key(|of| of.2);
            assert_eq!(open, [(Kind::StillOpen, false, 5, 6), (Kind::StillOpen, true, 70, 80)]);
            Ok(())
        };
        a.inside(run).unwrap();
    }

    /// Sends bytes, waits for them, and until they are acknowledged.
    fn move_bytes(from: &mut TcpStream, to: &mut TcpStream, bytes: u64) {
        use std::io::{Read, Write};
        from.write_all(&vec![1; bytes as usize]).unwrap();
        to.read_exact(&mut vec![0; bytes as usize]).unwrap();
        thread::sleep(Duration::from_millis(60));
    }

    #[test]
    fn refused_connections_are_none_and_reset_ones_have_what_was_acknowledged() {
        use nix::sys::socket::{setsockopt, sockopt};
        let Some(Pair { a, b }) = pair() else { return };
        let run = || {
            let listener = b.inside(|| TcpListener::bind(address(B4, 80)))?;
            let mut capture = Capture::new(&Wanted::default()).unwrap();
            TcpStream::connect(address(B4, 9)).unwrap_err();
            let mut near = TcpStream::connect(address(B4, 80))?;
            let mut far = listener.accept()?.0;
            move_bytes(&mut near, &mut far, 1_000);
            setsockopt(&near, sockopt::Linger, &nix::libc::linger { l_onoff: 1, l_linger: 0 })?;
            drop(near);
            let heard = look_for(&mut capture, 1);
            let kinds: Vec<_> = heard.iter().map(|c| (c.kind, c.sent, c.received)).collect();
            assert_eq!(kinds, [(Kind::Started, 0, 0), (Kind::Ended, 1_000, 0)]);
            Ok(())
        };
        a.inside(run).unwrap();
    }

    #[test]
    fn thousands_of_short_connections_are_all_counted_or_said_to_be_lost() {
        let Some(Pair { a, b }) = pair() else { return };
        let exchanges = vec![Exchange { asked: 20, answered: 30, server_closes: true }; 3_000];
        let run = || {
            // The second one has room for a few dozen, and does not look before the end.
            let mut capture = Capture::new(&Wanted::default()).unwrap();
            let small = Capture::new(&Wanted { ring_bytes: 4_096, ..Wanted::default() }).unwrap();
            exchange(&b, &a, address(B4, 80), &exchanges);
            let heard = look_for(&mut capture, exchanges.len());
            let (rest, unsaid) = capture.finish().unwrap();
            assert_eq!((sizes_of(&heard), rest.len()), (BTreeMap::from([((20, 30), 3_000)]), 0));
            assert_eq!((heard.len(), unsaid.0), (6_000, 0));
            let (few, (lost, _)) = small.finish().unwrap();
            assert!(!few.is_empty() && lost > 5_000, "{} {lost}", few.len());
            assert_eq!(few.len() as u64 + lost, 6_000);
            Ok(())
        };
        a.inside(run).unwrap();
    }

    #[test]
    fn loopback_and_other_interfaces_are_passed_over_unless_asked_for() {
        let Some(Pair { a, b }) = pair() else { return };
        let one = [Exchange { asked: 17, answered: 9, server_closes: false }];
        let run = || {
            let with = |interface| Capture::new(&Wanted { interface, ..Wanted::default() }).unwrap();
            let (mut all, loopback, other) = (with(None), with(Some(1)), with(Some(999)));
            exchange(&a, &a, address("127.0.0.1", 80), &one);
            exchange(&b, &a, address(B4, 80), &one);
            assert_eq!(sizes_of(&look_for(&mut all, 1)), BTreeMap::from([((17, 9), 1)]));
            assert_eq!(all.finish().unwrap().1, (0, 2));
            let both = loopback.finish().unwrap().0;
            assert_eq!(sizes_of(&both), BTreeMap::from([((17, 9), 1), ((9, 17), 1)]));
            assert_eq!(both.iter().map(|c| c.carried()[1]).sum::<u64>(), 0);
            assert!(other.finish().unwrap().0.is_empty());
            Ok(())
        };
        a.inside(run).unwrap();
    }

    #[test]
    fn connections_of_a_cgroup_and_below_are_told_apart() {
        use tailrace_bpf::{cgroup_names, own_cgroup};
        let Some(Pair { a, b }) = pair() else { return };
        let Ok(all) = own_cgroup("/".as_ref()) else {
            return tailrace_linux::skip_test("no cgroup2 file system is mounted");
        };
        let one = [Exchange { asked: 17, answered: 9, server_closes: false }];
        let run = || {
            let with = |cgroup| Capture::new(&Wanted { cgroup: Some(cgroup), ..Wanted::default() }).unwrap();
            let (mut root, other) = (with(all), with(tailrace_bpf::Cgroup { id: u64::MAX, level: 0 }));
            exchange(&b, &a, address(B4, 80), &one);
            let heard = look_for(&mut root, 1);
            assert_eq!(sizes_of(&heard), BTreeMap::from([((17, 9), 1)]));
            assert!(cgroup_names().contains_key(&heard[0].cgroup), "{}", heard[0].cgroup);
            assert!(other.finish().unwrap().0.is_empty());
            Ok(())
        };
        a.inside(run).unwrap();
    }
}
