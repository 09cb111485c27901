fn main() {
    use tailrace_core::*;
    use tailrace_scenario::fabric::*;
    let f = LeafSpine {
        leaves: 9,
        spines: 4,
        hosts_per_leaf: 16,
        host_rate: Rate::from_gbps(10),
        spine_rate: Rate::from_gbps(40),
        host_delay: Time::from_us(10),
        spine_delay: Time::from_us(10),
    };
    let fab = f.build(LoadBalancing::SprayRandom, Buffer::PerPort(Bytes::MAX));
    for (w, n) in [(10, 4), (40, 4), (10, 32)] {
        let t = std::time::Instant::now();
        let (hops, events) = tailrace_packet::reflect::run(
            &fab,
            tailrace_packet::reflect::Load { flows_per_host: n, window: w, packets: 3_000_000 },
            || tailrace_queues::MultiQueue::new(&tailrace_queues::PortParams::default()),
        );
        let s = t.elapsed().as_secs_f64();
        println!("w {w} flows {n}: {hops} hops {events} events {:.2} M hops/s", hops as f64 / s / 1e6);
    }
}
