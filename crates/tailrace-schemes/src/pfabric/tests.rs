//! The law and its ranks without a network.

use super::*;
use tailrace_core::transport::TransportParams;
use tailrace_core::{AckSample, Bytes, CongestionLaw, FlowView, Header, Loss, Segment, Time};

const MSS: u64 = 1460;

/// As on `spine144`, with the authors' timeout.
fn facts() -> Facts {
    Facts {
        transport: TransportParams { min_rto: Time::from_us(250), ..TransportParams::default() },
        ..Facts::new(144, Rate::from_gbps(10), Time::from_ns(84_700), 4)
    }
}

fn law_of(rank: RankBy, flow: FlowInfo) -> PfabricLaw {
    Pfabric::new(Params { rank, ..Params::default() }, &facts()).unwrap().law(&flow)
}

/// A flow of a megabyte that is due after `deadline_us`, if it has a deadline.
fn megabyte(deadline_us: Option<u64>) -> FlowInfo {
    FlowInfo {
        id: 0,
        src: 0,
        dst: 1,
        size: Some(Bytes::new(1_000_000)),
        start: Time::ZERO,
        deadline: deadline_us.map(Time::from_us),
        slice: 0,
        task: 0,
    }
}

fn view(acked: u64, delivered: u64) -> FlowView {
    FlowView { sent: Bytes::new(1 << 30), acked: Bytes::new(acked), delivered: Bytes::new(delivered) }
}

/// The rank of the packet after `before` bytes of a flow of which `delivered` have arrived.
fn rank(law: &mut PfabricLaw, now_us: u64, before: u64, delivered: u64) -> Rank {
    let segment = Segment { before: Bytes::new(before), len: MSS as u16, last: false };
    law.stamp(Time::from_us(now_us), &segment, &view(delivered, delivered))
}

fn amount(bytes: u64) -> Rank {
    Rank::amount(Bytes::new(bytes))
}

fn acknowledge(law: &mut PfabricLaw, segments: u64) {
    for _ in 0..segments {
        let sample = AckSample {
            now: Time::ZERO,
            acked: Bytes::new(MSS),
            marked: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            rtt: Time::from_us(85),
            srtt: Time::from_us(85),
            app_limited: false,
        };
        law.on_feedback(Time::ZERO, sample.rtt, &Rank::NONE, &view(0, 0));
        law.on_ack(&sample, &view(0, 0));
    }
}

fn window(law: &PfabricLaw) -> u64 {
    law.allowance().window.get() / MSS
}

#[test]
fn what_is_left_decides_not_where_the_packet_is() {
    let mut law = law_of(RankBy::Remaining, megabyte(None));
    assert_eq!(rank(&mut law, 0, 0, 0), amount(1_000_000));
    assert_eq!(rank(&mut law, 0, 300 * MSS, 0), amount(1_000_000));
    assert_eq!(rank(&mut law, 0, 300 * MSS, 100 * MSS), amount(1_000_000 - 100 * MSS));
    // The view counts whole segments, so at the end it may exceed the size.
    assert_eq!(rank(&mut law, 0, 0, 1_000_001), amount(0));
}

#[test]
fn who_does_not_tell_the_size_is_ranked_by_what_it_has_sent() {
    let silent =
        FlowInfo { id: 0, src: 0, dst: 1, size: None, start: Time::ZERO, deadline: None, slice: 0, task: 0 };
    for (by, flow) in
        [(RankBy::Remaining, silent), (RankBy::Edf, silent), (RankBy::Sent, megabyte(Some(10_000)))]
    {
        assert_eq!(rank(&mut law_of(by, flow), 0, 300 * MSS, 100 * MSS), amount(300 * MSS), "{by:?}");
    }
}

#[test]
fn a_deadline_counts_until_it_is_lost() {
    // A megabyte takes 800 µs.
    let mut law = law_of(RankBy::Edf, megabyte(Some(5_000)));
    let due = Rank::deadline(Time::from_us(5_000));
    assert_eq!(rank(&mut law, 4_200, 0, 0), due);
    assert_eq!(rank(&mut law, 4_201, 0, 0), Rank::HOPELESS);
    // With half of it done, 400 µs are enough.
    assert_eq!(rank(&mut law, 4_600, 0, 500_000), due);
    assert_eq!(rank(&mut law, 5_001, 0, 1_000_000), Rank::HOPELESS);
    assert_eq!(rank(&mut law_of(RankBy::Edf, megabyte(None)), 0, 0, 0), amount(1_000_000));
}

#[test]
fn the_first_window_is_a_round_trip_and_the_largest_almost_two() {
    // 84.7 µs hold 70.6 packets of 1.2 µs.
    let mut law = law_of(RankBy::Remaining, megabyte(None));
    assert_eq!(window(&law), 71);
    acknowledge(&mut law, 40);
    assert_eq!(window(&law), 111);
    acknowledge(&mut law, 1_000);
    assert_eq!(window(&law), 141);
    let authors = LawParams { initial_window: Some(70), ..LawParams::default() };
    let mut law = Fresh::new(&authors, &facts()).unwrap().law(Urgency::Sent);
    acknowledge(&mut law, 1_000);
    assert_eq!(window(&law), 139);
}

#[test]
fn only_a_timeout_cuts() {
    let mut law = law_of(RankBy::Remaining, megabyte(None));
    law.on_loss(Time::ZERO, Loss::Fast, &view(0, 0));
    assert_eq!(window(&law), 71);
    law.on_loss(Time::ZERO, Loss::Timeout, &view(0, 0));
    assert_eq!(window(&law), 1);
    // Slow start to half of 71, then a segment a window.
    acknowledge(&mut law, 35);
    assert_eq!(window(&law), 36);
    acknowledge(&mut law, 37);
    assert_eq!(window(&law), 37);
}

#[test]
fn five_timeouts_in_a_row_leave_probes_until_something_comes_back() {
    let mut law = law_of(RankBy::Remaining, megabyte(None));
    let timeout = |law: &mut PfabricLaw, us| law.on_loss(Time::from_us(us), Loss::Timeout, &view(0, 0));
    (1..5).for_each(|i| timeout(&mut law, 250 * i));
    acknowledge(&mut law, 1);
    (1..5).for_each(|i| timeout(&mut law, 2_000 + 250 * i));
    assert_eq!((window(&law), law.probe_at()), (1, Time::MAX), "an acknowledgement starts the count anew");
    timeout(&mut law, 3_250);
    assert_eq!((window(&law), law.probe_at()), (0, Time::from_us(3_250)));
    for us in [3_250, 3_500, 3_750] {
        assert_eq!(law.probe_at(), Time::from_us(us));
        assert_eq!(law.probe(Time::from_us(us), &view(0, 14_600)), amount(1_000_000 - 14_600));
    }
    law.on_feedback(Time::from_us(3_900), Time::from_us(150), &Rank::NONE, &view(0, 0));
    assert_eq!((window(&law), law.probe_at()), (1, Time::MAX));
}

#[test]
fn parameters_that_cannot_work_are_refused() {
    let field = |law: LawParams| Fresh::new(&law, &facts()).err().map(|error| error.field);
    let default = LawParams::default();
    assert_eq!(field(default), None);
    assert_eq!(field(LawParams { initial_window: Some(0), ..default }).as_deref(), Some("initial_window"));
    assert_eq!(field(LawParams { max_window: Some(70), ..default }).as_deref(), Some("max_window"));
    let never = LawParams { timeouts_before_probing: 0, ..default };
    assert_eq!(field(never).as_deref(), Some("timeouts_before_probing"));
}
