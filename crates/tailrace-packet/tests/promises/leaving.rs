//! A link that a flow leaves. Where the queue is as long as what the flow had under way, the link stays busy;
//! elsewhere those who stay grow as their law says: behind a shim by their weight, under DCTCP by one segment.

use tailrace_core::{MTU_BYTES, Objective, SeriesSource, Slice, Time};
use tailrace_packet::Watch;
use tailrace_workload::FlowSpec;

use crate::setup::{MSS, Setup, fabric, flow};

/// A link of so many Gbps, its round trip and its marking threshold.
#[derive(Clone, Copy, Debug)]
struct Link {
    gbps: u64,
    rtt_us: u64,
    threshold: u32,
}

impl Link {
    /// Payload bytes that it carries in a time.
    fn payload(self, time: Time) -> f64 {
        let bytes = self.gbps as f64 * 1e9 / 8.0 * time.as_secs_f64();
        bytes * MSS as f64 / f64::from(MTU_BYTES)
    }

    /// A flow of each weight from a host of its own; the last one leaves after about 0.3 s, having had `share`.
    fn setup(self, weights: &[f64], share: f64) -> Setup {
        let (senders, hop_us) = (weights.len() as u32, self.rtt_us / 4 - 1);
        let fabric = fabric(&format!(
            "kind = \"dumbbell\"\nleft = {senders}\nright = 1\nhost_rate = \"{0}Gbps\"\n\
             bottleneck_rate = \"{0}Gbps\"\nhost_delay = \"{hop_us}us\"\nbottleneck_delay = \"1us\"\nbuffer = \"4MB\"",
            self.gbps
        ));
        let leaves = (share * self.payload(Time::from_ms(300))) as u64;
        let size = |sender| if sender + 1 == senders { leaves } else { 1 << 40 };
        let start = |sender| Time::from_us(137) * u64::from(sender);
        let of = |sender| FlowSpec {
            slice: sender as u16 + 1,
            ..flow(sender, senders, size(sender), start(sender))
        };
        let slices =
            weights.iter().map(|&weight| Slice { weight, objective: Objective::Completion }).collect();
        let watch = Watch { slices, ..Watch::default() };
        let horizon = Some(Time::from_ms(450));
        Setup { watch, horizon, ..Setup::new(fabric, (0..senders).map(of).collect()) }
    }

    /// Payload bytes that arrive in each period after the last flow has left.
    fn carried(self, scheme: &str, mut setup: Setup, every: Time) -> Vec<f64> {
        setup.watch.every = Some(every);
        let params = format!("port = {{ queues = 1, marking_threshold = \"{}pkt\" }}", self.threshold);
        let run = setup.run(scheme, &params);
        let left = run.records.iter().filter_map(|record| Some(record.start + record.fct()?)).next();
        let left = left.unwrap_or_else(|| panic!("no flow has left"));
        let all = run
            .series
            .iter()
            .filter(|(place, row)| *place == SeriesSource::Slices && row.metric == "throughput_bps");
        let after = all.filter(|(_, row)| row.at >= left + every);
        after.map(|(_, row)| row.value / 8.0 * every.as_secs_f64()).collect()
    }
}

/// C·RTT + K packets are under way: as long as the others have C·RTT of them.
#[test]
fn a_link_stays_busy_where_the_queue_is_as_long_as_what_leaves() {
    let (a_sixth, a_half) = ([0.5, 0.75, 0.25], [0.25, 0.5, 0.75]);
    for (gbps, rtt_us, threshold, weights) in
        [(1, 100, 20, a_half), (1, 300, 20, a_sixth), (10, 100, 65, a_sixth), (10, 300, 65, a_sixth)]
    {
        let link = Link { gbps, rtt_us, threshold };
        let setup = link.setup(&weights, weights[2] / weights.iter().sum::<f64>());
        let carried = link.carried("wvcc", setup, Time::from_ms(1));
        let least = carried[..50].iter().copied().fold(f64::MAX, f64::min) / link.payload(Time::from_ms(1));
        assert!(least > 0.97, "{link:?}, {weights:?}: {least} of the link in a millisecond");
    }
}

/// A half of 315 packets leaves where 250 fill the link. No queue is left, so what arrives in a base round trip is a
/// window.
#[test]
fn elsewhere_those_who_stay_grow_by_their_weight_as_dctcp_by_one() {
    let link = Link { gbps: 10, rtt_us: 300, threshold: 65 };
    for (scheme, weight) in [("wvcc", 1.0), ("wvcc", 0.5), ("wvcc", 0.25), ("dctcp", 1.0)] {
        let setup = link.setup(&[weight; 2], 0.5);
        let rtt = setup.facts().base_rtt;
        let windows: Vec<f64> =
            link.carried(scheme, setup, rtt).iter().map(|bytes| bytes / MSS as f64).collect();
        let grown = (windows[55] - windows[5]) / 50.0;
        assert!((grown - weight).abs() < 0.05, "{scheme}, {weight}: {grown} a round trip, {windows:?}");
        assert!(windows[55] < 0.97 * link.payload(rtt) / MSS as f64, "{scheme}, {weight}: {}", windows[55]);
    }
}
