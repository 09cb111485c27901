//! Long DCTCP flows over one bottleneck: equal shares, a busy link, and the queue that theory predicts.

use tailrace_core::{HostId, MTU_BYTES, Time};
use tailrace_fabric::{Fabric, PortId};
use tailrace_packet::Watch;

use crate::setup::{Setup, fabric, flow};

const BOTTLENECK: &str = "left->right";
/// Rate of all links in packets a second.
const PACKETS_PER_SECOND: f64 = 10e9 / (8.0 * MTU_BYTES as f64);
/// Marking threshold in packets.
const THRESHOLD: f64 = 65.0;
/// After that, nothing is left of how the flows started.
const WARM_UP: Time = Time::from_ms(200);

/// As many senders as receivers, 10 Gbps everywhere, a base round trip of 85 µs.
fn dumbbell(senders: HostId) -> Fabric {
    fabric(&format!(
        r#"kind = "dumbbell"
        left = {senders}
        right = {senders}
        host_rate = "10Gbps"
        bottleneck_rate = "10Gbps"
        host_delay = "20.2us"
        bottleneck_delay = "0.2us""#
    ))
}

/// One endless flow from each sender, started one after the other.
fn long_flows(senders: HostId, horizon: Time) -> Setup {
    let start = |sender: HostId| Time::from_us(137) * u64::from(sender);
    let flows = (0..senders).map(|i| flow(i, senders + i, 1 << 40, start(i))).collect();
    Setup { horizon: Some(horizon), ..Setup::new(dumbbell(senders), flows) }
}

fn port(fabric: &Fabric, name: &str) -> PortId {
    fabric.port_named(name).unwrap_or_else(|| panic!("no port {name}"))
}

/// What each receiver was sent up to `end`, and then what the bottleneck carried, in bytes.
fn sent_until(end: Time, senders: HostId) -> Vec<u64> {
    let setup = long_flows(senders, end);
    let run = setup.run("dctcp", "");
    assert_eq!(run.ledger.dropped().packets, 0);
    let of = |name: &str| run.ports[port(&setup.fabric, name) as usize].sent.bytes;
    let receivers = (senders..2 * senders).map(|host| of(&format!("right->host{host}")));
    receivers.chain([of(BOTTLENECK)]).collect()
}

/// Shares of the flows in the seconds after the warm-up, as multiples of a fair share; the link is busy.
fn shares(senders: HostId, seconds: u64) -> Vec<f64> {
    let (before, after) =
        (sent_until(WARM_UP, senders), sent_until(WARM_UP + Time::from_ms(1_000 * seconds), senders));
    let mut sent: Vec<f64> =
        after.iter().zip(before).map(|(after, before)| (after - before) as f64).collect();
    let capacity = seconds as f64 * PACKETS_PER_SECOND * f64::from(MTU_BYTES);
    let carried = sent.pop().unwrap_or_default();
    assert!(carried > 0.999 * capacity, "{senders} flows send {carried} of {capacity} bytes");
    // Nothing is lost, so all that is carried arrives.
    assert!(sent.iter().sum::<f64>() > 0.999 * capacity);
    sent.iter().map(|bytes| bytes * f64::from(senders) / capacity).collect()
}

/// Packets of several senders meet at the bottleneck in the same picosecond all the time. If ties between
/// events went to the lower number, its flows would see a queue shorter by one packet and be marked less: of
/// four flows two got 1.34 and two 0.66 of a fair share.
#[test]
fn long_flows_share_alike_and_keep_the_link_busy() {
    for (senders, seconds, tolerance) in [(2, 1, 0.02), (3, 1, 0.02), (4, 10, 0.02), (8, 10, 0.02)] {
        let shares = shares(senders, seconds);
        let worst = shares.iter().map(|share| (share - 1.0).abs()).fold(0.0, f64::max);
        assert!(worst < tolerance, "{senders} flows, {seconds} s: {shares:?}");
    }
}

/// Where the cut of the flow that hears of marks first does not drain what all have added, as with many small
/// windows, that flow is soon marked again and cut once more. Chance decides whom this hits, so that a single
/// second strays further than ten: ns-3's by 4 % with four flows and by 7 % with eight.
#[test]
fn within_a_second_four_and_eight_flows_stray_as_in_ns3() {
    for (senders, tolerance) in [(4, 0.06), (8, 0.08)] {
        let shares = shares(senders, 1);
        assert!(shares.iter().all(|share| (share - 1.0).abs() < tolerance), "{senders} flows: {shares:?}");
    }
}

/// What Alizadeh et al. (SIGCOMM 2010, §3.3) derive for synchronised flows: windows grow to that at which the
/// queue is at the threshold, one round trip passes before the marks are heard, then all cut by α/2.
struct Sawtooth {
    max: f64,
    amplitude: f64,
}

impl Sawtooth {
    fn new(flows: f64, base_rtt: Time) -> Self {
        let critical = (PACKETS_PER_SECOND * base_rtt.as_secs_f64() + THRESHOLD) / flows;
        let alpha = Self::alpha((2.0 * critical + 1.0) / (critical + 1.0).powi(2));
        let cut = (critical + 1.0) * alpha / 2.0;
        Sawtooth { max: THRESHOLD + flows, amplitude: flows * cut }
    }

    /// The solution of α²·(1 − α/4) = `share` in [0, 1], where the left side rises.
    fn alpha(share: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle: f64 = (low + high) / 2.0;
            if middle * middle * (1.0 - middle / 4.0) < share { low = middle } else { high = middle }
        }
        low
    }
}

/// Packets that wait at the bottleneck, every 10 µs for half a second after the warm-up.
fn queue_samples(senders: HostId) -> (Vec<f64>, Time) {
    let mut setup = long_flows(senders, WARM_UP + Time::from_ms(500));
    let ports = vec![port(&setup.fabric, BOTTLENECK)];
    setup.watch = Watch { ports, every: Some(Time::from_us(10)), ..Watch::default() };
    let series = setup.run("dctcp", "").series;
    let rows = series.iter().map(|(_, row)| row);
    let mut samples: Vec<f64> =
        rows.filter(|row| row.metric == "port_packets" && row.at >= WARM_UP).map(|row| row.value).collect();
    samples.sort_by(f64::total_cmp);
    (samples, setup.fabric.base_rtt())
}

#[test]
fn the_queue_swings_as_the_sawtooth_analysis_says() {
    for senders in [2, 8] {
        let (samples, base_rtt) = queue_samples(senders);
        let theory = Sawtooth::new(f64::from(senders), base_rtt);
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        let percentile = |p: usize| samples[samples.len() * p / 100];
        let measured = format!("{senders} flows: {} to {}, mean {mean:.2}", percentile(1), percentile(99));
        let (least, most) = (theory.max - theory.amplitude, theory.max);
        // The queue rises steadily from its least to its most. The analysis leaves out that windows are
        // whole packets, and that flows do not all cut at once and some of them twice.
        assert!((mean - (least + most) / 2.0).abs() <= 2.0, "{measured}, theory {:.2}", (least + most) / 2.0);
        assert!((percentile(99) - most).abs() <= 2.0, "{measured}, at most {most:.1} in theory");
        assert!((percentile(1) - least).abs() <= 4.0, "{measured}, at least {least:.1} in theory");
    }
}
