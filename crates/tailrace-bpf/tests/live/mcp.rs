//! Karuna's MCP as the kernel's own TCP is given it, against the one in Rust.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[cfg(not(feature = "programs"))]
#[test]
fn mcp() {
    tailrace_linux::skip_test(
        "this build has no host agent (cargo test -p tailrace-bpf --features programs; needs clang)",
    );
}

#[cfg(feature = "programs")]
mod with_bpf {
    use tailrace_bpf::{Chosen, CongestionControl, McpTrial, TrialStep};
    use tailrace_core::random::Stream;
    use tailrace_core::transport::TransportParams;
    use tailrace_core::{
        AckSample, Allowance, Bytes, CongestionLaw, Directives, Facts, FlowInfo, FlowView, HEADER_BYTES,
        Knowledge, Loss, Rate, Scheme, Standing, Time,
    };
    use tailrace_linux::{check_rights, skip_test};
    use tailrace_schemes::karuna::mcp::{McpParams, RoundTrip};
    use tailrace_schemes::karuna::{Karuna, Params, Thresholds};

    const MSS: u32 = 1_448;
    /// A segment of this takes 12 us on the link.
    const LINK: Rate = Rate::from_gbps(1);

    fn karuna(mcp: McpParams, base_rtt: Time) -> Karuna {
        let transport = TransportParams { mss: MSS as u16, ..TransportParams::default() };
        let facts = Facts { transport, ..Facts::new(2, LINK, base_rtt, 2) };
        let [splitting, sieving] = [1, 2].map(|first| (first..first + 6).map(Bytes::new).collect());
        let thresholds = Thresholds::Given { splitting, sieving };
        Karuna::new(Params { thresholds, mcp, ..Params::default() }, &facts).unwrap()
    }

    fn control(karuna: &Karuna) -> Option<CongestionControl> {
        if let Err(error) = check_rights("this test") {
            skip_test(error);
            return None;
        }
        let (law, chosen) = (karuna.host_law().unwrap(), Chosen::default());
        let directives = Directives::of(&karuna.host(), Knowledge::NOTHING, 0).unwrap();
        Some(CongestionControl::new(&law, &directives, &[], &chosen, None).unwrap())
    }

    /// What came of flows: steps, those at which windows differed by more than a hundredth, the sums of both, and what was seen on
    /// the way.
    #[derive(Debug, Default)]
    struct Met {
        steps: u32,
        apart: u32,
        sums: [f64; 2],
        paced: u32,
        hopeless: u32,
    }

    impl Met {
        /// The window, or the pace in segments an unloaded round trip.
        fn compare(&mut self, allowance: Allowance, trial: &McpTrial, base_rtt: Time) {
            let mss = f64::from(MSS);
            let in_a_round = |bytes_per_sec: f64| bytes_per_sec * base_rtt.as_secs_f64() / mss;
            let (expected, in_kernel) = match allowance.pacing {
                None => (allowance.window.as_f64() / mss, trial.window as f64 / f64::from(1 << 20)),
                Some(wire) => {
                    self.paced += 1;
                    let payload = wire.bytes_per_sec() * mss / (mss + f64::from(HEADER_BYTES));
                    (in_a_round(payload), in_a_round(trial.pace as f64))
                }
            };
            assert_eq!(allowance.pacing.is_some(), trial.pace > 0, "{expected}: {trial:?}");
            // Where one rounds up to the next segment, the other may not.
            assert!((in_kernel - expected).abs() < 1.01, "{in_kernel} and {expected}: {trial:?}");
            self.apart += u32::from((in_kernel - expected).abs() > 1e-4 + 0.01 * expected);
            self.steps += 1;
            self.sums = [self.sums[0] + expected, self.sums[1] + in_kernel];
        }
    }

    /// A flow whose link others use, too, with marks, losses and timeouts, under both.
    fn beside(
        control: &mut CongestionControl,
        karuna: &Karuna,
        base_rtt: Time,
        random: &mut Stream,
        met: &mut Met,
    ) {
        let size = u64::from(1 + random.below(2_000_000));
        let fastest = LINK.time_for(Bytes::new(size)).as_secs_f64() + base_rtt.as_secs_f64();
        // From what cannot be met to what is easy.
        let deadline = fastest * (0.8 + f64::from(random.below(1_000)) / 20.0);
        let deadline = Time::from_ps((deadline * 1e12) as u64);
        let info = FlowInfo {
            id: 0,
            src: 0,
            dst: 1,
            size: Some(Bytes::new(size)),
            start: Time::ZERO,
            deadline: Some(deadline),
            slice: 0,
            task: 0,
        };
        let mut law = karuna.law(&info);
        // Not at zero, where numbers of bytes begin again.
        let (start_ns, first) = (1_000_000_000, u32::MAX - 100_000);
        let mut trial = McpTrial::new(MSS, start_ns, start_ns + deadline.as_ns(), size);
        control.try_mcp(trial.then(TrialStep::Begins)).unwrap();
        let (mut now, mut sent, mut acked) = (0.0, 0u64, 0u64);
        let (mut busy, mut srtt) = (false, base_rtt.as_secs_f64());
        while acked < size {
            let allowance = law.allowance();
            let stopped = law.standing() == Standing::Stopped;
            assert_eq!(stopped, trial.is_hopeless(), "{acked} of {size} after {now} s: {trial:?}");
            if stopped {
                met.hopeless += 1;
                break;
            }
            met.compare(allowance, &trial, base_rtt);
            let window = allowance.window.as_f64();
            let rate = allowance.pacing.map_or(window / srtt, |pace| pace.bytes_per_sec());
            now += (f64::from(MSS) / rate).max(12e-6);
            sent = (acked + allowance.window.get()).max(sent).min(size);
            if random.below(200) == 0 {
                busy = !busy;
            }
            srtt = (srtt * (0.9 + f64::from(random.below(200)) / 900.0))
                .clamp(base_rtt.as_secs_f64(), 12.0 * base_rtt.as_secs_f64());
            let at = Time::from_ps((now * 1e12) as u64);
            let view = |acked| FlowView {
                sent: Bytes::new(sent),
                acked: Bytes::new(acked),
                delivered: Bytes::new(acked),
            };
            trial.now_ns = start_ns + at.as_ns();
            trial.srtt_ns = (srtt * 1e9) as u64;
            let draw = random.below(2_000);
            let more = u64::from(MSS).min(size - acked);
            if draw >= 2 {
                acked += more;
            }
            trial.una = first.wrapping_add(acked as u32);
            trial.next = first.wrapping_add(sent as u32);
            (trial.left, trial.unsent) = (size - acked, size - sent);
            if draw < 2 {
                let (loss, step) =
                    [(Loss::Fast, TrialStep::Lost), (Loss::Timeout, TrialStep::TimedOut)][draw as usize];
                law.on_loss(at, loss, &view(acked));
                control.try_mcp(trial.then(step)).unwrap();
                continue;
            }
            let marked = if busy && random.below(2) == 0 { more } else { 0 };
            let [acked_now, marked_now, in_flight] = [more, marked, sent - acked].map(Bytes::new);
            let rtt = Time::from_ps((srtt * 1e12) as u64);
            let ack = AckSample {
                now: at,
                acked: acked_now,
                marked: marked_now,
                in_flight,
                rtt,
                srtt: rtt,
                app_limited: false,
            };
            law.on_ack(&ack, &view(acked));
            (trial.acked, trial.marked) = (1, u32::from(marked > 0));
            control.try_mcp(trial.then(TrialStep::Acknowledged)).unwrap();
        }
    }

    #[test]
    fn windows_and_paces_are_those_of_the_law_that_is_simulated() {
        let given = McpParams::default();
        let all = [
            ("as it is", given),
            ("smoothed round trips", McpParams { round_trip: RoundTrip::Smoothed, max_bdps: 4.0, ..given }),
            ("no pacing", McpParams { pacing: false, ..given }),
            (
                "other gains",
                McpParams {
                    residual_gain: 0.5,
                    residual_bound: 1.0,
                    queue_gain: 2.0,
                    guard_rtts: 3.0,
                    initial_window: 5.0,
                    min_window: 1.0,
                    ..given
                },
            ),
        ];
        for (name, params) in all {
            for base_rtt in [Time::from_us(100), Time::from_ms(2)] {
                let karuna = karuna(params, base_rtt);
                let Some(mut control) = control(&karuna) else { return };
                let mut random = Stream::new(1, name, 0);
                let mut met = Met::default();
                (0..60).for_each(|_| beside(&mut control, &karuna, base_rtt, &mut random, &mut met));
                println!("{name}, {base_rtt}: {met:?}");
                let [law, kernel] = met.sums;
                assert!(met.steps > 10_000 && met.hopeless > 0, "{name}: {met:?}");
                assert!((kernel / law - 1.0).abs() < 1e-4, "{name}: {met:?}");
                assert!(met.apart * 500 < met.steps, "{name}: {met:?}");
                assert_eq!(met.paced > 0, params.pacing, "{name}: {met:?}");
            }
        }
    }
}
