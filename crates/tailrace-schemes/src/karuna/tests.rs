//! MCP's numbers, tags, thresholds and ageing, without a network.

use super::mcp::{Hopeless, LawForm, RoundTrip};
use super::thresholds::Objective;
use super::*;
use tailrace_core::{
    AckSample, Bytes, CongestionLaw, Directive, FlowView, HostPolicy, Loss, Refresh, Reveals, SeriesRow,
    SizeDistribution, Standing, Time, Traffic, TrafficClass,
};

const MSS: u64 = 1460;
const RTT: Time = Time::from_us(100);

fn facts() -> Facts {
    Facts::new(2, Rate::from_gbps(10), RTT, 4)
}

fn given() -> Thresholds {
    let sizes = |list: &[u64]| list.iter().map(|&kb| Bytes::new(kb * 1_000)).collect();
    Thresholds::Given { splitting: sizes(&[10, 20, 30, 40, 50, 60]), sieving: sizes(&[1, 2, 3, 4, 5, 6]) }
}

fn karuna(mcp: McpParams) -> Karuna {
    Karuna::new(Params { mcp, thresholds: given(), ..Params::default() }, &facts()).unwrap()
}

/// The law of a flow that starts at 0.
fn due(mcp: McpParams, size: u64, deadline: Time) -> KarunaLaw {
    let flow = FlowInfo {
        id: 0,
        src: 0,
        dst: 1,
        size: Some(Bytes::new(size)),
        start: Time::ZERO,
        deadline: Some(deadline),
        slice: 0,
        task: 0,
    };
    karuna(mcp).law(&flow)
}

fn unguarded() -> McpParams {
    McpParams { guard_rtts: 0.0, ..McpParams::default() }
}

/// Tells a law that a window of `n` segments has come back at `now`, all or none of them marked. The next one
/// has gone out meanwhile, so the law takes the last of these acknowledgements for the end of its window.
fn window(law: &mut KarunaLaw, now: Time, acked_before: u64, n: u64, marked: bool) {
    slow_window(law, now, acked_before, n, marked, RTT);
}

/// As `window`, with a round trip that queues have made longer.
fn slow_window(law: &mut KarunaLaw, now: Time, acked_before: u64, n: u64, marked: bool, srtt: Time) {
    for i in 1..=n {
        let acked = Bytes::new(MSS);
        let ack = AckSample {
            now,
            acked,
            marked: if marked { acked } else { Bytes::ZERO },
            in_flight: Bytes::ZERO,
            rtt: srtt,
            srtt,
            app_limited: false,
        };
        let acked = Bytes::new((acked_before + i) * MSS);
        let sent = Bytes::new((acked_before + if i < n { n } else { 2 * n }) * MSS);
        law.on_ack(&ack, &FlowView { sent, acked, delivered: acked });
    }
}

fn segments(law: &KarunaLaw) -> u64 {
    law.allowance().window.get() / MSS
}

fn standing(law: &KarunaLaw) -> Standing {
    law.standing()
}

/// The last value of a series that a law reports.
fn reported(mut law: KarunaLaw, metric: &str) -> f64 {
    let mut rows: Vec<SeriesRow> = Vec::new();
    law.trace(RTT, &mut rows);
    rows.iter().find(|row| row.metric == metric).map(|row| row.value).unwrap()
}

/// schemes.md §13, item 15: 1 MB in 10 ms are 100 MB/s, 6.85 segments a round trip.
#[test]
fn windows_follow_expected_rate_and_marks() {
    let mut law = due(unguarded(), 1_000_000, Time::from_ms(10));
    assert_eq!(segments(&law), 7, "6.88 segments, rounded up");
    window(&mut law, RTT, 0, 7, false);
    assert_eq!(segments(&law), 7);
    let mut marked = law;
    window(&mut marked, Time::from_us(200), 7, 7, true);
    assert!((reported(marked, "mcp_expected_bps") / 8e8 - 1.0).abs() < 0.02);
    assert_eq!(reported(marked, "mcp_target_segments"), 4.0, "6.85 - 7/2, rounded up");
    window(&mut law, Time::from_us(200), 7, 7, false);
    assert_eq!(reported(law, "mcp_target_segments"), 7.0);
}

/// Queues that treble the round trip treble the windows that are reckoned with it, and leave the others alone.
#[test]
fn only_the_smoothed_round_trip_grows_windows() {
    let after_a_slow_window = |round_trip| {
        let params = McpParams { round_trip, residual_gain: 0.0, ..unguarded() };
        let mut law = due(params, 1_000_000, Time::from_ms(10));
        slow_window(&mut law, Time::from_us(300), 0, 7, false, Time::from_us(300));
        reported(law, "mcp_target_segments")
    };
    assert_eq!(after_a_slow_window(RoundTrip::Base), 8.0, "990 KB in 9.65 ms are 7.03 segments in 100 us");
    assert_eq!(after_a_slow_window(RoundTrip::Smoothed), 22.0, "and 21.1 in 300 us");
}

#[test]
fn the_queue_estimate_is_threshold_and_marked_share_of_the_window() {
    let mut law = due(unguarded(), 1_000_000, Time::from_ms(10));
    window(&mut law, RTT, 0, 7, false);
    assert_eq!(reported(law, "queue_estimate_bytes"), 0.0);
    window(&mut law, Time::from_us(200), 7, 7, true);
    assert_eq!(reported(law, "queue_estimate_bytes"), f64::from((65 + 7) * 1500));
}

/// What was not reached is made up for: with half of what is expected arriving, the window grows.
#[test]
fn residual_rate_drives_the_source_term_up() {
    let mut law = due(unguarded(), 1_000_000, Time::from_ms(10));
    let mut before = 0.0;
    for round in 0..20 {
        window(&mut law, Time::from_us(200 * (round + 1)), 7 * round, 7, false);
        let residual = reported(law, "mcp_residual_bps");
        assert!(round < 2 || residual > before, "round {round}: {residual} after {before}");
        before = residual;
    }
    assert!(segments(&law) > 9);
}

#[test]
fn the_prototype_rounds_up_and_ignores_marks() {
    let params = McpParams { form: LawForm::Prototype, ..unguarded() };
    let mut law = due(params, 1_000_000, Time::from_ms(10));
    window(&mut law, RTT, 0, 7, true);
    assert_eq!(reported(law, "mcp_target_segments"), 7.0);
}

/// Eq. 11 as remembered subtracts at least the marking threshold: it idles at the least window until the
/// residual rate exceeds that.
#[test]
fn the_literal_form_waits_for_the_residual_rate() {
    let params = McpParams { form: LawForm::Literal, hopeless: Hopeless::Keep, ..unguarded() };
    let mut law = due(params, 1_000_000, Time::from_ms(10));
    window(&mut law, RTT, 0, 7, false);
    assert_eq!(reported(law, "mcp_target_segments"), 0.0);
    let target = (2..60).map(|round| {
        window(&mut law, Time::from_us(100 * round), 3 + 2 * round, 2, false);
        reported(law, "mcp_target_segments")
    });
    assert!(target.fold(0.0, f64::max) > 7.0);
}

#[test]
fn slow_flows_are_paced_and_tight_ones_start_at_what_they_need() {
    // 10 KB are 7 segments; in 10 ms that is 0.07 a round trip.
    let slow = due(unguarded(), 10_000, Time::from_ms(10));
    let allowance = slow.allowance();
    let wire = 7.0 * 1500.0 * 8.0 / 9.95e-3;
    assert!((allowance.pacing.unwrap().as_bps() as f64 / wire - 1.0).abs() < 0.01, "{allowance:?}");
    let unpaced = due(McpParams { pacing: false, ..unguarded() }, 10_000, Time::from_ms(10));
    assert_eq!((segments(&unpaced), unpaced.allowance().pacing), (3, None));
    // 80 KB in 130 us: everything must be in the first window.
    assert!(segments(&due(McpParams::default(), 80_000, Time::from_us(130))) >= 55);
}

#[test]
fn hopeless_flows_end_or_lose_their_deadline() {
    let act = |hopeless| {
        let params = McpParams { hopeless, ..McpParams::default() };
        let mut law = due(params, 1_000_000, Time::from_ms(2));
        assert_eq!(standing(&law), Standing::Going);
        // At 1.5 ms hardly anything has arrived: 1 MB in 0.5 ms are 16 Gbps.
        window(&mut law, Time::from_us(1_500), 0, 2, false);
        law
    };
    assert_eq!(standing(&act(Hopeless::Terminate)), Standing::Stopped);
    let mut kept = act(Hopeless::Keep);
    assert_eq!(standing(&kept), Standing::Going);
    for round in 16..90 {
        window(&mut kept, Time::from_us(100 * round), 3 + 2 * round, 2, false);
    }
    assert_eq!(segments(&kept), 2, "before its deadline and after it");
    let mut demoted = act(Hopeless::Demote);
    assert_eq!(standing(&demoted), Standing::Demoted);
    demoted.demoted();
    assert_eq!(standing(&demoted), Standing::Going);
    assert_eq!(segments(&demoted), 10, "a new DCTCP window");
    // What is hopeless from the start does not start.
    let impossible = due(McpParams::default(), 10_000_000, Time::from_ms(1));
    assert_eq!(standing(&impossible), Standing::Stopped);
}

#[test]
fn a_timeout_leaves_the_least_window() {
    let mut law = due(unguarded(), 1_000_000, Time::from_ms(10));
    let view = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };
    law.on_loss(RTT, Loss::Timeout, &view);
    assert_eq!(segments(&law), 2);
}

fn flow(size: Option<u64>, deadline: Option<Time>) -> FlowInfo {
    FlowInfo {
        id: 0,
        src: 0,
        dst: 1,
        size: size.map(Bytes::new),
        start: Time::ZERO,
        deadline,
        slice: 0,
        task: 0,
    }
}

fn priorities(directive: &Directive, before: &[u64]) -> Vec<u8> {
    before.iter().map(|&b| directive.tags.priority(b)).collect()
}

#[test]
fn types_are_tagged_by_what_they_reveal() {
    let host = karuna(McpParams::default()).host();
    let due = host.directive(&flow(Some(1 << 30), Some(RTT)));
    assert_eq!((priorities(&due, &[0, 1 << 29]), due.acks), (vec![0, 0], 0));
    // Splitting: s ≤ β stays above the threshold.
    for (size, priority) in [(1, 1), (10_000, 1), (10_001, 2), (60_000, 6), (60_001, 7)] {
        let directive = host.directive(&flow(Some(size), None));
        assert_eq!((priorities(&directive, &[0, size]), directive.acks), (vec![priority; 2], 1), "{size}");
    }
    // Sieving: as long as no more than α precede a packet.
    let unknown = host.directive(&flow(None, None));
    assert_eq!(priorities(&unknown, &[0, 1_000, 1_001, 6_000, 6_001]), [1, 1, 2, 6, 7]);
}

#[test]
fn ageing_lifts_after_three_timeouts() {
    let host = karuna(McpParams::default()).host();
    let view = FlowView { sent: Bytes::new(9_000), acked: Bytes::new(8_000), delivered: Bytes::new(8_000) };
    let known = flow(Some(35_000), None);
    let at = host.directive(&known);
    assert_eq!(priorities(&at, &[0]), [4]);
    assert_eq!(host.on_timeout(&known, &view, 2, &at), None);
    let lifted = host.on_timeout(&known, &view, 3, &at).unwrap();
    assert_eq!(priorities(&lifted, &[8_000]), [3]);
    assert_eq!(priorities(&host.on_timeout(&known, &view, 6, &lifted).unwrap(), &[8_000]), [2]);
    let unknown = flow(None, None);
    let restarted = host.on_timeout(&unknown, &view, 3, &host.directive(&unknown)).unwrap();
    assert_eq!(priorities(&restarted, &[8_000, 9_000, 9_001, 14_001]), [1, 1, 2, 7]);
    // Flows with deadlines are not touched, and nothing rises into their queue.
    let due = flow(Some(35_000), Some(RTT));
    assert_eq!(host.on_timeout(&due, &view, 3, &host.directive(&due)), None);
    let top = host.directive(&flow(Some(1), None));
    assert_eq!(host.on_timeout(&flow(Some(1), None), &view, 3, &top), None);
    let never = Params { ageing_timeouts: 0, thresholds: given(), ..Params::default() };
    let never = Karuna::new(never, &facts()).unwrap().host();
    assert_eq!(never.on_timeout(&known, &view, 3, &at), None);
}

fn refusal(params: Params) -> String {
    Karuna::new(params, &facts()).err().map(|e| e.to_string()).unwrap_or_default()
}

#[test]
fn mistakes_are_named() {
    let queues = |queues| PortParams { queues, ..Params::default().port };
    let with = |port| refusal(Params { port, thresholds: given(), ..Params::default() });
    assert!(with(queues(1)).starts_with("port.queues: 1 queue"));
    assert!(with(queues(9)).starts_with("port.queues: 9 queues"));
    assert!(
        with(queues(4)).contains("6 thresholds for 4 queues: two fewer are needed"),
        "{}",
        with(queues(4))
    );
    assert!(refusal(Params::default()).contains("needs a workload"));
    let fitted = |fitted: &str, load| Thresholds::Fitted {
        fitted: fitted.to_owned(),
        load,
        objective: Objective::Joint,
    };
    let thresholds = |thresholds| refusal(Params { thresholds, ..Params::default() });
    assert!(thresholds(fitted("nothing", 0.5)).contains("there is no workload \"nothing\""));
    let gain = McpParams { residual_gain: -1.0, ..McpParams::default() };
    assert!(
        refusal(Params { mcp: gain, thresholds: given(), ..Params::default() })
            .starts_with("mcp.residual_gain")
    );
}

#[test]
fn thresholds_are_fitted_to_the_planned_classes() {
    let sizes = SizeDistribution::new(vec![(1e3, 0.0), (1e5, 0.9), (1e7, 1.0)]).unwrap();
    let class = |reveals| TrafficClass { reveals, sizes: sizes.clone(), load: 0.2 };
    let classes = [Reveals::Deadline, Reveals::Size, Reveals::Nothing].map(class).to_vec();
    let traffic = Traffic { sizes: sizes.clone(), workload: None, load: 0.6, classes };
    let facts = Facts { traffic: Some(traffic), ..facts() };
    let kind = Some(model::Kind { sizes: &sizes, load: 0.2 });
    let plan =
        model::Model::new(&model::Mix { deadline: 0.2, known: kind, unknown: kind }).unwrap().optimal(3);
    let (splitting, sieving) = Thresholds::default().resolve(4, &facts).unwrap();
    assert_eq!((splitting, sieving), (plan.splitting, plan.sieving));
}

/// With the objective "each", sieving is what PIAS does with these flows alone, and known sizes alone do better than
/// with the joint thresholds, in which they give way to the others.
#[test]
fn each_type_may_have_the_thresholds_that_suit_it() {
    let sizes = SizeDistribution::new(vec![(1e3, 0.0), (1e5, 0.9), (1e7, 1.0)]).unwrap();
    let class = |reveals| TrafficClass { reveals, sizes: sizes.clone(), load: 0.4 };
    let classes = [Reveals::Size, Reveals::Nothing].map(class).to_vec();
    let traffic = Traffic { sizes: sizes.clone(), workload: None, load: 0.8, classes };
    let facts = Facts { traffic: Some(traffic), ..facts() };
    let resolve = |objective| Thresholds::Own { objective }.resolve(4, &facts).unwrap();
    let (joint, each) = (resolve(Objective::Joint), resolve(Objective::Each));
    assert_eq!(joint, Thresholds::default().resolve(4, &facts).unwrap());
    assert_eq!(each.1, crate::pias::model::optimal(&sizes, 0.4, 3).thresholds);
    let alone = Some(model::Kind { sizes: &sizes, load: 0.4 });
    let known = model::Model::new(&model::Mix { deadline: 0.0, known: alone, unknown: None }).unwrap();
    let mean = |splitting: &[Bytes]| {
        let splitting: Vec<f64> = splitting.iter().map(|beta| beta.as_f64()).collect();
        known.mean(&splitting, &splitting)
    };
    assert!(mean(&each.0) < 0.99 * mean(&joint.0), "{} against {}", mean(&each.0), mean(&joint.0));
}

/// Flows of 10 KB that tell nothing, then one that says it has 30 KB: the host parts them where the first end.
#[test]
fn a_host_takes_the_thresholds_that_it_has_measured() {
    let period = Some(Time::from_ms(200));
    let mut host =
        Karuna::new(Params { period, thresholds: given(), ..Params::default() }, &facts()).unwrap().host();
    let flow =
        |size| FlowInfo { id: 0, src: 0, dst: 1, size, start: Time::ZERO, deadline: None, slice: 0, task: 0 };
    let tag = |host: &KarunaHost, sent| host.directive(&flow(None)).tags.priority(sent);
    assert_eq!((tag(&host, 9_000), host.next_wake()), (7, period));
    assert_eq!(host.on_wake(Time::from_ms(200), &mut Vec::new()), Refresh::None, "nothing has completed");
    (0..100).for_each(|_| host.on_flow_end(Time::ZERO, &flow(None), Bytes::new(10_000)));
    (0..20).for_each(|_| host.on_flow_end(Time::ZERO, &flow(None), Bytes::new(5_000_000)));
    let mut series = Vec::<SeriesRow>::new();
    assert_eq!(host.on_wake(Time::from_ms(400), &mut series), Refresh::All);
    assert_eq!((tag(&host, 9_000), host.next_wake()), (1, Some(Time::from_ms(600))));
    assert!(tag(&host, 4_900_000) > 1);
    assert_eq!(series.iter().filter(|row| row.metric == "sieving_bytes").count(), 6);
    let short = Params { period: Some(Time::from_us(10)), ..Params::default() };
    let Err(error) = Karuna::new(short, &facts()) else { panic!("every 10 us") };
    assert!(error.to_string().starts_with("period: 10us is too short"), "{error}");
}

#[test]
fn a_switch_is_told_which_flows_are_for_which_queue() {
    let bytes = |list: [u64; 3]| list.map(Bytes::new);
    let host =
        KarunaHost::new(bytes([1_000_000, 1_000_000, 5_000_000]).into(), &bytes([0, 20_000, 300_000]), 3);
    let expected = [
        "flows with deadlines, and their acknowledgements",
        "acknowledgements; known sizes: more than 0B, at most 1MB; unknown sizes: data with at most 0B of its flow \
         before it",
        "known sizes: none; unknown sizes: data with more than 0B, at most 20KB of its flow before it",
        "known sizes: more than 1MB, at most 5MB; unknown sizes: data with more than 20KB, at most 300KB of its flow \
         before it",
        "known sizes: more than 5MB; unknown sizes: data with more than 300KB of its flow before it",
    ];
    assert_eq!([0, 1, 2, 3, 4].map(|queue| host.holds(queue)), expected);
}
