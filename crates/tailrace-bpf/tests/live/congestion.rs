//! Congestion laws that the kernel's own TCP is given, against the laws in Rust, and connections that have them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "both ends of a connection, in real time")]

#[cfg(not(feature = "programs"))]
#[test]
fn congestion() {
    tailrace_linux::skip_test(
        "this build has no host agent (cargo test -p tailrace-bpf --features programs; needs clang)",
    );
}

#[cfg(feature = "programs")]
mod with_bpf {
    use std::fs;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use nix::sys::socket::{getsockopt, sockopt};
    use tailrace_bpf::{Cgroup, Chosen, CongestionControl, Network, Trial, TrialStep, own_cgroup};
    use tailrace_core::random::Stream;
    use tailrace_core::transport::TransportParams;
    use tailrace_core::{
        AckSample, Bytes, CongestionLaw, Directives, Facts, FlowInfo, FlowView, Knowledge, Loss, Rate,
        Scheme, Time,
    };
    use tailrace_linux::{check_rights, skip_test};
    use tailrace_schemes::{d2tcp::D2tcp, dctcp::Dctcp, l2dct::L2dct};

    use crate::common::*;
    use crate::teller::Cgroup as Group;

    const MSS: u64 = 1_448;
    const STEPS: u64 = 20_000;
    /// So many bytes are on the way of a link before its queue has any, and so many are in it before they are marked.
    const PIPE: u64 = 30 * MSS;
    const MARKED_ABOVE: u64 = 20 * MSS;
    const SIZE: u64 = 30_000_000;

    fn scheme<S: Scheme>() -> S {
        let transport = TransportParams { mss: MSS as u16, ..TransportParams::default() };
        let facts = Facts { transport, ..Facts::new(2, Rate::from_gbps(1), Time::from_us(100), 2) };
        S::new(S::Params::default(), &facts).unwrap()
    }

    fn control<S: Scheme>(scheme: &S, chosen: &Chosen) -> Option<CongestionControl> {
        if let Err(error) = check_rights("this test") {
            skip_test(error);
            return None;
        }
        let directives = Directives::of(&scheme.host(), Knowledge::NOTHING, 0).unwrap();
        Some(CongestionControl::new(&scheme.host_law().unwrap(), &directives, &[], chosen, None).unwrap())
    }

    /// The law that is simulated on a link of its own, and the kernel's beside it, which is not called for so many of 1,000
    /// acknowledgements; returns cuts and the mean of both windows.
    fn beside<S: Scheme>(seed: u64, deadline: Option<Time>, skipped: u64) -> Option<(u32, [f64; 2])> {
        let scheme = scheme::<S>();
        let mut control = control(&scheme, &Chosen::default())?;
        let size = deadline.map(|_| Bytes::new(SIZE));
        let flow = FlowInfo { id: 0, src: 0, dst: 1, size, start: Time::ZERO, deadline, slice: 0, task: 0 };
        let (mut law, mut trial) = (scheme.law(&flow), Trial::new(MSS as u32));
        control.try_on(&mut trial).unwrap();
        let (mut sent, mut acked, mut link, mut recover) = (0, 0, PIPE, 0);
        let (mut cuts, mut sums, mut unheard) = (0, [0.0; 2], [0; 2]);
        let mut random = Stream::new(seed, "congestion", 0);
        for step in 0..STEPS {
            let before = law.allowance().window.get();
            sent += (acked + before).saturating_sub(sent) / MSS * MSS;
            let draw = u64::from(random.below(1_000));
            // Others come and go.
            if draw < 2 {
                link = PIPE / 4 * u64::from(1 + random.below(7));
            }
            let view = |acked| {
                let [sent, acked] = [sent, acked].map(Bytes::new);
                FlowView { sent, acked, delivered: acked }
            };
            let now = Time::from_us(10 * step);
            (trial.una, trial.next) = (acked as u32, sent as u32);
            if draw == 999 && acked >= recover {
                recover = sent;
                law.on_loss(now, Loss::Fast, &view(acked));
                control.try_on(trial.then(TrialStep::Lost)).unwrap();
            } else if draw == 998 {
                law.on_loss(now, Loss::Timeout, &view(acked));
                control.try_on(trial.then(TrialStep::TimedOut)).unwrap();
            } else {
                let more = (MSS * (1 + draw % 2)).min(sent - acked);
                let waits = (sent - acked).saturating_sub(link);
                let marked = if waits > MARKED_ABOVE { more } else { 0 };
                acked += more;
                let [acked_now, marked_now, in_flight] = [more, marked, sent - acked].map(Bytes::new);
                let rtt = Time::from_us(100);
                let ack = AckSample {
                    now,
                    acked: acked_now,
                    marked: marked_now,
                    in_flight,
                    rtt,
                    srtt: rtt,
                    app_limited: false,
                };
                law.on_ack(&ack, &view(acked));
                trial.una = acked as u32;
                // The kernel's own counts go on without the law, which takes what there is since it was called last.
                unheard = [unheard[0] + more, unheard[1] + marked];
                (trial.acked, trial.marked, trial.sent) = (unheard[0], unheard[1], sent);
                let until = deadline.map(|deadline| deadline.saturating_sub(now));
                trial.left = SIZE.saturating_sub(acked);
                trial.time_us = until.map_or(0, |until| (until.as_secs_f64() * 1e6) as u64);
                trial.round_trip_us = until.map_or(0, |_| 100);
                if u64::from(random.below(1_000)) >= skipped {
                    control.try_on(trial.then(TrialStep::Acknowledged)).unwrap();
                    unheard = [0; 2];
                }
            }
            let expected = law.allowance().window.get() as f64;
            let found = trial.segments as f64 / f64::from(1 << 20) * MSS as f64;
            assert!(
                skipped > 0 || (found - expected).abs() <= 1.5 + 1e-3 * expected,
                "step {step}: {found} B in the kernel, {expected} in the law, {trial:?}"
            );
            cuts += u32::from(expected * 10.0 < before as f64 * 9.0);
            sums = [sums[0] + expected, sums[1] + found];
        }
        Some((cuts, sums.map(|sum| sum / STEPS as f64)))
    }

    #[test]
    fn windows_are_those_of_the_laws_that_are_simulated() {
        let mut means = Vec::new();
        for seed in 0..3 {
            let due = Some(Time::from_ms(150));
            let all = [
                ("dctcp", beside::<Dctcp>(seed, None, 0)),
                ("d2tcp without a deadline", beside::<D2tcp>(seed, None, 0)),
                ("d2tcp", beside::<D2tcp>(seed, due, 0)),
                ("l2dct", beside::<L2dct>(seed, None, 0)),
            ];
            for (name, found) in all {
                let Some((cuts, [law, kernel])) = found else { return };
                println!(
                    "{name}: {cuts} cuts, mean window {law:.1} B in the law, {kernel:.1} B in the kernel"
                );
                assert!(cuts > 10 && (kernel / law - 1.0).abs() < 1e-4, "{name}");
                means.push(law);
            }
            let [dctcp, without, with, l2dct] = means[means.len() - 4..] else { unreachable!() };
            assert_eq!(dctcp, without);
            assert!(with != dctcp && l2dct < dctcp, "laws differ: {dctcp} {with} {l2dct}");
        }
    }

    /// The kernel skips calls of such programs now and then: what they should have heard is not lost.
    #[test]
    fn calls_that_are_skipped_change_little() {
        for skipped in [10, 100] {
            let Some((_, [law, kernel])) = beside::<Dctcp>(1, None, skipped) else { return };
            println!(
                "{skipped} of 1,000 skipped: mean window {law:.0} B in the law, {kernel:.0} B in the kernel"
            );
            assert!((kernel / law - 1.0).abs() < 0.05, "{skipped}: {law} and {kernel}");
        }
    }

    fn law_of(stream: &TcpStream) -> String {
        getsockopt(stream, sockopt::TcpCongestion)
            .unwrap()
            .to_string_lossy()
            .trim_end_matches('\0')
            .to_owned()
    }

    /// A connection from `a` to this address of `b`, and the laws of both its ends; whether `ss` says that it has ECN.
    fn connect(pair: &Pair, to: &str, port: u16) -> (TcpStream, TcpStream, [String; 2], bool) {
        let listener = pair.b.inside(|| TcpListener::bind(address(to, port))).unwrap();
        let near = pair.a.inside(|| TcpStream::connect(address(to, port))).unwrap();
        let (far, _) = listener.accept().unwrap();
        let shown = || Command::new("ss").args(["-tino", &format!("dport = {port}")]).output();
        let shown = String::from_utf8(pair.a.inside(shown).unwrap().stdout).unwrap();
        let laws = [law_of(&near), law_of(&far)];
        (near, far, laws, shown.split_whitespace().any(|word| word == "ecn"))
    }

    fn carries(near: &mut TcpStream, far: &mut TcpStream, bytes: usize) {
        let mut found = vec![0; bytes];
        std::thread::scope(|scope| {
            scope.spawn(|| near.write_all(&vec![7; bytes]).unwrap());
            far.read_exact(&mut found).unwrap();
        });
        assert!(found.iter().all(|byte| *byte == 7));
    }

    #[test]
    fn connections_that_are_chosen_have_it_and_keep_it() {
        let Some(pair) = pair() else { return };
        let attach = |chosen: &Chosen| {
            let mut control = control(&scheme::<Dctcp>(), chosen).unwrap();
            control.attach().unwrap();
            Ok(control)
        };
        let four = Network { address: B4.parse().unwrap(), bits: 24 };
        let some = Chosen { networks: vec![four], ..Chosen::default() };
        let near = pair.a.inside(|| attach(&some)).unwrap();
        let far = pair.b.inside(|| attach(&Chosen::default())).unwrap();
        assert_ne!(near.name(), far.name(), "two of one kernel");
        let (mut near4, mut far4, laws, has_ecn) = connect(&pair, B4, 5_001);
        assert_eq!((laws, has_ecn), ([near.name().to_owned(), far.name().to_owned()], true));
        carries(&mut near4, &mut far4, 10_000_000);
        // Who is not chosen does not ask for ECN, and then the other end has no law that needs it.
        let (_, _, laws, has_ecn) = connect(&pair, B6, 5_002);
        assert!(
            !laws.contains(&near.name().to_owned()) && !laws.contains(&far.name().to_owned()),
            "{laws:?}"
        );
        assert!(!has_ecn);
        assert_eq!([near.connections().unwrap(), far.connections().unwrap()], [1, 1]);
        let name = near.name().to_owned();
        drop((near, far));
        assert_eq!(law_of(&near4), name);
        carries(&mut near4, &mut far4, 1_000_000);
        let (_, _, laws, _) = connect(&pair, B4, 5_003);
        assert!(laws.iter().all(|law| !law.starts_with("tr_")), "{laws:?}");
    }

    /// By the program that listens or asks, as both ends see it; and what is chosen may change.
    #[test]
    fn connections_of_cgroups_that_are_chosen_have_it() {
        let Some(pair) = pair() else { return };
        let (Some(one), Some(other)) = (Group::new("one"), Group::new("other")) else { return };
        let below = Group { path: one.path.join("deep") };
        fs::create_dir(&below.path).unwrap();
        let _back = Inside::new(one.path.parent().unwrap());
        let attach = |cgroups: &[&Group]| {
            let cgroups = cgroups.iter().map(|of| own_cgroup(&of.path).unwrap()).collect();
            let chosen = Chosen { cgroups, ..Chosen::default() };
            let mut control = control(&scheme::<Dctcp>(), &chosen).unwrap();
            control.attach().unwrap();
            Ok(control)
        };
        let near = pair.a.inside(|| attach(&[&one])).unwrap();
        let far = pair.b.inside(|| attach(&[&one, &other])).unwrap();
        let names = [near.name().to_owned(), far.name().to_owned()];
        let laws = |port, group: &Group| {
            Inside::go(&group.path);
            let (_, _, laws, has_ecn) = connect(&pair, B4, port);
            assert_eq!(has_ecn, laws == names, "{laws:?}");
            laws
        };
        assert_eq!(laws(5_011, &one), names);
        assert_ne!(laws(5_012, &other)[0], names[0]);
        // What is below one is of it, too.
        assert_eq!(laws(5_013, &below), names);
        near.choose(&[own_cgroup(&other.path).unwrap()]).unwrap();
        assert_eq!(laws(5_014, &other), names);
        assert_ne!(laws(5_015, &one)[0], names[0]);
        near.choose(&[]).unwrap();
        assert_ne!(laws(5_016, &other)[0], names[0], "none is there, which is not all");
    }

    #[test]
    fn cgroups_for_which_there_is_no_room_are_said() {
        let chosen = Chosen { cgroups: vec![Cgroup { id: 7, level: 9 }], ..Chosen::default() };
        if check_rights("this test").is_err() {
            return;
        }
        let scheme = scheme::<Dctcp>();
        let directives = Directives::of(&scheme.host(), Knowledge::NOTHING, 0).unwrap();
        let refused = CongestionControl::new(&scheme.host_law().unwrap(), &directives, &[], &chosen, None);
        let message = refused.err().unwrap().to_string();
        assert!(message.contains("9 levels deep"), "{message}");
    }

    /// This process, whose sockets are made in a cgroup; it goes back to where it was.
    struct Inside {
        before: PathBuf,
    }

    impl Inside {
        fn new(root: &Path) -> Self {
            let own = fs::read_to_string("/proc/self/cgroup").unwrap();
            let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap().to_owned();
            Inside { before: root.join(own) }
        }

        fn go(path: &Path) {
            fs::write(path.join("cgroup.procs"), std::process::id().to_string()).unwrap();
        }
    }

    impl Drop for Inside {
        fn drop(&mut self) {
            Inside::go(&self.before);
        }
    }
}
