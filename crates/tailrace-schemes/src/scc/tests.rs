//! Tunnels, limiters and weights by hand, and what always holds of them.

use proptest::prelude::*;
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Directive, FlowView, HostId, Loss, Objective, Slice,
    TagTable, Time, Weight,
};

use super::*;
use crate::dctcp::LawParams;
use crate::uranus::{Aggregate, Demand, Given, Sharing, aggregates};

const MSS: u64 = 1460;
const RTT: Time = Time::from_us(100);

/// A tunnel with an initial window of 100 segments and α = 1/2 that knows its round trip.
fn tunnel() -> Tunnel {
    let transport = TransportParams { initial_window: 100, ..TransportParams::default() };
    let law = LawParams { initial_alpha: 0.5, ..LawParams::default() };
    let params = TunnelParams { law, ..TunnelParams::default() };
    let mut tunnel = Tunnel::new(&params, &transport, Time::ZERO);
    let mut first = tunnel.join(of(1.0));
    assert_eq!(tunnel.limit(&first), None);
    tunnel.on_ack(&mut first, &ack(Time::ZERO, 0, false));
    tunnel.leave(&first);
    tunnel
}

fn ack(at: Time, segments: u64, marked: bool) -> AckSample {
    let acked = Bytes::new(segments * MSS);
    AckSample {
        now: at,
        acked,
        marked: if marked { acked } else { Bytes::ZERO },
        in_flight: Bytes::ZERO,
        rtt: RTT,
        srtt: RTT,
        app_limited: false,
    }
}

fn of(weight: f64) -> Weight {
    Weight::nearest(weight)
}

/// Bits a second on the wire of so many segments a round trip.
fn rate(segments: f64) -> f64 {
    segments * 1500.0 * 8.0 / RTT.as_secs_f64()
}

fn assert_limit(tunnel: &Tunnel, member: &Member, segments: f64) {
    let limit = tunnel.limit(member).unwrap().as_bps() as f64;
    assert!((limit / rate(segments) - 1.0).abs() < 1e-6, "{limit} for {segments} segments a round trip");
}

#[test]
fn a_window_doubles_until_the_first_mark_and_then_grows_by_its_weight_less_what_is_marked_in_every_second_round()
 {
    let mut tunnel = tunnel();
    let mut flow = tunnel.join(of(0.25));
    tunnel.on_ack(&mut flow, &ack(RTT, 100, false));
    assert_eq!(tunnel.window(), 200.0);
    // α loses a sixteenth in that round, and is not touched before the next one ends.
    assert_eq!(tunnel.alpha(), 0.46875);
    tunnel.on_ack(&mut flow, &ack(Time::from_us(150), 100, true));
    let cut = 200.0 * (1.0 - 0.46875 / 2.0);
    assert!((tunnel.window() - cut).abs() < 1e-9);
    assert_limit(&tunnel, &flow, cut);
    // The round ends before anything is heard of the cut. The next two add the weight, for the window was used up, and one of them
    // takes half of what is marked.
    tunnel.on_ack(&mut flow, &ack(RTT * 2, 100, false));
    assert!((tunnel.window() - cut).abs() < 1e-9);
    tunnel.on_ack(&mut flow, &ack(RTT * 3, 154, true));
    assert!((tunnel.window() - cut).abs() < 1e-9, "what is marked does not grow it");
    tunnel.on_ack(&mut flow, &ack(RTT * 4 - Time::from_ns(1), 77, true));
    tunnel.on_ack(&mut flow, &ack(RTT * 4, 77, false));
    let expected = cut + 0.25 * 77.0 / cut - cut * 0.5 / 2.0;
    assert!((tunnel.window() - expected).abs() < 1e-9, "{} {expected}", tunnel.window());
    // No memory: nothing is marked, nothing is taken.
    let before = tunnel.window();
    tunnel.on_ack(&mut flow, &ack(RTT * 5, 10, false));
    tunnel.on_ack(&mut flow, &ack(RTT * 6, 10, false));
    assert!(tunnel.window() > before && tunnel.alpha() > 0.0);
}

/// Where marks fall on all alike, windows go with weights: w·(1 − F) = W·F/4, however few packets that is.
#[test]
fn windows_settle_in_proportion_to_weights() {
    for weight in [0.05, 0.5, 4.0] {
        let mut tunnel = tunnel();
        let mut flow = tunnel.join(of(weight));
        tunnel.on_ack(&mut flow, &ack(Time::from_us(1), 1, true));
        // One packet in ten is marked, so that few rounds of a small window have a mark.
        let (mut sent, mut mean, rounds) = (0.0, 0.0, 20_000);
        for round in 1..=rounds {
            let before = sent as u64;
            sent += tunnel.window();
            for packet in before..sent as u64 {
                let at = RTT * round - Time::from_ns(1);
                tunnel.on_ack(&mut flow, &ack(at, 1, packet % 10 == 0));
            }
            tunnel.on_ack(&mut flow, &ack(RTT * round, 0, false));
            mean += tunnel.window() / f64::from(rounds as u32);
        }
        let expected = 4.0 * weight * 0.9 / 0.1;
        assert!((mean / expected - 1.0).abs() < 0.1, "{mean}, not {expected}");
    }
}

#[test]
fn losses_and_the_end_of_slow_start_cut_once_a_round_trip() {
    for first in [false, true] {
        let mut tunnel = tunnel();
        let mut flow = tunnel.join(of(1.0));
        let mut blow = |tunnel: &mut Tunnel, us: u64, loss: bool| match loss {
            true => tunnel.on_loss(Time::from_us(us)),
            false => tunnel.on_ack(&mut flow, &ack(Time::from_us(us), 1, true)),
        };
        blow(&mut tunnel, 25, first);
        let once = tunnel.window();
        // α is 1/2, and a sixteenth more of what is missing to 1 with the first mark.
        assert_eq!(once, if first { 50.0 } else { 100.0 * (1.0 - 0.53125 / 2.0) });
        // Before anything is heard that was sent after the cut.
        blow(&mut tunnel, 124, true);
        assert_eq!(tunnel.window(), once, "{first}");
        blow(&mut tunnel, 125, false);
        let after = tunnel.window();
        blow(&mut tunnel, 126, true);
        assert_eq!(tunnel.window(), after / 2.0, "{first}");
    }
}

#[test]
fn alpha_is_the_marked_share_of_all_flows() {
    let mut tunnel = tunnel();
    let (mut marked, mut clear) = (tunnel.join(of(1.0)), tunnel.join(of(1.0)));
    for round in 1..200 {
        tunnel.on_ack(&mut marked, &ack(RTT * round - Time::from_ns(1), 10, true));
        tunnel.on_ack(&mut clear, &ack(RTT * round, 30, false));
    }
    assert!((tunnel.alpha() - 0.25).abs() < 1e-5, "{}", tunnel.alpha());
}

#[test]
fn an_eighth_of_a_packet_is_left_at_worst() {
    let mut tunnel = tunnel();
    let mut flow = tunnel.join(of(1.0));
    for round in 1..200 {
        tunnel.on_ack(&mut flow, &ack(RTT * round, 1, true));
        tunnel.on_loss(RTT * round);
    }
    assert_eq!(tunnel.window(), 0.125);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut tunnel = tunnel();
    let mut flow = tunnel.join(of(1.0));
    tunnel.on_loss(Time::ZERO);
    // A fifth of the window of 50 is used: a fifth of the weight.
    tunnel.on_ack(&mut flow, &ack(RTT, 10, false));
    assert!((tunnel.window() - 50.2).abs() < 1e-9);
}

#[test]
fn flows_have_their_shares_and_new_ones_the_mean() {
    let mut tunnel = tunnel();
    let mut a = tunnel.join(of(0.5));
    assert_limit(&tunnel, &a, 100.0);
    let mut b = tunnel.join(of(1.0));
    assert_eq!(tunnel.weight(), 1.0, "as much as the one before");
    assert_limit(&tunnel, &a, 50.0);
    tunnel.weigh(&mut a, of(0.25));
    tunnel.weigh(&mut b, of(0.75));
    assert_limit(&tunnel, &a, 25.0);
    assert_limit(&tunnel, &b, 75.0);
    tunnel.leave(&b);
    assert_limit(&tunnel, &a, 100.0);
    tunnel.leave(&a);
    assert!(tunnel.is_empty() && tunnel.weight() == 0.0);
}

#[test]
fn a_flow_that_has_sent_all_gives_its_share_away_at_the_next_round() {
    let mut tunnel = tunnel();
    let (mut a, mut b) = (tunnel.join(of(1.0)), tunnel.join(of(1.0)));
    tunnel.on_loss(Time::ZERO);
    tunnel.on_ack(&mut b, &ack(Time::from_us(10), 25, false));
    let half = tunnel.window() / 2.0;
    let done = AckSample { app_limited: true, ..ack(Time::from_us(50), 1, false) };
    tunnel.on_ack(&mut a, &done);
    assert_limit(&tunnel, &b, half);
    // The round is over.
    tunnel.on_ack(&mut b, &ack(Time::from_us(110), 49, false));
    let all = tunnel.window();
    assert_limit(&tunnel, &b, all);
    // What the first must send again counts beside what the other has.
    assert_limit(&tunnel, &a, all / 2.0);
    assert_eq!(tunnel.weight(), 2.0, "it still counts for the tunnel");
}

#[test]
fn no_flow_waits_longer_than_64_round_trips_for_a_packet() {
    let mut tunnel = tunnel();
    let mut small = tunnel.join(of(1.0));
    tunnel.join(of(1.0));
    tunnel.weigh(&mut small, of(1e-9));
    assert_limit(&tunnel, &small, 1.0 / 64.0);
}

/// A guest that always has a window of 30 segments and writes down the marks that it sees.
struct Idler(Bytes);

impl CongestionLaw for Idler {
    fn on_ack(&mut self, ack: &AckSample, _: &FlowView) {
        self.0 += ack.marked;
    }
    fn on_loss(&mut self, _: Time, _: Loss, _: &FlowView) {}
    fn allowance(&self) -> Allowance {
        Allowance { window: Bytes::new(30 * MSS), pacing: None }
    }
}

const VIEW: FlowView = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };

fn weighing(weight: f64) -> Directive {
    Directive { weight: of(weight), ..Directive::tagged(TagTable::FLAT) }
}

#[test]
fn guests_keep_their_windows_under_the_limiter_and_see_marks_only_if_shown() {
    for (show_marks, seen) in [(false, 0), (true, MSS)] {
        let mut law = Tunnelled::new(Idler(Bytes::ZERO), Rc::new(RefCell::new(tunnel())), None, show_marks);
        law.directed(&weighing(1.0));
        law.on_ack(&ack(Time::from_us(50), 1, true), &VIEW);
        assert_eq!(law.guest().0.get(), seen);
        let Allowance { window, pacing } = law.allowance();
        assert_eq!(window.get(), 30 * MSS);
        assert_eq!(pacing.map(|rate| rate.as_bps() as f64), Some(rate(100.0 * (1.0 - 0.53125 / 2.0))));
    }
}

fn scheme(slices: usize) -> Scc {
    let facts = Facts {
        slices: vec![Slice { weight: 1.0, objective: Objective::Completion }; slices],
        racks: vec![0; 4],
        ..Facts::new(4, Rate::from_gbps(1), RTT, 4)
    };
    Scc::new(Params::default(), &facts).unwrap()
}

fn flow(slice: u16, src: HostId, dst: HostId) -> FlowInfo {
    FlowInfo { id: 0, src, dst, size: None, start: Time::ZERO, deadline: None, slice, task: 0 }
}

#[test]
fn tunnels_are_by_slice_and_hosts_and_end_with_their_last_flow() {
    let scheme = scheme(2);
    let flows = [flow(1, 0, 1), flow(1, 0, 1), flow(2, 0, 1), flow(1, 1, 0), flow(0, 0, 1), flow(0, 0, 1)];
    for _ in 0..3 {
        let mut laws: Vec<_> = flows.iter().map(|flow| scheme.law(flow)).collect();
        laws.iter_mut().for_each(|law| law.directed(&weighing(1.0)));
        laws.iter_mut().for_each(|law| law.on_ack(&ack(RTT, 1, false), &VIEW));
        assert_eq!(scheme.tunnels.len(), 3, "flows of no slice have their own");
        let limits: Vec<_> = laws.iter().map(|law| law.allowance().pacing.unwrap().as_bps()).collect();
        assert_eq!(limits[0] * 2, limits[2]);
        assert_eq!([limits[1], limits[3], limits[5]], [limits[0], limits[2], limits[2]]);
        laws[0].farewell(RTT);
        assert_eq!(laws[1].allowance().pacing, laws[2].allowance().pacing, "the other has all at once");
        laws[1..].iter_mut().for_each(|law| assert_eq!(law.farewell(RTT), None));
        assert_eq!(scheme.tunnels.len(), 0);
    }
}

fn demand(from: HostId, to: HostId, metric: f64) -> Demand {
    Demand { aggregate: Aggregate::new(from, to), metric, memory: 1.0 }
}

/// What flows of slices of so much weight have, in order.
fn shared(slices: &[(f64, Vec<Demand>)]) -> Vec<Given> {
    let (mut parts, mut weights, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for (weight, flows) in slices {
        ByTunnel.divide(*weight, flows, &mut parts);
        for (members, &part) in aggregates(flows).zip(&parts) {
            ByTunnel.share(part, members, &mut weights);
            all.extend(weights.iter().map(|&weight| Given { weight, part }));
        }
    }
    all
}

/// How many tunnels flows have.
fn tunnels(flows: &[Demand]) -> usize {
    aggregates(flows).count()
}

/// Weights before and after they are fitted.
fn fitted(slices: &[(f64, Vec<Demand>)]) -> (Vec<f64>, Vec<f64>) {
    let scale = slices.iter().map(|(weight, flows)| ByTunnel.scale(*weight, tunnels(flows), 0.0));
    let (given, scale) = (shared(slices), scale.fold(0.0, f64::max));
    given.iter().map(|given| (given.weight, ByTunnel.fit(*given, scale))).unzip()
}

fn assert_near(found: &[f64], expected: &[f64]) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(near), "{found:?}");
}

#[test]
fn a_slices_weight_goes_to_flows_by_what_they_need_wherever_they_are() {
    // Two flows of the first tunnel, one of the second, and the other slice's only one.
    let flows = [vec![demand(0, 1, 1.0), demand(0, 1, 2.0), demand(0, 2, 5.0)], vec![demand(3, 2, 7.0)]];
    let (weights, fitted) = fitted(&[2.0, 3.0].into_iter().zip(flows).collect::<Vec<_>>());
    assert_near(&weights, &[0.25, 0.5, 1.25, 3.0]);
    // The slices have 1 and 3 for a tunnel on average.
    assert_near(&fitted, &[0.25 / 3.0, 0.5 / 3.0, 1.25 / 3.0, 1.0]);
}

#[test]
fn tunnels_stay_between_a_64th_and_16_and_their_flows_keep_their_proportions() {
    let mut flows = vec![demand(0, 1, 3e6), demand(0, 1, 1e6)];
    flows.extend((2..42).map(|to| demand(0, to, 1.0)));
    let (_, fitted) = fitted(&[(1.0, flows)]);
    assert_near(&fitted[..3], &[12.0, 4.0, 1.0 / 64.0]);
}

/// Figure 3: A has 0.1 and 0.9 of its weight in its two tunnels, B 0.5 and 0.5.
#[test]
fn over_two_links_two_slices_of_one_weight_share_as_17_to_25() {
    let slices = [vec![demand(0, 4, 0.1), demand(1, 5, 0.9)], vec![demand(2, 4, 0.5), demand(3, 5, 0.5)]];
    let (weights, fitted) = fitted(&slices.map(|flows| (1.0, flows)));
    assert_near(&weights, &[0.1, 0.9, 0.5, 0.5]);
    assert_near(&fitted, &[0.2, 1.8, 1.0, 1.0]);
    // Figure 3(a), one link: by weight, A has half.
    assert_near(&[(fitted[0] + fitted[1]) / fitted.iter().sum::<f64>()], &[0.5]);
    // Figure 3(b): A1 and B1 over one link, A2 and B2 over another.
    let a = [0, 1].map(|link| fitted[link] / (fitted[link] + fitted[link + 2]));
    assert_near(&a, &[1.0 / 6.0, 9.0 / 14.0]);
    assert_near(&[a[0] / a[1]], &[7.0 / 27.0]);
    let all = a[0] + a[1];
    assert_near(&[all / (2.0 - all)], &[17.0 / 25.0]);
}

fn any_flows() -> impl Strategy<Value = Vec<Demand>> {
    let flow =
        (0..8u32, 0..8u32, -20.0..5.0f64).prop_map(|(from, to, metric)| demand(from, to, metric.exp2()));
    prop::collection::vec(flow, 1..60).prop_map(|mut flows| {
        flows.sort_by_key(|flow| flow.aggregate);
        flows
    })
}

proptest! {
    #[test]
    fn the_tunnels_of_a_slice_add_up_to_its_weight_and_keep_their_proportions(
        flows in any_flows(),
        weight in 0.01..100.0f64,
        // Another slice's.
        mean in 0.01..100.0f64,
    ) {
        let scale = mean.max(ByTunnel.scale(weight, tunnels(&flows), 0.0));
        prop_assert!(scale == mean || (scale * tunnels(&flows) as f64 / weight - 1.0).abs() < 1e-9);
        let given = shared(&[(weight, flows.clone())]);
        let sum: f64 = given.iter().map(|given| given.weight).sum();
        prop_assert!((sum / weight - 1.0).abs() < 1e-9, "{sum} of {weight}");
        let mut rest = &given[..];
        for members in aggregates(&flows) {
            let own;
            (own, rest) = rest.split_at(members.len());
            let part: f64 = own.iter().map(|given| given.weight).sum();
            let fitted: f64 = own.iter().map(|given| ByTunnel.fit(*given, scale)).sum();
            let expected = (part / scale).clamp(1.0 / 64.0, 16.0);
            prop_assert!((fitted / expected - 1.0).abs() < 1e-9, "{fitted}, not {expected}");
        }
    }
}
