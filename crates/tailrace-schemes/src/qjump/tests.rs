//! Epochs, rates and levels by hand.

use super::*;
use tailrace_core::{Cap, HostPolicy};

const GBPS: Rate = Rate::from_gbps(10);

/// The time from one full packet to the next.
fn epoch(factor: f64, hosts: usize, processing: u64) -> Option<f64> {
    let rate = level_rate(factor, hosts, GBPS, Time::from_us(processing))?;
    Some(12_000.0 / rate.as_bps() as f64 * 1e6)
}

#[test]
fn a_level_has_a_packet_a_network_epoch() {
    let close =
        |epoch: Option<f64>, us: f64| assert!(epoch.is_some_and(|e| (e - us).abs() < 1e-3), "{epoch:?}");
    // 2 · 144 · 1.2 µs; as if there were 36 hosts; and with 4 µs of processing.
    close(epoch(1.0, 144, 0), 345.6);
    close(epoch(4.0, 144, 0), 86.4);
    close(epoch(1.0, 144, 4), 349.6);
    // A level in which one host at a time may be in the way needs no cap.
    assert_eq!((epoch(144.0, 144, 4), epoch(200.0, 144, 4)), (None, None));
}

fn facts() -> Facts {
    Facts {
        hosts: 16,
        host_rate: GBPS,
        base_rtt: Time::from_us(80),
        longest_path: 4,
        transport: TransportParams::default(),
        traffic: None,
        published_sizes: |_| None,
        horizon: None,
        slices: Vec::new(),
        racks: Vec::new(),
    }
}

#[test]
fn flows_are_in_the_level_of_their_size() {
    let host = Qjump::new(Params::default(), &facts()).unwrap().host();
    let directive = |size: Option<u64>| {
        let size = size.map(Bytes::new);
        let flow =
            FlowInfo { id: 0, src: 0, dst: 1, size, start: Time::ZERO, deadline: None, slice: 0, task: 0 };
        let directive = host.directive(&flow);
        let tags = directive.tags;
        assert_eq!(tags.priority(0), tags.priority(1 << 40), "a flow keeps its level");
        assert_eq!(tags.priority(0), directive.acks);
        (directive.acks, directive.cap)
    };
    let cap = |group: u8, factor: f64| {
        let rate = level_rate(factor, 16, GBPS, Time::from_us(40));
        (group, rate.map(|rate| Cap { group, rate }))
    };
    for (size, expected) in [
        (1, cap(0, 1.0)),
        (1_460, cap(0, 1.0)),
        (1_461, cap(1, 4.0)),
        (10_000, cap(1, 4.0)),
        // f is 16, as many as there are hosts.
        (100_000, (2, None)),
        (100_001, (3, None)),
    ] {
        assert_eq!(directive(Some(size)), expected, "{size}");
    }
    assert_eq!(directive(None), (3, None));
}

#[test]
fn a_switch_is_told_what_levels_are_for() {
    let plan = Qjump::new(Params::default(), &facts()).unwrap().switch_plan(GBPS).unwrap();
    let holds: Vec<&str> = plan.queues.iter().map(|queue| queue.holds.as_str()).collect();
    let words = ["flows up to 1.46KB, at ", "flows up to 10KB, at ", "flows up to 100KB", "all other flows"];
    assert!(holds.iter().zip(words).all(|(holds, words)| holds.starts_with(words)), "{holds:?}");
    assert!(holds[4..].iter().all(|holds| *holds == "nothing") && plan.marking.is_none());
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    let field = |params: Params| Qjump::new(params, &facts()).err().map(|error| error.field);
    let usual = Params::default;
    assert_eq!(field(usual()), None);
    for factors in [vec![0.5, 4.0, 16.0], vec![f64::NAN, 4.0, 16.0], vec![4.0, 1.0, 16.0], vec![1.0; 8]] {
        assert_eq!(field(Params { factors, ..usual() }), Some("factors".to_owned()));
    }
    for thresholds in [vec![1], vec![1, 3, 2]] {
        let thresholds = thresholds.into_iter().map(Bytes::new).collect();
        assert_eq!(field(Params { thresholds, ..usual() }), Some("thresholds".to_owned()));
    }
    let port = PortParams { marking: MarkingScope::Port, ..usual().port };
    assert_eq!(field(Params { port, ..usual() }), Some("port.marking".to_owned()));
}
