//! Laws that the kernel's own TCP is given, on what the laws in Rust were told while a fabric was simulated.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[cfg(not(feature = "programs"))]
#[test]
fn traces() {
    tailrace_linux::skip_test(
        "this build has no host agent (cargo test -p tailrace-bpf --features programs; needs clang)",
    );
}

#[cfg(feature = "programs")]
mod with_bpf {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::ops::ControlFlow;

    use tailrace_bpf::{Chosen, CongestionControl, Trial, TrialStep};
    use tailrace_core::random::Stream;
    use tailrace_core::transport::TransportParams;
    use tailrace_core::{
        AckSample, Allowance, Bytes, CongestionLaw, Directives, Facts, FlowId, FlowInfo, FlowView,
        HEADER_BYTES, Knowledge, Loss, ParamError, PortFacts, Rate, Reveals, Same, Scheme, Time, Wrapper,
    };
    use tailrace_fabric::{Buffer, LoadBalancing, Star};
    use tailrace_linux::{check_rights, skip_test};
    use tailrace_packet::{Watch, World};
    use tailrace_schemes::{d2tcp::D2tcp, dctcp::Dctcp, l2dct::L2dct};
    use tailrace_workload::FlowSpec;

    const MSS: u64 = 1_460;

    #[derive(Clone, Copy)]
    enum What {
        Acknowledged(AckSample),
        Lost(Loss),
    }

    /// What a law was told, and the window that it had then.
    struct Heard {
        info: FlowInfo,
        what: What,
        view: FlowView,
        window: Bytes,
    }

    thread_local! {
        static HEARD: RefCell<Vec<Heard>> = const { RefCell::new(Vec::new()) };
    }

    /// A law that writes down what it is told.
    struct Recording<L> {
        law: L,
        info: FlowInfo,
    }

    impl<L: CongestionLaw> Recording<L> {
        fn note(&self, what: What, view: &FlowView) {
            let window = self.law.allowance().window;
            HEARD.with_borrow_mut(|heard| heard.push(Heard { info: self.info, what, view: *view, window }));
        }
    }

    impl<L: CongestionLaw> Wrapper for Recording<L> {
        type Law = L;
        type Headers = Same;

        fn law(&self) -> &L {
            &self.law
        }
        fn law_mut(&mut self) -> &mut L {
            &mut self.law
        }
        fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
            self.law.on_ack(ack, flow);
            self.note(What::Acknowledged(*ack), flow);
        }
        fn on_loss(&mut self, now: Time, loss: Loss, flow: &FlowView) {
            self.law.on_loss(now, loss, flow);
            self.note(What::Lost(loss), flow);
        }
        fn allowance(&self) -> Allowance {
            self.law.allowance()
        }
    }

    /// A scheme whose laws write down what they are told.
    struct Recorded<S>(S);

    impl<S: Scheme<Header = ()>> Scheme for Recorded<S> {
        const NAME: &'static str = S::NAME;
        const SUMMARY: &'static str = S::SUMMARY;
        const SOURCE: &'static str = S::SOURCE;
        const KNOWS: Knowledge = S::KNOWS;
        type Params = S::Params;
        type Header = ();
        type Law = Recording<S::Law>;
        type Host = S::Host;
        type Port = S::Port;

        fn new(params: S::Params, facts: &Facts) -> Result<Self, ParamError> {
            S::new(params, facts).map(Recorded)
        }
        fn ecn(&self) -> bool {
            self.0.ecn()
        }
        fn law(&self, flow: &FlowInfo) -> Self::Law {
            Recording { law: self.0.law(flow), info: *flow }
        }
        fn host(&self) -> S::Host {
            self.0.host()
        }
        fn port(&self, port: &PortFacts) -> S::Port {
            self.0.port(port)
        }
    }

    /// Flows of 2 KB to 2 MB between six hosts, some with little time.
    fn flows(seed: u64) -> Vec<FlowSpec> {
        let mut random = Stream::new(seed, "traces", 0);
        let mut start = Time::ZERO;
        let mut flow = |_| {
            start += Time::from_us(u64::from(random.below(1_500)));
            let src = random.below(6);
            let size = 2_000 << random.below(11);
            let ideal = Time::from_ns(size * 8 + 100_000);
            let deadline = start + Time::from_ps(ideal.as_ps() * u64::from(1 + random.below(8)));
            FlowSpec {
                src,
                // Many to few, so that buffers run over.
                dst: (src + 1 + random.below(2)) % 6,
                size: Bytes::new(size),
                start,
                deadline: Some(deadline),
                reveals: Reveals::Deadline,
                ..FlowSpec::default()
            }
        };
        (0..150).map(&mut flow).collect()
    }

    /// What the laws of a scheme hear on a star whose ports hold 60 KB, by flow.
    fn recorded<S: Scheme<Header = ()>>(seed: u64) -> (S, BTreeMap<FlowId, Vec<Heard>>) {
        let star = Star { hosts: 6, host_rate: Rate::from_gbps(1), host_delay: Time::from_us(10) };
        let fabric = star.build(LoadBalancing::Ecmp, Buffer::PerPort(Bytes::new(60_000)));
        let transport =
            TransportParams { mss: MSS as u16, min_rto: Time::from_ms(2), ..TransportParams::default() };
        let base_rtt = fabric.farthest_rtt(transport.mss + HEADER_BYTES, transport.ack_bytes);
        let facts = Facts {
            transport,
            ..Facts::new(fabric.hosts, fabric.host_rate(), base_rtt, fabric.longest_path())
        };
        let params = "port = { marking_threshold = \"30KB\" }";
        let make = || S::new(toml::from_str(params).unwrap(), &facts).unwrap();
        let watch = Watch::default();
        let mut world =
            World::new(Recorded(make()), &fabric, transport, flows(seed).into(), None, watch, seed);
        world.run(&mut |_| ControlFlow::Continue(()));
        let mut by_flow = BTreeMap::<FlowId, Vec<Heard>>::new();
        for heard in HEARD.with_borrow_mut(std::mem::take) {
            by_flow.entry(heard.info.id).or_default().push(heard);
        }
        (make(), by_flow)
    }

    /// What came of it.
    #[derive(Debug, Default)]
    struct Met {
        acknowledged: u32,
        marked: u32,
        lost: u32,
        timed_out: u32,
        sums: [f64; 2],
        /// The most by which windows were apart, in parts of the window.
        worst: f64,
    }

    fn step(trial: &mut Trial, heard: &Heard) -> TrialStep {
        let bytes = |of: Bytes| of.get();
        let FlowView { sent, acked, .. } = heard.view;
        (trial.una, trial.next, trial.sent) = (bytes(acked) as u32, bytes(sent) as u32, bytes(sent));
        match heard.what {
            What::Lost(Loss::Fast) => TrialStep::Lost,
            What::Lost(Loss::Timeout) => TrialStep::TimedOut,
            What::Acknowledged(ack) => {
                (trial.acked, trial.marked) = (bytes(ack.acked), bytes(ack.marked));
                let (size, deadline) = (heard.info.size.map_or(0, bytes), heard.info.deadline);
                let left = deadline.map_or(0, |at| at.saturating_sub(ack.now).as_ns() / 1_000);
                trial.left = size.saturating_sub(bytes(acked));
                (trial.time_us, trial.round_trip_us) =
                    deadline.map_or((0, 0), |_| (left, ack.srtt.as_ns() / 1_000));
                TrialStep::Acknowledged
            }
        }
    }

    fn replayed<S: Scheme<Header = ()>>(seed: u64) -> Option<Met> {
        if let Err(error) = check_rights("this test") {
            skip_test(error);
            return None;
        }
        let (scheme, by_flow) = recorded::<S>(seed);
        let directives = Directives::of(&scheme.host(), Knowledge::NOTHING, 0).unwrap();
        let (law, chosen) = (scheme.host_law().unwrap(), Chosen::default());
        let mut control = CongestionControl::new(&law, &directives, &[], &chosen, None).unwrap();
        let mut met = Met::default();
        for heard in by_flow.values() {
            let mut trial = Trial::new(MSS as u32);
            control.try_on(&mut trial).unwrap();
            for heard in heard {
                let what = step(&mut trial, heard);
                control.try_on(trial.then(what)).unwrap();
                let found = trial.segments as f64 / f64::from(1 << 20) * MSS as f64;
                let expected = heard.window.as_f64();
                met.worst = met.worst.max((found - expected).abs() / expected);
                met.sums = [met.sums[0] + expected, met.sums[1] + found];
                match heard.what {
                    What::Acknowledged(ack) => {
                        met.acknowledged += 1;
                        met.marked += u32::from(ack.marked > Bytes::ZERO);
                    }
                    What::Lost(Loss::Fast) => met.lost += 1,
                    What::Lost(Loss::Timeout) => met.timed_out += 1,
                }
            }
        }
        Some(met)
    }

    #[test]
    fn windows_in_the_kernel_are_those_of_flows_on_a_simulated_fabric() {
        for seed in 0..2 {
            let all = [
                ("dctcp", replayed::<Dctcp>(seed), 1e-3),
                ("d2tcp", replayed::<D2tcp>(seed), 5e-3),
                ("l2dct", replayed::<L2dct>(seed), 1e-3),
            ];
            for (name, met, apart) in all {
                let Some(met) = met else { return };
                println!("{name}: {met:?}");
                let [law, kernel] = met.sums;
                assert!((kernel / law - 1.0).abs() < 1e-4 && met.worst < apart, "{name}: {met:?}");
                assert!(
                    met.acknowledged > 5_000 && met.marked > 500 && met.lost > 10 && met.timed_out > 3,
                    "{name}: {met:?}"
                );
            }
        }
    }
}
