//! The switch and the law without a network.

use proptest::prelude::*;
use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, CongestionLaw, FlowInfo, FlowView, Header, Packet, Rate, Standing, Time};
use tailrace_queues::Router;
use tailrace_transport::{Message, WireRate};

use super::*;

pub(super) const RTT: Time = Time::from_us(100);
const REFRESH: Time = Time::from_ms(1);
pub(super) const LINK: Rate = Rate::from_gbps(10);
pub(super) const VIEW: FlowView = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };

pub(super) fn router(number: u32, params: SwitchParams, refresh: Time) -> PdqRouter {
    PdqRouter::new(&params, number, LINK, RTT, refresh)
}

pub(super) fn law(size: u64, deadline: Option<Time>) -> PdqLaw {
    let info = FlowInfo {
        id: 0,
        src: 0,
        dst: 1,
        size: Some(Bytes::new(size)),
        start: Time::ZERO,
        deadline,
        slice: 0,
        task: 0,
    };
    PdqLaw::new(&info, &SwitchParams::default(), LINK, RTT, &TransportParams::default())
}

pub(super) fn packet(flow: u32, header: PdqHeader) -> Packet<PdqHeader> {
    Packet { flow, bytes: 60, header, ..Packet::EMPTY }
}

/// A request with so many µs of work passes the router, and its answer comes back.
fn ask(router: &mut PdqRouter, now: Time, flow: u32, work_us: u32, deadline_us: u32) -> PdqHeader {
    let mut packet = packet(
        flow,
        PdqHeader {
            message: Message::Request,
            rate: WireRate::at_least(LINK.as_bps()),
            deadline_us,
            expected_ns: work_us * 1_000,
            rtt_ns: RTT.as_ns() as u32,
            ..PdqHeader::NONE
        },
    );
    router.on_arrival(now, &mut packet, Bytes::ZERO);
    packet.header = packet.header.returned();
    router.on_reverse(now, &mut packet);
    packet.header
}

fn granted(router: &PdqRouter) -> u64 {
    router.grants().map(|(_, rate)| rate.bps()).sum()
}

fn share(header: &PdqHeader) -> f64 {
    (header.rate.bps() as f64 / LINK.as_bps() as f64 * 100.0).round() / 100.0
}

const NO_DEADLINE: u32 = u32::MAX;

#[test]
fn the_flow_with_least_to_send_has_the_link_and_the_other_pauses() {
    let mut router = router(7, SwitchParams::default(), REFRESH);
    let us = Time::from_us;
    assert_eq!(share(&ask(&mut router, us(0), 1, 2_000, NO_DEADLINE)), 1.0);
    assert_eq!(ask(&mut router, us(20), 2, 3_000, NO_DEADLINE).paused_by, 8);
    // A smaller one is let go at once; the first is paused when it asks again, and the list is in order.
    assert_eq!(share(&ask(&mut router, us(40), 3, 1_000, NO_DEADLINE)), 1.0);
    let paused = ask(&mut router, us(100), 1, 1_900, NO_DEADLINE);
    assert_eq!((paused.paused_by, paused.place, share(&paused)), (8, 1, 0.0));
    assert_eq!(ask(&mut router, us(120), 2, 3_000, NO_DEADLINE).place, 2);
    // The end of the smallest lets the next one go on.
    router.on_arrival(
        us(900),
        &mut packet(3, PdqHeader { message: Message::End, ..PdqHeader::NONE }),
        Bytes::ZERO,
    );
    assert_eq!(share(&ask(&mut router, us(910), 1, 1_900, NO_DEADLINE)), 1.0);
}

#[test]
fn of_equal_flows_the_one_that_sends_goes_on() {
    let mut router = router(0, SwitchParams::default(), REFRESH);
    let us = Time::from_us;
    assert_eq!(share(&ask(&mut router, us(0), 9, 1_000, NO_DEADLINE)), 1.0);
    // 100 µs later it has 900 µs left, though it has not said so.
    assert_eq!(share(&ask(&mut router, us(100), 1, 901, NO_DEADLINE)), 0.0);
    assert_eq!(share(&ask(&mut router, us(110), 2, 889, NO_DEADLINE)), 1.0);
}

#[test]
fn deadlines_come_before_sizes_and_flows_without() {
    let mut router = router(0, SwitchParams::default(), REFRESH);
    let us = Time::from_us;
    assert_eq!(share(&ask(&mut router, us(0), 1, 1_000, NO_DEADLINE)), 1.0);
    assert_eq!(share(&ask(&mut router, us(20), 2, 5_000, 20_000)), 1.0);
    assert_eq!(share(&ask(&mut router, us(40), 3, 6_000, 10_000)), 1.0);
    assert_eq!(share(&ask(&mut router, us(60), 2, 5_000, 20_000)), 0.0);
    assert_eq!(share(&ask(&mut router, us(80), 1, 1_000, NO_DEADLINE)), 0.0);
    assert_eq!(granted(&router), WireRate::at_most(LINK.as_bps()).bps());
}

#[test]
fn flows_about_to_finish_let_the_next_one_start() {
    let mut router = router(0, SwitchParams::default(), REFRESH);
    let us = Time::from_us;
    // 1.5 round trips of work.
    assert_eq!(share(&ask(&mut router, us(0), 1, 150, NO_DEADLINE)), 1.0);
    assert_eq!(share(&ask(&mut router, us(20), 2, 160, NO_DEADLINE)), 1.0);
    // The second still starts early, behind 1.5 < K = 2 round trips of the first; neither holds back the third.
    assert_eq!(share(&ask(&mut router, us(40), 3, 170, NO_DEADLINE)), 1.0);
    // The third counts, behind 3.1.
    assert_eq!(share(&ask(&mut router, us(60), 4, 180, NO_DEADLINE)), 0.0);
}

#[test]
fn one_paused_flow_is_let_go_at_a_time() {
    let mut router = router(0, SwitchParams { early_start: 0.0, ..SwitchParams::default() }, REFRESH);
    assert_eq!(share(&ask(&mut router, Time::ZERO, 1, 500, NO_DEADLINE)), 1.0);
    assert_eq!(share(&ask(&mut router, Time::from_us(9), 2, 400, NO_DEADLINE)), 0.0);
    assert_eq!(share(&ask(&mut router, Time::from_us(10), 2, 400, NO_DEADLINE)), 1.0);
}

#[test]
fn a_full_list_shares_what_it_leaves_and_gives_way_to_more_critical_flows() {
    let mut router =
        router(0, SwitchParams { kappa: 1, early_start: 0.0, ..SwitchParams::default() }, REFRESH);
    let us = Time::from_us;
    ask(&mut router, us(0), 1, 500, NO_DEADLINE);
    ask(&mut router, us(20), 2, 600, NO_DEADLINE);
    assert_eq!(ask(&mut router, us(40), 3, 700, NO_DEADLINE).paused_by, 1);
    assert_eq!(router.grants().count(), 2);
    assert_eq!(share(&ask(&mut router, us(60), 4, 100, NO_DEADLINE)), 1.0);
    assert_eq!(router.grants().count(), 2);
    assert_eq!(ask(&mut router, us(80), 2, 600, NO_DEADLINE).place, 0);
}

#[test]
fn a_queue_is_emptied_in_two_round_trips() {
    let mut router = router(0, SwitchParams::default(), REFRESH);
    // A quarter of what the link carries in two.
    router.control(RTT * 2, Bytes::new(62_500));
    assert_eq!(share(&ask(&mut router, RTT * 2, 1, 500, NO_DEADLINE)), 0.75);
}

#[test]
fn a_flow_paused_elsewhere_holds_nothing_here() {
    let mut router = router(0, SwitchParams::default(), REFRESH);
    ask(&mut router, Time::ZERO, 1, 500, NO_DEADLINE);
    let mut answer = packet(1, PdqHeader { message: Message::Answer, paused_by: 9, ..PdqHeader::NONE });
    router.on_reverse(RTT, &mut answer);
    assert_eq!((router.grants().count(), answer.header.rate), (0, WireRate::ZERO));
}

/// The law after an answer with this rate at `now`, a round trip after its request, having sent nothing.
fn after(mut law: PdqLaw, now: Time, rate: u64, place: u8) -> PdqLaw {
    let request = law.probe(now.saturating_sub(RTT), &VIEW);
    let paused_by = u32::from(rate == 0);
    let answer = PdqHeader { rate: WireRate::at_most(rate), paused_by, place, ..request }.returned();
    law.on_feedback(now, RTT, &answer, &VIEW);
    law
}

#[test]
fn a_paused_flow_probes_the_more_seldom_the_farther_back_it_waits() {
    let due = |place| after(law(1_000_000, None), RTT, 0, place).probe_at().saturating_sub(RTT);
    // The answer took one round trip already.
    assert_eq!((due(1), due(5), due(10), due(50)), (Time::ZERO, Time::ZERO, RTT, RTT * 9));
    assert_eq!(after(law(1_000_000, None), RTT, 0, 0).allowance().window, Bytes::ZERO);
    assert_eq!(
        after(law(1_000_000, None), RTT, 1 << 30, 0).allowance().pacing,
        Some(Rate::from_bps(1 << 30))
    );
}

#[test]
fn what_cannot_be_in_time_is_given_up() {
    // 1 MB takes 822 µs.
    let standing = |now_us, rate| {
        after(law(1_000_000, Some(Time::from_ms(1))), Time::from_us(now_us), rate, 0).standing()
    };
    assert_eq!(standing(170, 1 << 33), Standing::Going);
    assert_eq!(standing(180, 1 << 33), Standing::Stopped);
    let small =
        |now_us, rate| after(law(1_000, Some(Time::from_ms(1))), Time::from_us(now_us), rate, 0).standing();
    assert_eq!((small(950, 1 << 33), small(950, 0)), (Standing::Going, Standing::Stopped));
    assert_eq!(small(1_000, 1 << 33), Standing::Stopped);
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(raw: [u8; 19], message in 1u8..4) {
        let mut whole = [message; 20];
        whole[1..].copy_from_slice(&raw);
        let header = PdqHeader::decode(&whole).unwrap();
        let mut again = [0xAA; 20];
        header.encode(&mut again);
        prop_assert_eq!(again, whole);
        prop_assert_eq!(PdqHeader::decode(&whole[..19]), None);
    }
}
