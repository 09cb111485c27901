//! The windows that programs in the kernel keep, against the law in Rust, and what becomes of frames on the way.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "both ends of a connection, in real time")]

#[cfg(not(feature = "programs"))]
#[test]
fn windows() {
    tailrace_linux::skip_test(
        "this build has no host agent (cargo test -p tailrace-bpf --features programs; needs clang)",
    );
}

#[cfg(feature = "programs")]
mod with_bpf {
    use std::time::Duration;

    use tailrace_bpf::{Rule, WindowKeeper};
    use tailrace_core::random::Stream;
    use tailrace_core::transport::TransportParams;
    use tailrace_core::{
        AckSample, Allowance, Bytes, CongestionLaw, Directives, Facts, FlowInfo, FlowView, HostPolicy,
        Knowledge, Loss, Objective, Rate, Scheme, Slice, Time, WindowShim,
    };
    use tailrace_linux::{check_rights, skip_test};
    use tailrace_schemes::wvcc::{Enforced, ShimParams, Wvcc, by_growth};

    use crate::common::*;
    use crate::connection::{Connection, MSS, SCALE, sums_are_right};
    use crate::frames::{Frames, without_marks};

    /// Slices 1, 2 and 3 of these weights.
    fn wvcc(weights: [f64; 3]) -> (Wvcc, Directives, WindowShim) {
        let slices = weights.map(|weight| Slice { weight, objective: Objective::default() }).to_vec();
        let facts = Facts { slices, ..Facts::new(2, Rate::from_gbps(1), Time::from_us(100), 2) };
        let facts = Facts { transport: transport(), ..facts };
        let scheme = Wvcc::new(Default::default(), &facts).unwrap();
        let knows = Knowledge { sizes: true, deadlines: true };
        let directives = Directives::of(&scheme.host(), knows, 3).unwrap();
        let shim = scheme.window_shim().unwrap();
        (scheme, directives, shim)
    }

    fn transport() -> TransportParams {
        TransportParams { mss: MSS as u16, ..TransportParams::default() }
    }

    fn rules() -> [Rule; 3] {
        [1, 2, 3].map(|slice| Rule {
            cgroup: None,
            port: Some(5_000 + slice),
            slice: Some(slice),
            size: None,
            deadline: None,
        })
    }

    fn flow(slice: u16) -> FlowInfo {
        let (size, start, deadline) = (None, Time::ZERO, None);
        FlowInfo { id: 0, src: 0, dst: 1, size, start, deadline, slice, task: 0 }
    }

    /// A guest whose own window is as large as a header can tell.
    #[derive(Clone, Copy)]
    struct Greedy;

    impl CongestionLaw for Greedy {
        fn on_ack(&mut self, _: &AckSample, _: &FlowView) {}
        fn on_loss(&mut self, _: Time, _: Loss, _: &FlowView) {}
        fn allowance(&self) -> Allowance {
            Allowance { window: Bytes::new(0xffff << SCALE), pacing: None }
        }
    }

    /// The law that is simulated, on a link of its own: what is acknowledged, with which marks, and what it then lets out.
    struct Simulated {
        law: Enforced<Greedy>,
        sent: u64,
        acked: u64,
        random: Stream,
        link: u64,
        recover: u64,
    }

    /// So many bytes are on the way of a link before its queue has any, and so many are in it before they are marked.
    const PIPE: u64 = 30 * MSS;
    const MARKED_ABOVE: u64 = 20 * MSS;

    /// Acknowledgements of a connection. What is owed adds up differences of a millionth over round trips, so that in millions of
    /// them the same windows come at other times.
    const STEPS: u64 = 20_000;

    enum Step {
        /// Bytes sent, bytes acknowledged, of which marked.
        Acknowledged(u64, u64, u64),
        Lost,
    }

    impl Simulated {
        fn new(scheme: &Wvcc, slice: u16, seed: u64) -> Self {
            let params = ShimParams { window_scale: SCALE, ..ShimParams::default() };
            let mut law = Enforced::new(Greedy, &params, by_growth, &flow(slice), &transport());
            law.directed(&scheme.host().directive(&flow(slice)));
            Simulated {
                law,
                sent: 0,
                acked: 0,
                random: Stream::new(seed, "window", 0),
                link: PIPE,
                recover: 0,
            }
        }

        fn window(&self) -> u64 {
            self.law.allowance().window.get()
        }

        fn view(&self) -> FlowView {
            let [sent, acked] = [self.sent, self.acked].map(Bytes::new);
            FlowView { sent, acked, delivered: acked }
        }

        /// Sends what the window allows, in whole segments, and has one or two acknowledged.
        fn step(&mut self) -> Step {
            let room = (self.acked + self.window()).saturating_sub(self.sent);
            self.sent += room / MSS * MSS;
            let draw = u64::from(self.random.below(1_000));
            // Others come and go.
            if draw < 2 {
                self.link = PIPE / 4 * u64::from(1 + self.random.below(7));
            }
            if draw == 999 && self.acked >= self.recover {
                self.recover = self.sent;
                self.law.on_loss(Time::ZERO, Loss::Fast, &self.view());
                return Step::Lost;
            }
            let waits = (self.sent - self.acked).saturating_sub(self.link);
            let acked = (MSS * (1 + draw % 2)).min(self.sent - self.acked);
            let marked = if waits > MARKED_ABOVE { acked } else { 0 };
            self.acked += acked;
            let ack = AckSample {
                now: Time::ZERO,
                acked: Bytes::new(acked),
                marked: Bytes::new(marked),
                in_flight: Bytes::new(self.sent - self.acked),
                rtt: Time::from_us(100),
                srtt: Time::from_us(100),
                app_limited: false,
            };
            self.law.on_ack(&ack, &self.view());
            Step::Acknowledged(self.sent, acked, marked)
        }
    }

    fn keeper(weights: [f64; 3]) -> Option<(Wvcc, WindowKeeper)> {
        if let Err(error) = check_rights("this test") {
            skip_test(error);
            return None;
        }
        let (scheme, directives, shim) = wvcc(weights);
        Some((scheme, WindowKeeper::new(1_024, 8, &directives, &rules(), &shim).unwrap()))
    }

    #[test]
    fn windows_are_those_of_the_law_that_is_simulated() {
        let asked = std::env::var("TAILRACE_FRAMES").ok().and_then(|text| text.parse().ok());
        let Some((scheme, mut keeper)) = keeper([1.0, 2.0, 4.0]) else { return };
        for number in 0..asked.unwrap_or(1_000_000_u64).div_ceil(STEPS) {
            let (slice, v4) = (1 + (number % 3) as u16, number % 2 == 0);
            let mut law = Simulated::new(&scheme, slice, number);
            let mut connection = Connection::open(&mut keeper, v4, 5_000 + slice);
            let (mut off, mut cuts, mut shown_sum, mut law_sum) = (0, 0, 0, 0);
            for step in 0..STEPS {
                let before = law.window();
                let found = match law.step() {
                    Step::Acknowledged(sent, acked, marked) => {
                        connection.send_until(&mut keeper, sent);
                        connection.acknowledged(&mut keeper, acked, marked)
                    }
                    Step::Lost => {
                        connection.send_until(&mut keeper, law.sent);
                        (0..3).map(|_| connection.acknowledged(&mut keeper, 0, 0)).last().unwrap()
                    }
                };
                let expected = law.window();
                cuts += u32::from(expected * 10 < before * 9);
                // A window that is just between two whole numbers may be rounded to either: whole numbers have other fractions. What
                // is owed then differs by one, too, until it is paid.
                let segments = (found.abs_diff(expected) + MSS / 2) / MSS;
                assert!(segments <= 1, "connection {number}, step {step}: {found} but {expected}");
                off += u64::from(segments > 0);
                (shown_sum, law_sum) = (shown_sum + found, law_sum + expected);
            }
            let ratio = shown_sum as f64 / law_sum as f64;
            println!(
                "slice {slice}: {cuts} cuts, {off} of {STEPS} windows a segment off, mean {ratio:.6} of the law's"
            );
            assert!(cuts > 10 && off * 20 < STEPS && (ratio - 1.0).abs() < 1e-3, "{cuts} {off} {ratio}");
        }
    }

    #[test]
    fn a_timer_of_the_guest_starts_over() {
        let Some((scheme, mut keeper)) = keeper([1.0, 1.0, 1.0]) else { return };
        let mut law = Simulated::new(&scheme, 1, 1);
        let mut connection = Connection::open(&mut keeper, true, 5_001);
        connection.send_until(&mut keeper, 10 * MSS);
        // What is sent again soon is no timeout.
        connection.again(&mut keeper);
        assert_eq!(connection.acknowledged(&mut keeper, MSS, 0), (11 * MSS).next_multiple_of(1 << SCALE));
        std::thread::sleep(Duration::from_millis(230));
        connection.again(&mut keeper);
        law.law.on_loss(Time::ZERO, Loss::Timeout, &law.view());
        assert_eq!(law.window(), MSS.next_multiple_of(1 << SCALE));
        let shown = connection.acknowledged(&mut keeper, MSS, 0);
        assert_eq!(
            shown,
            (2 * MSS).next_multiple_of(1 << SCALE),
            "one, and one more for what was acknowledged"
        );
    }

    #[test]
    fn frames_say_nothing_to_guests_and_all_to_keepers() {
        let Some((_, mut keeper)) = keeper([1.0, 1.0, 1.0]) else { return };
        for v4 in [true, false] {
            let mut connection = Connection::open(&mut keeper, v4, 5_001);
            // Data leaves ECN-capable, with a sum that is right.
            let data = connection.leaving(&mut keeper, MSS);
            assert_eq!((connection.ecn(&data), sums_are_right(&data)), (2, true));
            // What comes with marks is not seen by the guest, but by the other end.
            for (ecn, seen) in [(2, 0), (3, MSS), (0, MSS), (3, 2 * MSS)] {
                let came = connection.coming(&mut keeper, ecn, MSS);
                assert_eq!((connection.ecn(&came), sums_are_right(&came)), (0, true));
                assert_eq!(connection.keeper_bits(&came), (false, 0));
                let ack = connection.leaving(&mut keeper, 0);
                assert_eq!((connection.ecn(&ack), sums_are_right(&ack)), (0, true));
                assert_eq!(connection.keeper_bits(&ack), (true, (seen / 64) as u16));
            }
        }
        // When the other end's goes, so does the window, and ECN.
        let mut connection = Connection::open(&mut keeper, true, 5_001);
        connection.send_until(&mut keeper, 10 * MSS);
        assert!(connection.acknowledged(&mut keeper, MSS, 0) < 12 * MSS);
        connection.peer = false;
        assert_eq!(connection.acknowledged(&mut keeper, MSS, 0), 0xffff << SCALE);
        let data = connection.leaving(&mut keeper, MSS);
        assert_eq!((connection.ecn(&data), connection.keeper_bits(&data)), (0, (false, 0)));
        // Whose other end has none is left alone, and so is one that was open before.
        for connection in
            [Connection::open_without_peer(&mut keeper, true, 5_002), Connection::before(true, 5_003)]
        {
            let frame = connection.frame_out(MSS);
            assert_eq!(keeper.try_on(true, &frame, 1).unwrap().0, frame);
            let frame = connection.frame_in(3, MSS, 0);
            assert_eq!(keeper.try_on(false, &frame, 1).unwrap().0, frame);
        }
        assert_eq!(keeper.kept().unwrap().flows, 3);
    }

    /// Whatever comes, and in whatever direction: pieces, headers that lie, what is cut short, what is not TCP.
    #[test]
    fn of_any_frame_only_marks_and_windows_change() {
        let Some((_, mut keeper)) = keeper([1.0, 2.0, 4.0]) else { return };
        // Those of connections that have windows are among them.
        let connection = Connection::open(&mut keeper, true, 5_001);
        let own = [connection.frame_out(MSS), connection.frame_in(3, MSS, 0)];
        let (mut frames, mut segments) = (Frames::new(7), 0);
        let mut random = Stream::new(7, "frames", 0);
        for number in 0..50_000 {
            let frame = match random.below(4) {
                0 => {
                    let mut frame = own[random.below(2) as usize].clone();
                    let at = random.below(54) as usize;
                    frame[at] = random.below(256) as u8;
                    frame.truncate(34 + random.below(frame.len() as u32 - 33) as usize);
                    frame
                }
                _ => frames.next(),
            };
            let leaves = random.below(2) == 0;
            let (after, _) = keeper.try_on(leaves, &frame, 1).unwrap();
            let head = &frame[..frame.len().min(80)];
            match without_marks(&frame) {
                None => assert!(after == frame, "frame {number}, leaves: {leaves}: {head:02x?}"),
                rest => assert!(without_marks(&after) == rest, "frame {number}, {leaves}: {head:02x?}"),
            }
            segments += u32::from(without_marks(&frame).is_some());
        }
        assert!((20_000..45_000).contains(&segments), "{segments}");
    }

    #[test]
    fn weights_change_and_windows_stay() {
        let Some((_, mut keeper)) = keeper([1.0, 2.0, 4.0]) else { return };
        let mut connection = Connection::open(&mut keeper, true, 5_001);
        // Out of slow start by a mark, then a window's growth at weight 1/4, and at 1.
        let mut acked = 0;
        let mut round = |keeper: &mut WindowKeeper, count: u64, marked: u64| {
            acked += count * MSS;
            connection.send_until(keeper, acked + 40 * MSS);
            connection.acknowledged(keeper, count * MSS, marked)
        };
        round(&mut keeper, 10, 0);
        let cut = round(&mut keeper, 1, MSS);
        let rounds = |keeper: &mut WindowKeeper,
                      round: &mut dyn FnMut(&mut WindowKeeper, u64, u64) -> u64| {
            // Sixty segments are some four windows of those.
            (0..200).map(|_| round(keeper, 1, 0)).last().unwrap()
        };
        let slow = rounds(&mut keeper, &mut round);
        let (_, directives, shim) = wvcc([1.0, 1.0, 1.0]);
        keeper.set(&directives, &rules(), &shim).unwrap();
        assert!(round(&mut keeper, 1, 0).abs_diff(slow) <= 2 * MSS, "the window stays");
        let fast = rounds(&mut keeper, &mut round);
        // From w on, n segments at weight p leave √(w² + 2pn).
        let after = |from: u64, weight: f64, segments: f64| {
            ((from as f64 / MSS as f64).powi(2) + 2.0 * weight * segments).sqrt() * MSS as f64
        };
        // What was sent before the cut grows nothing.
        let slow_law = after(cut, 0.25, 160.0);
        assert!((slow as f64 - slow_law).abs() < 1.5 * MSS as f64, "{cut} {slow} {slow_law}");
        let fast_law = after(slow, 1.0, 200.0);
        assert!((fast as f64 - fast_law).abs() < 1.5 * MSS as f64, "{slow} {fast} {fast_law}");
    }

    #[test]
    fn what_a_packet_costs_is_said() {
        let Some((_, mut keeper)) = keeper([1.0, 2.0, 4.0]) else { return };
        let mut connection = Connection::open(&mut keeper, true, 5_001);
        connection.send_until(&mut keeper, 10 * MSS);
        let (data, ack) = (connection.frame_out(MSS), connection.frame_in(0, 0, 0));
        let median = |keeper: &mut WindowKeeper, leaves: bool, frame: &[u8]| {
            let mut rounds: Vec<u32> =
                (0..5).map(|_| keeper.try_on(leaves, frame, 200_000).unwrap().1).collect();
            rounds.sort_unstable();
            rounds[2]
        };
        let costs = [median(&mut keeper, true, &data), median(&mut keeper, false, &ack)];
        println!("{} ns for data that leaves, {} ns for an acknowledgement that comes", costs[0], costs[1]);
        let own = libbpf_rs::query::ProgInfoIter::default();
        let own = own.filter(|program| program.name == "leaves" || program.name == "comes");
        let verified: Vec<_> = own.map(|program| program.verified_insns).collect();
        println!("the kernel's verifier looked at {verified:?} instructions");
    }

    #[test]
    fn connections_between_keepers_go_on_whole() {
        let Some(Pair { a, b }) = pair() else { return };
        let (_, directives, shim) = wvcc([1.0, 2.0, 4.0]);
        let attach = || {
            let mut keeper = WindowKeeper::new(64, 0, &directives, &rules(), &shim).unwrap();
            keeper.attach(nix::net::if_::if_nametoindex("eth0")?).unwrap();
            Ok(keeper)
        };
        // One side first: nothing changes for a connection whose other end has none.
        let near = a.inside(attach).unwrap();
        let carry = |port: u16| {
            for (number, (to, asked)) in [(B4, 30_000_000), (B6, 20_000_000)].into_iter().enumerate() {
                let port = port + number as u16;
                let listener = b.inside(|| std::net::TcpListener::bind(address(to, port))).unwrap();
                let exchange = Exchange { asked, answered: 1_000_000, server_closes: number == 0 };
                std::thread::scope(|scope| {
                    scope.spawn(|| serve(&listener, 1));
                    on(&a, || ask(address(to, port), &exchange));
                });
            }
        };
        carry(5_001);
        assert_eq!(near.kept().unwrap().flows, 0);
        let far = b.inside(attach).unwrap();
        carry(5_002);
        // How many acknowledgements there are is chance, as the kernel joins and cuts packets; less so where each segment is one.
        for host in [&a, &b] {
            let cut = || {
                ip("link set eth0 gso_max_segs 1");
                Ok(())
            };
            host.inside(cut).unwrap();
        }
        carry(5_002);
        for kept in [near.kept().unwrap(), far.kept().unwrap()] {
            assert!(kept.flows == 4 && kept.shown > 10, "{kept:?}");
        }
        drop((near, far));
        carry(5_003);
    }
}
