//! The router, the law and the header without a network.

use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, CongestionLaw, FlowInfo, FlowView, Header, Packet, Rate, Time};
use tailrace_queues::{DrainedLink, Epoch, Router};

use super::scale::{Grains, grains_in};
use super::*;

pub(super) const RTT: Time = Time::from_ms(1);
pub(super) const REFRESH: Time = Time::from_ms(10);
/// 128 units of the paper.
pub(super) const LINK: u64 = 1_000_000_000;
/// A unit of the paper in grains.
pub(super) const UNIT: Grains = 128;
pub(super) const VIEW: FlowView = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };

pub(super) fn router(order: Order, heavy: u64) -> BaraatRouter {
    let capacity = DrainedLink::new(0.1, Rate::from_bps(LINK), RTT);
    // No data pass, so all would seem to be unused.
    let unused = Unused::new(0.0, RTT);
    BaraatRouter::new(capacity, unused, Classifier::new(order, Bytes::new(heavy), REFRESH), RTT)
}

pub(super) fn pass(router: &mut BaraatRouter, now: Time, flow: u32, header: BaraatHeader) -> BaraatHeader {
    let mut packet = Packet { bytes: 66, flow, header, ..Packet::EMPTY };
    router.on_arrival(now, &mut packet, Bytes::ZERO);
    packet.header
}

fn of_task(task: u32) -> BaraatHeader {
    BaraatHeader { task, ..BaraatHeader::NONE }
}

/// Flows (task, demand in units) that ask in order, once a round trip.
pub(super) struct Flows {
    pub(super) router: BaraatRouter,
    pub(super) demands: Vec<Grains>,
    pub(super) answers: Vec<BaraatHeader>,
    pub(super) now: Time,
}

impl Flows {
    pub(super) fn new(order: Order, heavy: u64, flows: &[(u32, u64)]) -> Self {
        let demands = flows.iter().map(|(_, units)| units * UNIT).collect();
        let answers = flows.iter().map(|(task, _)| of_task(*task)).collect();
        Flows { router: router(order, heavy), demands, answers, now: Time::ZERO }
    }

    /// What each is allocated after so many rounds more, in units.
    pub(super) fn rounds(&mut self, rounds: usize) -> Vec<f64> {
        for _ in 0..rounds {
            for (flow, (answer, demand)) in self.answers.iter_mut().zip(&self.demands).enumerate() {
                *answer =
                    pass(&mut self.router, self.now, flow as u32, answer.next_request(*demand, *demand));
            }
            self.now += RTT;
        }
        self.answers.iter().map(|answer| answer.actual() as f64 / UNIT as f64).collect()
    }

    /// A flow ends.
    pub(super) fn end(&mut self, flow: usize) {
        pass(&mut self.router, self.now, flow as u32, self.answers[flow].farewell());
        self.answers[flow] = of_task(self.answers[flow].task);
        self.demands.remove(flow);
        self.answers.remove(flow);
    }
}

/// Check values: 100 units of the first class leave 14 for each of two flows, and 64 once they have gone.
#[test]
fn a_class_of_100_units_leaves_14_for_each_of_two_flows_and_64_a_round_trip_after_it_has_ended() {
    let mut flows = Flows::new(Order::Fifo, 0, &[(1, 100), (2, 128), (2, 128)]);
    assert_eq!(flows.rounds(2), [100.0, 14.0, 14.0]);
    flows.end(0);
    assert_eq!(flows.rounds(1), [64.0, 64.0]);
}

#[test]
fn orders_differ_in_what_is_a_class_only() {
    // Task 2 started first.
    let flows = [(2, 128), (1, 48), (1, 48)];
    let shares = |order| Flows::new(order, 1 << 40, &flows).rounds(3);
    assert_eq!(shares(Order::FifoLm), [32.0, 48.0, 48.0]);
    assert_eq!(shares(Order::Fifo), [32.0, 48.0, 48.0]);
    assert_eq!(shares(Order::Flow), [128.0, 0.0, 0.0]);
    let fair = shares(Order::Fair);
    assert!(fair.iter().all(|share| (share - 128.0 / 3.0).abs() < 1.0), "{fair:?}");
}

/// Of 128 units, 16 MB/s each a grant of 128: the first task has reserved 250 KB after two round trips.
#[test]
fn a_heavy_task_shares_with_the_next_one_and_only_with_that() {
    let flows = [(1, 128), (2, 128), (3, 128)];
    let mut shared = Flows::new(Order::FifoLm, 200_000, &flows);
    assert_eq!(shared.rounds(1), [128.0, 0.0, 0.0]);
    assert_eq!(shared.rounds(4), [64.0, 64.0, 0.0]);
    // The light one has gone: the third one is next.
    shared.end(1);
    assert_eq!(shared.rounds(2), [64.0, 64.0]);
    // As FIFO does it, nobody shares.
    assert_eq!(Flows::new(Order::Fifo, 200_000, &flows).rounds(9), [128.0, 0.0, 0.0]);
}

#[test]
fn the_last_task_before_numbers_begin_again_goes_first() {
    let last = BACKGROUND - 1;
    let shares = |flows: &[(u32, u64)]| Flows::new(Order::FifoLm, 1 << 40, flows).rounds(3);
    assert_eq!(shares(&[(1, 128), (last, 100), (2, 128)]), [28.0, 100.0, 0.0]);
    assert_eq!(shares(&[(BACKGROUND + 1, 128), (BACKGROUND | last, 100), (last, 20)]), [8.0, 100.0, 20.0]);
}

#[test]
fn a_switch_that_does_not_take_part_says_nothing() {
    let asked = of_task(1).next_request(128 * UNIT, 128 * UNIT);
    let mut silent = router(Order::FifoLm, 0).taking_part(false);
    assert_eq!(pass(&mut silent, Time::ZERO, 0, asked), asked);
    assert_eq!(silent.classifier().total(Time::ZERO), Held::default());
}

/// What the first flow is limited to elsewhere, 20 units, is not kept for it: max-min fairness.
#[test]
fn what_a_content_flow_leaves_is_shared_by_the_others_of_its_class() {
    let mut flows = Flows::new(Order::Fifo, 0, &[(1, 20), (1, 128), (1, 128)]);
    assert_eq!(flows.rounds(3), [20.0, 54.0, 54.0]);
    flows.demands[1] = 30 * UNIT;
    assert_eq!(flows.rounds(3), [20.0, 30.0, 78.0]);
}

/// 128 units for 40 flows are 3.2 units each.
#[test]
fn rounding_costs_a_share_of_a_fortieth_less_than_a_hundredth() {
    let mut router = router(Order::Fifo, 0);
    let mut flows: Vec<_> = (0..40).map(|flow| (flow, law(1 << 30, 1))).collect();
    for round in 0..8 {
        let now = RTT * round;
        for (flow, law) in &mut flows {
            let answer = pass(&mut router, now, *flow, law.probe(now, &VIEW)).returned();
            law.on_feedback(now + RTT, RTT, &answer, &VIEW);
        }
    }
    for (_, law) in &flows {
        let share = law.allowance().pacing.map_or(0, Rate::as_bps) as f64 / (LINK as f64 / 40.0);
        assert!((0.99..=1.0).contains(&share), "{share}");
    }
}

#[test]
fn a_seventh_port_gives_no_more_than_it_has_left() {
    let mut routers: Vec<_> = (0..8).map(|_| router(Order::Fifo, 0)).collect();
    pass(&mut routers[7], Time::ZERO, 0, of_task(9).next_request(100 * UNIT, 100 * UNIT));
    let all =
        routers.iter_mut().fold(of_task(1).next_request(128 * UNIT, 128 * UNIT), |h, r| pass(r, RTT, 1, h));
    assert_eq!((all.index.ports(), all.actual()), (6, 28 * UNIT));
    assert_eq!(routers[6].classifier().total(RTT), Held::default());
}

#[test]
fn a_task_that_has_ended_leaves_nothing() {
    let mut flows = Flows::new(Order::FifoLm, 0, &[(1, 77), (1, 128), (2, 128)]);
    flows.rounds(5);
    for _ in 0..3 {
        flows.end(0);
    }
    assert_eq!(flows.router.classifier().total(flows.now), Held::default());
    assert_eq!(flows.router.classifier().tasks(flows.now).count(), 0);
}

fn flow_of(task: u32) -> FlowInfo {
    FlowInfo { id: 3, src: 0, dst: 1, size: None, start: Time::ZERO, deadline: None, slice: 0, task }
}

pub(super) fn law(size: u64, task: u32) -> BaraatLaw {
    let info = FlowInfo { size: Some(Bytes::new(size)), ..flow_of(task) };
    BaraatLaw::new(&info, Rate::from_bps(LINK), [RTT; 2], RTT * 2, &TransportParams::default())
}

#[test]
fn the_first_demand_is_the_whole_card_or_all_data_in_a_round_trip() {
    assert_eq!(law(1_000_000, 1).probe(Time::ZERO, &VIEW).demanded(), 128 * UNIT);
    // 14600 bytes are 15000 on the wire: 120 Mbit/s.
    let short = law(14_600, 1).probe(Time::ZERO, &VIEW).demanded();
    assert!((grains_in(120_000_000)..grains_in(121_000_000)).contains(&short), "{short}");
}

/// A few bytes in a round trip of 40 ms are 10 kbit/s, and a grain is 61.
#[test]
fn who_could_use_less_than_a_grain_asks_for_one_until_it_has_sent_all() {
    let (rtt, transport) = (Time::from_ms(40), TransportParams::default());
    let info = FlowInfo { size: Some(Bytes::new(10)), ..flow_of(1) };
    let mut law = BaraatLaw::new(&info, Rate::from_bps(25_000_000), [rtt; 2], rtt * 2, &transport);
    assert_eq!(law.probe(Time::ZERO, &VIEW).demanded(), 1);
    let sent = FlowView { sent: Bytes::new(10), ..VIEW };
    assert_eq!(law.probe(rtt, &sent).demanded(), 0);
}

#[test]
fn a_flow_without_a_task_is_one_of_its_own_behind_all_others() {
    assert_eq!(law(1, 7).probe(Time::ZERO, &VIEW).task, 7);
    assert_eq!(law(1, 0).probe(Time::ZERO, &VIEW).task, (1 << 31) + 3);
}

/// An answer of one port to what the law asks now.
pub(super) fn answered(law: &mut BaraatLaw, now: Time, view: &FlowView, nominal: Grains, actual: Grains) {
    let request = law.probe(now, view);
    let (nominal, actual) = (request.scale.at_most(nominal), request.scale.at_most(actual));
    let mut answer = BaraatHeader { index: Index::new(1, false), ..request }.returned();
    answer.hops[0] = Hop { nominal, actual, ..answer.hops[0] };
    law.on_feedback(now + RTT, RTT, &answer, view);
}

/// What a law asks next, in units: its demand, and what it could use.
fn requested(law: &BaraatLaw, now: Time) -> (Grains, Grains) {
    let request = { *law }.probe(now, &VIEW);
    (request.demanded() / UNIT, request.most() / UNIT)
}

#[test]
fn the_demand_follows_the_bottleneck_and_jumps_when_that_gives_all_of_it() {
    let mut law = law(1 << 30, 1);
    assert_eq!(requested(&law, Time::ZERO), (128, 128));
    answered(&mut law, Time::ZERO, &VIEW, 60 * UNIT, 16 * UNIT);
    assert_eq!(law.allowance().pacing, Some(Rate::from_bps(LINK / 8)));
    // Where a share moves to, nobody knows.
    assert_eq!(requested(&law, RTT), (60, 128));
    answered(&mut law, RTT, &VIEW, 60 * UNIT, 60 * UNIT);
    // It stays: 60 units and a sixteenth take a scale that ends below 64.
    assert_eq!(requested(&law, RTT * 2), (60, 63));
    // All that could be told: now it may be all that there is.
    answered(&mut law, RTT * 2, &VIEW, 128 * UNIT, 60 * UNIT);
    assert_eq!(requested(&law, RTT * 3), (128, 128));
    answered(&mut law, RTT * 3, &VIEW, 0, 0);
    // Nothing is sent, and nothing demanded but where the flow is held back, and it may be told all.
    assert_eq!(law.allowance().window, Bytes::ZERO);
    assert_eq!(requested(&law, RTT * 4), (0, 128));
    // It asks again at once.
    assert_eq!(law.probe_at(), RTT * 4);
}

/// Of two ports the first holds a flow back.
#[test]
fn a_port_that_holds_a_flow_back_counts_all_and_the_others_what_that_leaves() {
    let mut routers = [router(Order::Fifo, 0), router(Order::Fifo, 0)];
    pass(&mut routers[0], Time::ZERO, 9, of_task(1).next_request(100 * UNIT, 100 * UNIT));
    let mut law = law(1 << 30, 2);
    for round in 0..3 {
        let now = RTT * round;
        let header =
            routers.iter_mut().fold(law.probe(now, &VIEW), |header, router| pass(router, now, 3, header));
        law.on_feedback(now + RTT, RTT, &header.returned(), &VIEW);
    }
    let held = routers.map(|mut router| router.classifier().total(RTT * 2));
    // 128 units less 100 are left, in a scale that ends below 32.
    assert_eq!(held[0].demand, 100 * UNIT + 255 * UNIT / 8);
    assert_eq!(held[1], Held::flow(28 * UNIT, 28 * UNIT));
}

/// Ports free up whole: a flow that waited has its share with its next request, before those behind it.
#[test]
fn who_is_next_has_what_becomes_free_with_its_next_request() {
    let mut flows = Flows::new(Order::Fifo, 0, &[(1, 128), (2, 128), (3, 128)]);
    assert_eq!(flows.rounds(4), [128.0, 0.0, 0.0]);
    flows.end(0);
    assert_eq!(flows.rounds(1), [128.0, 0.0]);
}

/// A share far below a unit of what the link has is found in two round trips more.
#[test]
fn hundreds_of_flows_have_their_shares_though_a_unit_of_the_whole_is_more() {
    let mut router = router(Order::Fair, 0);
    let mut flows: Vec<_> = (0..400).map(|flow| (flow, law(1 << 30, flow + 1))).collect();
    for round in 0..6 {
        let now = RTT * round;
        for (flow, law) in &mut flows {
            let answer = pass(&mut router, now, *flow, law.probe(now, &VIEW)).returned();
            law.on_feedback(now + RTT, RTT, &answer, &VIEW);
        }
    }
    for (_, law) in &flows {
        let share = law.allowance().pacing.map_or(0, Rate::as_bps) as f64 / (LINK as f64 / 400.0);
        assert!((0.96..=1.0).contains(&share), "{share}");
    }
}

/// Of ports that leave a flow nothing, the one for which it has to wait longest counts what it could use, here the last. Whoever shares only the
/// other with it has the rest of that.
#[test]
fn one_port_counts_who_waits() {
    let mut ports = [router(Order::Fifo, 0), router(Order::Fifo, 0)];
    let all = 128 * UNIT;
    // A task before it has all of both.
    let mut first = of_task(1);
    let mut waits = of_task(2);
    for round in 0..3 {
        for header in [&mut first, &mut waits] {
            let demand =
                if header.task == 1 { all } else { header.nominal().max(u64::from(round == 0) * all) };
            let asked = header.next_request(demand, all);
            let flow = header.task;
            *header = ports.iter_mut().fold(asked, |h, port| pass(port, RTT * round, flow, h)).returned();
        }
    }
    assert_eq!((waits.nominal(), waits.actual()), (0, 0));
    let demand = ports.map(|mut port| port.classifier().total(RTT * 3).demand);
    assert_eq!(demand, [all, 2 * all]);
    assert!(!waits.next_request(0, all).is_held_back_here());
    assert!(BaraatHeader { index: Index::new(1, false), ..waits.next_request(0, all) }.is_held_back_here());
}

/// Tasks of an eighth of the link each that are granted it take part in a heavy task's class, which keeps half of what is its
/// beside one of them.
#[test]
fn light_tasks_beside_a_heavy_one_leave_it_half_of_its_share() {
    let light = (2..10).map(|task| (task, 16));
    let flows = [(1, 128)].into_iter().chain(light).collect::<Vec<_>>();
    let mut flows = Flows::new(Order::FifoLm, 100_000, &flows);
    // Of two flows a half is 64 units, of which the heavy one keeps 32: six have the others, and two wait.
    assert_eq!(flows.rounds(6), [32.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 0.0, 0.0]);
}

/// A collective is at a port for one step, then for the next one: what counts is all that it has had.
#[test]
fn a_task_is_as_heavy_when_it_comes_back_as_when_it_left() {
    let mut classifier = Classifier::new(Order::FifoLm, Bytes::new(1_000_000), REFRESH);
    let mut now = Time::ZERO;
    // 125 KB each time, and other tasks meanwhile.
    let mut step = |classifier: &mut Classifier, task: u32| {
        let held = Held::flow(grains_in(LINK), grains_in(LINK));
        let place = classifier.release(now, (task, task), Epoch::NEVER, Held::default());
        let counted = classifier.count(place, held);
        now += RTT;
        classifier.end(now, (task, task), counted, held);
        now += RTT;
        let place = classifier.release(now, (task, task), Epoch::NEVER, Held::default());
        let heavy = classifier.tasks(now).any(|(key, _, heavy)| key == task && heavy);
        classifier.count(place, Held::flow(0, 0));
        classifier.end(now, (task, task), Epoch::NEVER, Held::default());
        now += REFRESH * 3;
        heavy
    };
    let heavy: Vec<bool> = (0..10)
        .map(|n| {
            step(&mut classifier, 100 + n);
            step(&mut classifier, 7)
        })
        .collect();
    assert_eq!(heavy, [false, false, false, false, false, false, false, false, true, true]);
    // The oldest of too many is forgotten.
    (1_000..1_000 + Classifier::MEMORY as u32).for_each(|task| _ = step(&mut classifier, task));
    assert!(!step(&mut classifier, 7));
}

/// 66 bytes of a request take 528 ns.
#[test]
fn who_waits_asks_less_often_the_more_wait_and_most_often_when_it_is_next() {
    let pause = |ahead: u32, behind: u32| {
        let mut router = router(Order::Fifo, 0);
        for task in (1..=ahead).chain(ahead + 2..ahead + 2 + behind) {
            pass(&mut router, Time::ZERO, task, of_task(task).next_request(128 * UNIT, 128 * UNIT));
        }
        let mut law = law(1 << 30, ahead + 1);
        let answer = pass(&mut router, Time::ZERO, 0, law.probe(Time::ZERO, &VIEW)).returned();
        assert_eq!((answer.nominal(), answer.actual()), (0, 0));
        law.on_feedback(RTT, RTT, &answer, &VIEW);
        assert_eq!(law.allowance().window, Bytes::ZERO);
        law.probe_at().as_secs_f64() / RTT.as_secs_f64() - 1.0
    };
    // Once a round trip they take less than a sixteenth of the link; then each asks after 528 ns · 16 · flows.
    assert_eq!(pause(100, 0), 0.0);
    for (flows, rounds) in [(500, 3.23), (2000, 15.9)] {
        let found = pause(flows, 0);
        assert!((0.0..=0.125).contains(&(rounds - found)), "{found}");
    }
    // Those before it take one, two, five and ten round trips at least, of which the request takes one.
    assert_eq!([1, 2, 5, 10].map(|ahead| pause(ahead, 4000)), [0.0, 1.0, 4.0, 9.0]);
}

/// Ports count unloaded round trips: behind a burst of requests, or of a host that stands still for half a minute, an answer takes many.
#[test]
fn an_answer_that_was_held_up_does_not_make_a_flow_wait_for_longer() {
    let pause = |took: Time| {
        let mut router = router(Order::Fifo, 0);
        for task in 1..=4000 {
            pass(&mut router, Time::ZERO, task, of_task(task).next_request(128 * UNIT, 128 * UNIT));
        }
        let mut law = law(1 << 30, 4001);
        let answer = pass(&mut router, Time::ZERO, 0, law.probe(Time::ZERO, &VIEW)).returned();
        law.on_feedback(took, took, &answer, &VIEW);
        law.probe_at().saturating_sub(took)
    };
    assert!(pause(RTT) > RTT * 20);
    assert_eq!([RTT * 7, Time::from_ms(30_000)].map(pause), [pause(RTT); 2]);
}

/// A first port keeps all of its link for a flow that the second one makes wait. Were that kept for as long as it waits,
/// nobody else would have it.
#[test]
fn who_waits_at_one_port_gives_back_what_another_keeps_before_it_waits() {
    let (mut idle, mut busy) = (router(Order::Fifo, 0), router(Order::Fifo, 0));
    for task in 1..=2000 {
        pass(&mut busy, Time::ZERO, task, of_task(task).next_request(128 * UNIT, 128 * UNIT));
    }
    let mut law = law(1 << 30, 2001);
    let mut ask = |now: Time| {
        let passed = pass(&mut idle, now, 0, law.probe(now, &VIEW));
        law.on_feedback(now + RTT, RTT, &pass(&mut busy, now, 0, passed).returned(), &VIEW);
        (idle.classifier().total(now).allocated / UNIT, law.probe_at().saturating_sub(now + RTT))
    };
    assert_eq!(ask(Time::ZERO), (128, Time::ZERO));
    let (kept, pause) = ask(RTT);
    assert!(kept == 0 && pause > RTT * 7, "{kept} {pause}");
}

/// A link carries three packets in a round trip, and the first task leaves a thousandth of it.
#[test]
fn a_trickle_is_not_worth_a_turn() {
    let rtt = Time::from_us(36);
    let capacity = DrainedLink::new(0.1, Rate::from_bps(LINK), rtt);
    let classifier = Classifier::new(Order::Fifo, Bytes::ZERO, REFRESH);
    let mut router = BaraatRouter::new(capacity, Unused::new(0.0, rtt), classifier, rtt);
    let mut told = |task: u32, demand: Grains| {
        let answer = pass(&mut router, Time::ZERO, task, of_task(task).next_request(demand, demand));
        answer.actual() as f64 / UNIT as f64
    };
    assert_eq!(told(1, 127 * UNIT + UNIT / 2), 127.5);
    assert_eq!(told(2, 128 * UNIT), 0.0);
    assert_eq!(told(2, UNIT / 4), 0.25, "what is all that a flow asks for is worth it");
}
