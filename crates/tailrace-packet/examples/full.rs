use tailrace_core::transport::*;
use tailrace_core::*;
use tailrace_packet::*;
use tailrace_scenario::fabric::*;
use tailrace_scenario::workload::FlowSpec;
fn websearch() -> SizeDistribution {
    SizeDistribution::new(
        [
            (6., 0.),
            (6., 0.15),
            (13., 0.2),
            (19., 0.3),
            (33., 0.4),
            (53., 0.53),
            (133., 0.6),
            (667., 0.7),
            (1333., 0.8),
            (3333., 0.9),
            (6667., 0.97),
            (20000., 1.0),
        ]
        .iter()
        .map(|(a, b)| (a * 1460.0, *b))
        .collect(),
    )
    .unwrap()
}
fn main() {
    let n: usize = std::env::args().nth(1).and_then(|x| x.parse().ok()).unwrap_or(5000);
    let load: f64 = std::env::args().nth(2).and_then(|x| x.parse().ok()).unwrap_or(0.6);
    let scheme = std::env::args().nth(3).unwrap_or("mlfq".into());
    let f = LeafSpine {
        leaves: 9,
        spines: 4,
        hosts_per_leaf: 16,
        host_rate: Rate::from_gbps(10),
        spine_rate: Rate::from_gbps(40),
        host_delay: Time::from_ps(20_200_000),
        spine_delay: Time::from_ns(200),
    };
    let fab = f.build(LoadBalancing::SprayRoundRobin, Buffer::PerPort(Bytes::new(360_000)));
    let sizes = websearch();
    let rate = load * 10e9 / 8.0 / (sizes.mean() * 1500.0 / 1460.0) * 144.0;
    let mut s = random::Stream::new(1, "x", 0);
    let mut t = 0.0;
    let flows: Vec<FlowSpec> = (0..n)
        .map(|_| {
            t += s.exponential() / rate;
            let src = s.below(144);
            let dst = (src + 1 + s.below(143)) % 144;
            FlowSpec {
                src: src as u16,
                dst: dst as u16,
                size: Bytes::new(sizes.quantile(s.unit()).ceil() as u64),
                start: Time::from_secs_f64(t),
                deadline: None,
                class: 0,
                slice: 0,
                task: 0,
            }
        })
        .collect();
    let transport = TransportParams {
        initial_window: 70,
        max_window: 239,
        rto: RtoMode::Fixed,
        loss_detection: LossDetection::TimeoutOnly,
        fct_end: FctEnd::Acked,
        ..Default::default()
    };
    let facts = Facts {
        hosts: 144,
        host_rate: Rate::from_gbps(10),
        base_rtt: Time::from_us(85),
        transport,
        traffic: Some(Traffic { sizes, workload: None, load }),
    };
    struct V(Fabric, TransportParams, Vec<FlowSpec>, Facts);
    impl tailrace_schemes::SchemeVisitor for V {
        type Output = ();
        fn visit<S: Scheme>(self) {
            let scheme = S::new(S::Params::default(), &self.3).unwrap();
            let mut w = World::new(scheme, &self.0, self.1, self.2.into_iter(), None, Watch::default(), 1);
            let t = std::time::Instant::now();
            let end = w.run(&mut |_| std::ops::ControlFlow::Continue(()));
            let dt = t.elapsed().as_secs_f64();
            let p = w.progress();
            println!("{end:?} {p:?} {:.3}s {:.2} M hops/s", dt, p.packet_hops as f64 / dt / 1e6);
            let o = w.into_outcome();
            println!(
                "{} balanced {} dropped {:?} digest {:x}",
                o.ledger(),
                o.ledger().balances(),
                o.ledger().dropped(),
                o.network().digest()
            );
            for (name, lo, hi) in
                [("short", 0u64, 100_000u64), ("medium", 100_001, 10_000_000), ("long", 10_000_001, u64::MAX)]
            {
                let mut f: Vec<f64> = o
                    .records()
                    .filter(|r| (lo..=hi).contains(&r.size.get()))
                    .map(|r| r.fct().map_or(f64::NAN, |t| t.as_secs_f64() * 1e6))
                    .collect();
                f.sort_by(f64::total_cmp);
                let to: u32 = o.records().map(|r| u32::from(r.timeouts)).sum();
                println!(
                    "{name}: n {} mean {:.1} us p99 {:.1} us; timeouts {to}",
                    f.len(),
                    f.iter().sum::<f64>() / f.len() as f64,
                    f[(f.len() - 1).min(f.len() * 99 / 100)]
                );
            }
        }
    }
    tailrace_schemes::with_scheme(&scheme, V(fab, transport, flows, facts)).unwrap();
}
