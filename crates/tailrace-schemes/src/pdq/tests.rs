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

/// A flow's request with so many µs of work, paused by that port.
fn request(flow: u32, work_us: u32, paused_by: u32) -> Packet<PdqHeader> {
    packet(
        flow,
        PdqHeader {
            message: Message::Request,
            paused_by,
            rate: WireRate::at_least(LINK.as_bps()),
            expected_ns: work_us * 1_000,
            rtt_ns: RTT.as_ns() as u32,
            ..PdqHeader::NONE
        },
    )
}

/// The flow's end.
fn end(flow: u32) -> Packet<PdqHeader> {
    packet(flow, PdqHeader { message: Message::End, ..PdqHeader::NONE })
}

/// A request with so many µs of work passes the router, and its answer comes back.
fn ask(router: &mut PdqRouter, now: Time, flow: u32, work_us: u32, deadline_us: u32) -> PdqHeader {
    let mut packet = request(flow, work_us, 0);
    packet.header.deadline_us = deadline_us;
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
    router.on_arrival(us(900), &mut end(3), Bytes::ZERO);
    assert_eq!(share(&ask(&mut router, us(910), 1, 1_900, NO_DEADLINE)), 1.0);
}

/// A link has failed or is back, and a flow goes by other ports than the one that it waits for.
#[test]
fn whose_port_is_on_its_way_no_more_asks_the_others() {
    let [mut before, mut since] = [3, 4].map(|number| router(number, SwitchParams::default(), REFRESH));
    let us = Time::from_us;
    let mut law = law(1_000_000, None);
    let mut ask_by = |router: &mut PdqRouter| {
        let now = law.probe_at();
        let mut packet = packet(0, law.probe(now, &VIEW));
        router.on_arrival(now, &mut packet, Bytes::ZERO);
        packet.header = packet.header.returned();
        router.on_reverse(now, &mut packet);
        law.on_feedback(now + RTT, RTT, &packet.header, &VIEW);
        (packet.header.paused_by, law.allowance().pacing.is_some())
    };
    assert_eq!(share(&ask(&mut before, us(0), 1, 500, NO_DEADLINE)), 1.0);
    assert_eq!(ask_by(&mut before), (4, false));
    assert_eq!(ask_by(&mut since), (4, false), "its port has the word");
    assert_eq!(ask_by(&mut since), (0, true));
    // Where that port is on the way, it keeps it.
    assert_eq!(ask_by(&mut before), (4, false));
    assert_eq!(ask_by(&mut before), (4, false));
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
fn a_flow_that_another_port_pauses_or_that_ends_dampens_nobody() {
    let let_go = |then: fn(&mut PdqRouter, Packet<PdqHeader>)| {
        let mut router = router(0, SwitchParams { early_start: 0.0, ..SwitchParams::default() }, REFRESH);
        let mut first = request(1, 500, 0);
        router.on_arrival(Time::from_us(0), &mut first, Bytes::ZERO);
        assert_eq!(share(&first.header), 1.0);
        then(&mut router, first);
        share(&ask(&mut router, Time::from_us(9), 2, 600, NO_DEADLINE))
    };
    assert_eq!(let_go(|_, _| {}), 0.0);
    assert_eq!(let_go(|router, _| router.on_arrival(Time::from_us(8), &mut end(1), Bytes::ZERO)), 1.0);
    let paused = |router: &mut PdqRouter, mut packet: Packet<PdqHeader>| {
        packet.header.paused_by = 9;
        packet.header = packet.header.returned();
        router.on_reverse(Time::from_us(8), &mut packet);
    };
    assert_eq!(let_go(paused), 1.0);
}

#[test]
fn a_flow_that_another_port_lets_go_is_not_dampened_on_its_way_back() {
    let mut router = router(0, SwitchParams { early_start: 0.0, ..SwitchParams::default() }, REFRESH);
    let us = Time::from_us;
    assert_eq!(share(&ask(&mut router, us(0), 1, 600, NO_DEADLINE)), 1.0);
    let mut answer = request(2, 500, 0);
    answer.header = answer.header.returned();
    router.on_reverse(us(5), &mut answer);
    assert_eq!((share(&answer.header), answer.header.paused_by), (1.0, 0));
    // Nor is it forgotten that it was let go.
    assert_eq!(share(&ask(&mut router, us(14), 3, 400, NO_DEADLINE)), 0.0);
}

#[test]
fn a_flow_that_comes_back_is_ahead_of_those_that_may_not() {
    let mut router = router(0, SwitchParams { early_start: 0.0, ..SwitchParams::default() }, REFRESH);
    let us = Time::from_us;
    let back = |router: &mut PdqRouter, now: u64, mut packet: Packet<PdqHeader>| {
        packet.header = packet.header.returned();
        router.on_reverse(us(now), &mut packet);
        share(&packet.header)
    };
    // A more critical flow is granted on its way out: who asks has to wait, who comes back has not.
    let mut first = request(1, 500, 0);
    router.on_arrival(us(0), &mut first, Bytes::ZERO);
    assert_eq!(share(&ask(&mut router, us(20), 2, 600, NO_DEADLINE)), 0.0);
    assert_eq!(back(&mut router, 30, request(3, 600, 0)), 1.0);
    // Once it has come back itself, nobody less critical goes on.
    assert_eq!(back(&mut router, 40, first), 1.0);
    assert_eq!(back(&mut router, 50, request(4, 600, 0)), 0.0);
    assert_eq!(share(&ask(&mut router, us(60), 3, 600, NO_DEADLINE)), 0.0);
}

/// Two ports and two flows through both, of which each port holds back one, where round trips are shorter than the
/// dampening: each time that one port let go the flow that it held back, it could hold back the other.
#[test]
fn two_ports_do_not_hold_back_each_others_flow_in_turns() {
    let us = Time::from_us;
    for ahead in (0..100).step_by(5) {
        let params = SwitchParams { early_start: 0.0, dampening: us(238), ..SwitchParams::default() };
        let mut ports = [0, 1].map(|number| router(number, params, REFRESH));
        // The first port has just let a flow go, which ended.
        ports[0].on_arrival(us(0), &mut request(9, 10, 0), Bytes::ZERO);
        ports[0].on_arrival(us(10), &mut end(9), Bytes::ZERO);
        let mut flows = [(request(1, 1_000, 1), 100 + ahead), (request(2, 2_000, 2), 100i64)];
        let sends = (100i64..3_000).step_by(5).find_map(|now| {
            for (packet, start) in &mut flows {
                // A quarter of a round trip to the second port, half of one until it sees the answer, a quarter back.
                match (now - *start, (now - *start).rem_euclid(100)) {
                    (..0, _) => {}
                    (since, 0) => {
                        let now = us(now as u64);
                        if since > 0 {
                            ports[0].on_reverse(now, packet);
                            if packet.header.rate > WireRate::ZERO {
                                return Some(packet.flow);
                            }
                        }
                        let work_us = packet.header.expected_ns / 1_000;
                        *packet = request(packet.flow, work_us, packet.header.paused_by);
                        ports[0].on_arrival(now, packet, Bytes::ZERO);
                    }
                    (_, 25) => ports[1].on_arrival(us(now as u64), packet, Bytes::ZERO),
                    (_, 75) => {
                        packet.header = packet.header.returned();
                        ports[1].on_reverse(us(now as u64), packet);
                    }
                    _ => {}
                }
            }
            None
        });
        assert!(sends.is_some(), "both are paused for ever, {ahead} µs apart");
    }
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
    // It waits behind the whole list, and probes as seldom as can be told.
    assert_eq!(ask(&mut router, us(80), 2, 600, NO_DEADLINE).place, u8::MAX);
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
