//! pFabric and LAS in whole networks: who goes first, who waits, and what waiting costs.

use std::marker::PhantomData;

use tailrace_core::transport::{LossDetection, RtoMode, TransportParams};
use tailrace_core::{
    AckSample, CongestionLaw, Facts, FlowInfo, FlowView, HEADER_BYTES, Header, HostId, Knowledge, ParamError,
    PortFacts, Reveals, Same, Scheme, Time, Wrapper,
};
use tailrace_workload::FlowSpec;

use crate::setup::{ENDLESS, MSS, Run, Setup, WithScheme, fabric, flow};

/// A full packet on a link.
const PACKET: Time = Time::from_ns(1_200);
/// All flows of a test send to this host of nine.
const RECEIVER: u32 = 8;
/// Full packets that fill a round trip, rounded up: a flow's first window.
const ROUND_TRIP: u64 = 13;
const RTT: Time = Time::from_ns(14_664);
const RTO: Time = Time::from_us(45);

/// The paper's evaluation (pFabric §5.1) on one switch: 10 Gbps, a round trip of 14.66 µs, buffers of 36 KB,
/// a timeout of 45 µs and no other sign of loss.
fn published(flows: Vec<FlowSpec>) -> Setup {
    let fields = "kind = \"star\"\nhosts = 9\nhost_rate = \"10Gbps\"\ndelay = \"3.05us\"\nbuffer = \"36KB\"";
    let transport = TransportParams {
        min_rto: RTO,
        rto: RtoMode::Fixed,
        loss_detection: LossDetection::TimeoutOnly,
        ..TransportParams::default()
    };
    Setup { transport, ..Setup::new(fabric(fields), flows) }
}

/// The same with nothing to lose and nothing to wait for: what is left is the order of sending.
fn lossless(flows: Vec<FlowSpec>) -> Setup {
    let mut setup = published(flows);
    setup.fabric.buffer = ENDLESS;
    setup.transport.min_rto = Time::from_ms(1_000);
    setup
}

/// Link time of so many payload bytes in full packets.
fn link_time(bytes: u64) -> Time {
    PACKET * bytes.div_ceil(MSS)
}

/// A flow from each of the other hosts at the same time.
fn all_at_once(size: u64) -> Vec<FlowSpec> {
    (0..RECEIVER).map(|src| flow(src, RECEIVER, size, Time::ZERO)).collect()
}

/// A flow that starts at once and is due at `deadline_us`, if it has a deadline.
fn due(src: HostId, size: u64, deadline_us: Option<u64>) -> FlowSpec {
    let reveals = if deadline_us.is_some() { Reveals::Deadline } else { Reveals::Size };
    FlowSpec { deadline: deadline_us.map(Time::from_us), reveals, ..flow(src, RECEIVER, size, Time::ZERO) }
}

/// When each flow ended.
fn ends(run: &Run) -> Vec<Time> {
    let end = |fct: Option<Time>| fct.unwrap_or_else(|| panic!("a flow did not finish: {:?}", run.records));
    run.records.iter().map(|record| record.start + end(record.fct())).collect()
}

/// Flows in the order in which they end.
fn order(run: &Run) -> Vec<usize> {
    let ends = ends(run);
    let mut flows: Vec<usize> = (0..ends.len()).collect();
    flows.sort_by_key(|&flow| ends[flow]);
    flows
}

/// The shortest remaining flow has the link to itself, and with every segment it is further ahead: of equal
/// flows the i-th ends at i·size/C, on average at (N + 1)/2·size/C.
fn assert_one_after_another(run: &Run, size: u64, late: impl Fn(u64) -> Time) {
    let mut ends = ends(run);
    ends.sort();
    for (i, end) in (1..).zip(&ends) {
        let ideal = link_time(size) * i;
        assert!((ideal..ideal + late(i)).contains(end), "flow {i} ends at {end}, in theory at {ideal}");
    }
    let mean = ends.iter().map(|end| end.as_secs_f64()).sum::<f64>() / ends.len() as f64;
    let ideal = (ends.len() + 1) as f64 / 2.0 * link_time(size).as_secs_f64();
    assert!(mean < 1.02 * ideal, "they end at {mean} s on average, in theory at {ideal} s");
}

#[test]
fn equal_flows_run_one_after_another() {
    let size = 2_000 * MSS;
    let run = lossless(all_at_once(size)).run("pfabric", "");
    // A round trip passes before anyone is ahead; all first windows are on their way by then.
    assert_one_after_another(&run, size, |_| RTT + PACKET * (ROUND_TRIP * u64::from(RECEIVER)));
}

#[test]
fn equal_flows_run_one_after_another_with_the_buffers_and_timeouts_of_the_paper() {
    let size = 2_000 * MSS;
    let run = published(all_at_once(size)).run("pfabric", "");
    // Who waits asks once a timeout whether it is its turn.
    assert_one_after_another(&run, size, |i| (RTO + RTT) * i);
    // Whoever waits for all the others is starved seven times, and each time five timeouts say so.
    let timeouts: Vec<u16> = order(&run).into_iter().map(|flow| run.records[flow].timeouts).collect();
    assert_eq!(timeouts[1..], [5, 10, 15, 20, 25, 30, 35]);
}

#[test]
fn a_short_flow_takes_as_long_as_alone_and_a_packet_more() {
    for packets in [1, ROUND_TRIP, 100] {
        let long = flow(0, RECEIVER, 4_000 * MSS, Time::ZERO);
        let short = flow(1, RECEIVER, packets * MSS, Time::from_us(1_000));
        let setup = published(vec![long, short]);
        let ideal =
            setup.fabric.ideal_fct(short.src, short.dst, 0, short.size, &setup.transport, HEADER_BYTES);
        let run = setup.run("pfabric", "");
        let fct = run.records[1].fct().unwrap_or(Time::MAX);
        assert!(fct <= ideal + PACKET, "{packets} packets take {fct}, alone {ideal}");
    }
}

#[test]
fn a_starved_flow_asks_once_a_timeout_and_goes_on_when_it_is_answered() {
    // The long flow's first packets are dropped or wait behind those of the short one, for 2.4 ms.
    let flows = vec![due(0, 2_000 * MSS, None), due(1, 3_000 * MSS, None)];
    let setup = published(flows);
    let run = setup.run("pfabric", "");
    let [short, long] = run.records[..] else { panic!("{:?}", run.records) };
    assert_eq!((short.timeouts, long.timeouts), (0, 5));
    // Probes tell that the short flow has ended. The window then grows from one segment, by one a round trip.
    let restart = RTO + RTT * ROUND_TRIP;
    let end = ends(&run)[1];
    assert!(end < link_time(5_000 * MSS) + restart, "{end}");
    // Without probes every timeout sends a segment again.
    let never = setup.run("pfabric", "law = { timeouts_before_probing = 1_000_000 }");
    assert!(never.records[1].timeouts > 40, "{}", never.records[1].timeouts);
    assert!(never.records[1].retransmitted > long.retransmitted + 30 * MSS as u32);
}

#[test]
fn the_earliest_deadline_goes_first_and_sizes_last() {
    // A megabyte takes 822 µs: all can be met one after another, in the reverse order of their numbers.
    let deadlines = [Some(3_000), Some(2_000), Some(1_000)];
    let mut flows: Vec<_> = (0..).zip(deadlines).map(|(src, at)| due(src, 1_000_000, at)).collect();
    flows.push(due(3, 100_000, None));
    let setup = published(flows);
    let run = setup.run("pfabric", "rank = \"edf\"");
    assert_eq!(order(&run), [2, 1, 0, 3]);
    assert!(ends(&run).iter().zip(deadlines).all(|(end, at)| at.is_none_or(|at| *end <= Time::from_us(at))));
    // By size, the short flow is first.
    assert_eq!(order(&setup.run("pfabric", ""))[0], 3);
}

#[test]
fn who_cannot_make_its_deadline_waits_for_all_others() {
    let without = due(1, 2_000_000, None);
    let last = |flows| order(&published(flows).run("pfabric", "rank = \"edf\"")).pop();
    assert_eq!(last(vec![due(0, 1_000_000, Some(5_000)), without]), Some(1));
    // A megabyte takes longer than 700 µs.
    assert_eq!(last(vec![due(0, 1_000_000, Some(700)), without]), Some(0));
    // Behind one with an earlier deadline there is not enough time either.
    let (late, early) = (due(0, 1_000_000, Some(1_500)), due(2, 1_000_000, Some(1_000)));
    assert_eq!(last(vec![late, without, early]), Some(0));
}

#[test]
fn least_attained_service_lets_the_newcomer_catch_up_and_then_shares() {
    let start = Time::from_us(1_200);
    let setup =
        lossless(vec![flow(0, RECEIVER, 6_000 * MSS, Time::ZERO), flow(1, RECEIVER, 2_000 * MSS, start)]);
    let ends = ends(&setup.run("las", ""));
    // The newcomer catches up with 1000 packets alone; then each has every other packet.
    let ideal = start + PACKET * 1_000 + PACKET * 2 * 1_000;
    let tolerance = RTT * 3;
    assert!(
        ends[1] >= ideal.saturating_sub(tolerance) && ends[1] <= ideal + tolerance,
        "{} {ideal}",
        ends[1]
    );
    // Someone always sends.
    assert!(ends[0] <= link_time(8_000 * MSS) + RTT, "{}", ends[0]);
}

#[test]
fn las_is_pfabric_that_ranks_by_bytes_sent() {
    let flows = all_at_once(300 * MSS);
    let [las, sent] = [("las", ""), ("pfabric", "rank = \"sent\"")]
        .map(|(scheme, params)| published(flows.clone()).run(scheme, params));
    assert_eq!((las.digest, las.records), (sent.digest, sent.records));
}

#[test]
fn ranks_that_fall_and_rise_do_not_reorder_a_flow() {
    // All wait for one another: ranks of a flow's packets differ, and other flows come between.
    let size = |src| (300 + 100 * (u64::from(src) % 3)) * MSS;
    let start = |src| Time::from_us(40) * u64::from(src);
    let flows: Vec<_> = (0..RECEIVER)
        .map(|src| FlowSpec {
            deadline: (src % 2 == 0).then_some(Time::from_us(2_000)),
            reveals: Reveals::Deadline,
            ..flow(src, RECEIVER, size(src), start(src))
        })
        .collect();
    let setup = lossless(flows);
    for rank in ["remaining", "sent", "edf"] {
        let run = setup.with_scheme("pfabric", &format!("rank = \"{rank}\""), Orderly(&setup));
        assert_eq!(run.ledger.dropped().packets, 0);
        ends(&run);
    }
}

/// Runs a scheme whose senders insist on hearing of one segment after the other.
struct Orderly<'a>(&'a Setup);

impl WithScheme for Orderly<'_> {
    type Output = Run;
    fn with<S: Scheme>(self, scheme: S) -> Run {
        self.0.run_scheme(Insisting(scheme))
    }
}

struct Insisting<T>(T);

/// The law of a scheme that insists.
struct InOrder<L, H>(L, PhantomData<H>);

impl<H: Header, L: CongestionLaw<H>> Wrapper for InOrder<L, H> {
    type Law = L;
    type Headers = Same<H>;

    fn law(&self) -> &L {
        &self.0
    }
    fn law_mut(&mut self) -> &mut L {
        &mut self.0
    }
    fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
        assert_eq!(flow.acked, flow.delivered, "a segment has arrived before an earlier one");
        self.0.on_ack(ack, flow);
    }
}

impl<S: Scheme> Scheme for Insisting<S> {
    const NAME: &'static str = S::NAME;
    const SUMMARY: &'static str = S::SUMMARY;
    const SOURCE: &'static str = S::SOURCE;
    const KNOWS: Knowledge = S::KNOWS;
    type Params = S::Params;
    type Header = S::Header;
    type Law = InOrder<S::Law, S::Header>;
    type Host = S::Host;
    type Port = S::Port;

    fn new(params: S::Params, facts: &Facts) -> Result<Self, ParamError> {
        S::new(params, facts).map(Insisting)
    }
    fn ecn(&self) -> bool {
        self.0.ecn()
    }
    fn law(&self, flow: &FlowInfo) -> Self::Law {
        InOrder(self.0.law(flow), PhantomData)
    }
    fn host(&self) -> S::Host {
        self.0.host()
    }
    fn port(&self, port: &PortFacts) -> S::Port {
        self.0.port(port)
    }
}
