//! The router and the law without a network.

use proptest::prelude::*;
use tailrace_core::random::Stream;
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Bytes, CongestionLaw, FlowInfo, FlowView, Header, Packet, PacketKind, Rate, Standing, Time,
};
use tailrace_queues::{Epoch, Router};
use tailrace_transport::{Message, WireRate};

use super::*;

const RTT: Time = Time::from_us(100);
const REFRESH: Time = Time::from_ms(1);
const LINK: u64 = 10_000_000_000;

fn router() -> D3Router {
    let capacity = VirtualCapacity::new(&CapacityParams::default(), Rate::from_bps(LINK), RTT);
    D3Router::new(capacity, REFRESH)
}

fn pass(router: &mut D3Router, now: Time, header: D3Header) -> D3Header {
    let mut packet = Packet { bytes: 64, header, ..Packet::EMPTY };
    router.on_arrival(now, &mut packet, Bytes::ZERO);
    packet.header
}

/// Lets flows ask for these shares of the link in order, a few rounds; returns the shares they end up with.
fn arbitrate(shares: &[f64]) -> Vec<f64> {
    let mut router = router();
    let mut answers = vec![D3Header::NONE; shares.len()];
    for round in 0..3 {
        for (answer, share) in answers.iter_mut().zip(shares) {
            let request = D3Header {
                message: Message::Request,
                hop: 0,
                desired: WireRate::at_least((share * LINK as f64) as u64),
                desired_before: answer.desired,
                ..*answer
            };
            *answer = pass(&mut router, RTT * round, request);
        }
    }
    answers.iter().map(|answer| answer.granted().bps() as f64 / LINK as f64).collect()
}

fn assert_shares(measured: &[f64], expected: &[f64]) {
    let alike = measured.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.002);
    assert!(alike && measured.len() == expected.len(), "{measured:?}, not {expected:?}");
}

#[test]
fn the_third_of_three_demands_of_40_percent_gets_what_is_left() {
    assert_shares(&arbitrate(&[0.4, 0.4, 0.4]), &[0.4, 0.4, 0.2]);
}

#[test]
fn what_no_deadline_needs_is_shared_alike() {
    // 20 % and 20 % desired leave 60 %: 20 % for each of three.
    assert_shares(&arbitrate(&[0.2, 0.2, 0.0]), &[0.4, 0.4, 0.2]);
    assert_shares(&arbitrate(&[0.0, 0.0, 0.0, 0.0]), &[0.25; 4]);
}

#[test]
fn the_first_to_ask_keeps_its_rate_against_whoever_asks_later() {
    assert_shares(&arbitrate(&[0.8, 0.6]), &[0.8, 0.2]);
    assert_shares(&arbitrate(&[1.0, 1.0]), &[1.0, 0.0]);
}

#[test]
fn a_seventh_port_gives_no_more_than_it_has_left() {
    let mut routers: Vec<D3Router> = (0..8).map(|_| router()).collect();
    let taker = D3Header { message: Message::Request, desired: WireRate::at_least(LINK), ..D3Header::NONE };
    pass(&mut routers[7], Time::ZERO, D3Header { desired: WireRate::at_least(LINK * 3 / 4), ..taker });
    let all = routers.iter_mut().fold(taker, |header, router| pass(router, RTT, header));
    assert_eq!(all.hop, 6);
    // The flow at the last port desired 75 % and got what was spare as well, but for rounding.
    assert!(all.granted().bps() < LINK / 1000, "{all:?}");
    assert_eq!(routers[6].held(RTT), Held::default());
}

#[test]
fn a_flow_that_ends_leaves_nothing() {
    let mut router = router();
    let request =
        D3Header { message: Message::Request, desired: WireRate::at_least(1 << 30), ..D3Header::NONE };
    let answer = pass(&mut router, Time::ZERO, request);
    assert_eq!(router.held(RTT).flows, 1);
    let end = D3Header { message: Message::End, hop: 0, desired_before: answer.desired, ..answer };
    pass(&mut router, RTT, end);
    assert_eq!(router.held(RTT), Held::default());
}

const VIEW: FlowView = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };

fn law(size: u64, deadline: Time) -> D3Law {
    let info = FlowInfo {
        id: 0,
        src: 0,
        dst: 1,
        size: Some(Bytes::new(size)),
        start: Time::ZERO,
        deadline: Some(deadline),
        slice: 0,
        task: 0,
    };
    D3Law::new(&info, Rate::from_bps(LINK), RTT, &TransportParams::default())
}

#[test]
fn the_first_request_counts_on_a_round_trip_and_a_half_without_data() {
    // 1 MB in 1 ms, of which 850 µs are left for data.
    let desired = law(1_000_000, Time::from_ms(1)).probe(Time::ZERO, &VIEW).desired.bps();
    let expected = 8e6 * 1500.0 / 1460.0 / 850e-6;
    assert!((desired as f64 / expected - 1.0).abs() < 0.001, "{desired}");
}

#[test]
fn without_deadline_nothing_is_desired() {
    let info = FlowInfo {
        id: 0,
        src: 0,
        dst: 1,
        size: Some(Bytes::new(1 << 20)),
        start: Time::ZERO,
        deadline: None,
        slice: 0,
        task: 0,
    };
    let mut law = D3Law::new(&info, Rate::from_bps(LINK), RTT, &TransportParams::default());
    assert_eq!(law.probe(Time::ZERO, &VIEW).desired, WireRate::ZERO);
}

/// Counted twice, a flow would keep its rate from others until the port forgets it.
#[test]
fn a_request_that_was_late_and_not_lost_is_taken_back() {
    let (mut router, mut law) = (router(), law(1_000_000, Time::from_ms(40)));
    let asked = pass(&mut router, Time::ZERO, law.probe(Time::ZERO, &VIEW));
    let again = law.probe_at();
    pass(&mut router, again, law.probe(again, &VIEW));
    let late = again + RTT;
    assert_eq!(router.held(late).flows, 2);
    law.on_feedback(late, late, &asked.returned(), &VIEW);
    pass(&mut router, late, law.probe(late, &VIEW));
    assert_eq!(router.held(late).flows, 1);
    assert!(law.probe_at() > late, "the request under way is still waited for");
}

#[test]
fn a_hopeless_flow_is_given_up() {
    let mut law = law(2_000_000, Time::from_ms(2));
    let answer_at = |law: &mut D3Law, now: Time| {
        let request = law.probe(now.saturating_sub(RTT), &VIEW);
        law.on_feedback(now, RTT, &D3Header { hop: 1, ..request }.returned(), &VIEW);
    };
    answer_at(&mut law, Time::from_us(300));
    assert_eq!(law.standing(), Standing::Going);
    // 2 MB take 1.64 ms with their headers.
    answer_at(&mut law, Time::from_us(400));
    assert_eq!(law.standing(), Standing::Stopped);
}

#[test]
fn nothing_but_the_request_leaves_before_its_answer_and_a_segment_a_round_trip_always_after() {
    let mut law = law(1_000_000, Time::from_ms(100));
    let syn = law.probe(Time::ZERO, &VIEW);
    assert_eq!(law.allowance().window, Bytes::ZERO);
    law.on_feedback(RTT, RTT, &D3Header { hop: 3, ..syn }.returned(), &VIEW);
    let allowance = law.allowance();
    assert!(allowance.window > Bytes::ZERO);
    // Nothing was allocated: 1524 bytes in 100 µs.
    assert_eq!(allowance.pacing, Some(Rate::from_bps(121_920_001)));
}

/// A header on its way through the routers, and whose it is.
struct Flying {
    flow: usize,
    life: u32,
    asked: Time,
    header: D3Header,
    hops: usize,
}

/// Flows that come and go over three routers; headers overtake each other and get lost anywhere.
struct Chaos {
    now: Time,
    stream: Stream,
    loss: f64,
    routers: Vec<D3Router>,
    laws: Vec<D3Law>,
    lives: Vec<u32>,
    /// What each router gave each flow last, and when.
    given: Vec<[(u64, Time); 3]>,
    flying: Vec<Flying>,
}

impl Chaos {
    const FLOWS: usize = 12;

    fn new(seed: u64, loss: f64) -> Self {
        let laws = (0..Self::FLOWS).map(|i| law(500_000 * i as u64 + 1, Time::from_ms(40))).collect();
        Chaos {
            now: Time::ZERO,
            stream: Stream::new(seed, "d3", 0),
            loss,
            routers: (0..3).map(|_| router()).collect(),
            laws,
            lives: vec![0; Self::FLOWS],
            given: vec![[(0, Time::ZERO); 3]; Self::FLOWS],
            flying: Vec::new(),
        }
    }

    fn step(&mut self) {
        self.now += Time::from_us(u64::from(self.stream.below(6)));
        if !self.flying.is_empty() && self.stream.below(4) > 0 {
            let which = self.stream.below(self.flying.len() as u32) as usize;
            return self.advance(which);
        }
        let flow = self.stream.below(Self::FLOWS as u32) as usize;
        let law = &mut self.laws[flow];
        let (message, life) = if self.stream.below(60) == 0 {
            let end = law.farewell(self.now);
            let size = u64::from(self.stream.below(5_000_000));
            *law = self::law(size, self.now + Time::from_ms(10));
            self.lives[flow] += 1;
            self.given[flow] = [(0, Time::ZERO); 3];
            (end, self.lives[flow] - 1)
        } else if law.probe_at() <= self.now {
            (Some(law.probe(self.now, &VIEW)), self.lives[flow])
        } else {
            return;
        };
        let asked = self.now;
        self.flying.extend(message.map(|header| Flying { flow, life, asked, header, hops: 0 }));
    }

    /// A header reaches the next router, or its sender again, or gets lost.
    fn advance(&mut self, which: usize) {
        if self.stream.unit() < self.loss {
            self.flying.swap_remove(which);
            return;
        }
        let flying = &mut self.flying[which];
        let (flow, hop) = (flying.flow, flying.hops);
        if hop < 3 {
            flying.header = pass(&mut self.routers[hop], self.now, flying.header);
            flying.hops += 1;
            if flying.header.message == Message::Request && flying.life == self.lives[flow] {
                self.given[flow][hop] = (flying.header.allocated[hop].bps(), self.now);
            }
            return;
        }
        let Flying { flow, life, asked, header, .. } = self.flying.swap_remove(which);
        if life == self.lives[flow] {
            self.laws[flow].on_feedback(self.now, self.now.saturating_sub(asked), &header.returned(), &VIEW);
        }
    }

    /// What flows hold that were heard of within an epoch is counted, and no more than the link is given away.
    fn check(&mut self) -> Result<(), TestCaseError> {
        for hop in 0..3 {
            let held = self.routers[hop].held(self.now);
            let fresh = |(_, at): &&(u64, Time)| self.now.saturating_sub(*at) < REFRESH;
            let given: u64 = self.given.iter().map(|g| &g[hop]).filter(fresh).map(|g| g.0).sum();
            prop_assert!(given <= held.allocated, "given {given}, counted {}", held.allocated);
            prop_assert!(held.allocated <= LINK, "counted {} at hop {hop}", held.allocated);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(tailrace_cases::cases(48))]

    #[test]
    fn no_loss_gives_more_than_the_link_or_leaves_anything(seed: u64, loss in 0.0f64..0.4) {
        let mut chaos = Chaos::new(seed, loss);
        for _ in 0..4_000 {
            chaos.step();
            chaos.check()?;
        }
        for router in &mut chaos.routers {
            prop_assert_eq!(router.held(chaos.now + REFRESH * 2), Held::default());
        }
    }

    #[test]
    fn what_is_encoded_is_decoded(raw: [u8; 22], message in 1u8..4, hop in 0u8..=6) {
        let mut whole = [0; 24];
        whole[2..].copy_from_slice(&raw);
        (whole[0], whole[1]) = (message, hop);
        let header = D3Header::decode(&whole).unwrap();
        let mut again = [0xAA; 24];
        header.encode(&mut again);
        prop_assert_eq!(again, whole);
    }
}

#[test]
fn what_is_no_header_is_not_read() {
    assert_eq!(D3Header::decode(&[1; 23]), None);
    assert_eq!(D3Header::decode(&[0; 24]), None);
    assert_eq!(D3Header::decode(&[7; 24]), None);
    assert_eq!(size_of::<D3Header>(), 24);
    assert_eq!(D3Header::NONE.counted[0], Epoch::NEVER);
    assert_eq!(Packet::<D3Header>::EMPTY.kind(), PacketKind::Data);
}
