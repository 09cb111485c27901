//! The routers and the law without a network.

use proptest::prelude::*;
use tailrace_core::random::Stream;
use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, CongestionLaw, FlowView, Header, Packet, Rate, Time};
use tailrace_queues::{DrainedLink, Router};
use tailrace_transport::Message;

use super::*;

pub(super) const RTT: Time = Time::from_us(100);
const REFRESH: Time = Time::from_ms(1);
pub(super) const LINK: Rate = Rate::from_gbps(10);
pub(super) const VIEW: FlowView = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };

pub(super) fn law() -> RcpLaw {
    RcpLaw::new(LINK, RTT, &TransportParams::default())
}

fn exact() -> RcpRouter {
    RcpRouter::Exact(Exact::new(DrainedLink::new(0.4, LINK, RTT), LINK, REFRESH))
}

fn counted(router: &mut RcpRouter, now: Time) -> u32 {
    match router {
        RcpRouter::Exact(exact) => exact.flows(now),
        RcpRouter::Estimated(_) => panic!("counts no flows"),
    }
}

pub(super) fn pass(router: &mut RcpRouter, now: Time, header: RcpHeader) -> RcpHeader {
    let mut packet = Packet { bytes: 54, header, ..Packet::EMPTY };
    router.on_arrival(now, &mut packet, Bytes::ZERO);
    packet.header
}

/// A round trip in which so many bytes arrive, then a queue.
fn round(fair: &mut FairRate, now: Time, packets: u64, rtt: Time, queue: u64) -> f64 {
    for _ in 0..packets {
        fair.arrive(now, 1250, Some(rtt.as_ns() as u32), Bytes::ZERO);
    }
    fair.arrive(now + RTT, 0, None, Bytes::new(queue));
    fair.bps() as f64 / LINK.as_bps() as f64
}

#[test]
fn the_rate_moves_as_the_equation_says() {
    let mut fair = FairRate::new(&RateParams::default(), LINK, RTT);
    // Half of the link used, no queue: 0.05·(1 + 0.4·0.5).
    assert!((round(&mut fair, Time::ZERO, 50, RTT, 0) - 0.06).abs() < 1e-6);
    // All used, and a queue of half a round trip: 0.06·(1 − 0.4·0.5).
    assert!((round(&mut fair, RTT, 100, RTT, 62_500) - 0.048).abs() < 1e-6);
    // All used, no queue: it stays.
    assert!((round(&mut fair, RTT * 2, 100, RTT, 0) - 0.048).abs() < 1e-6);
}

#[test]
fn an_idle_link_returns_to_its_whole_rate() {
    let mut fair = FairRate::new(&RateParams::default(), LINK, RTT);
    round(&mut fair, Time::ZERO, 100, RTT, 0);
    fair.arrive(Time::from_ms(5), 1500, None, Bytes::ZERO);
    assert_eq!(fair.bps(), LINK.as_bps());
}

#[test]
fn the_lowest_router_of_the_way_decides() {
    let mut routers = [exact(), exact(), exact()];
    let other = pass(&mut routers[1], Time::ZERO, law().probe(Time::ZERO, &VIEW));
    assert!((other.rate.bps() as f64 / 1e10 - 1.0).abs() < 0.001);
    let mut flow = law();
    let syn = flow.probe(Time::ZERO, &VIEW);
    let header = routers.iter_mut().fold(syn, |header, router| pass(router, RTT, header));
    assert!((header.rate.bps() as f64 / 5e9 - 1.0).abs() < 0.001, "{header:?}");
    assert_eq!(flow.allowance().window, Bytes::ZERO);
    flow.on_feedback(RTT, RTT, &header.returned(), &VIEW);
    assert_eq!(flow.allowance().pacing, Some(header.rate.rate()));
    assert!(flow.allowance().window > Bytes::ZERO);
}

/// Counted twice, a flow would have a share for two until the port forgets it.
#[test]
fn a_request_that_was_late_and_not_lost_is_taken_back() {
    let (mut router, mut law) = (exact(), law());
    let asked = pass(&mut router, Time::ZERO, law.probe(Time::ZERO, &VIEW));
    let again = law.probe_at();
    pass(&mut router, again, law.probe(again, &VIEW));
    let late = again + RTT;
    assert_eq!(counted(&mut router, late), 2);
    law.on_feedback(late, late, &asked.returned(), &VIEW);
    pass(&mut router, late, law.probe(late, &VIEW));
    assert_eq!(counted(&mut router, late), 1);
    assert!(law.probe_at() > late, "the request under way is still waited for");
}

/// Flows that ask, end and lose their headers anywhere on the way through one exact router and back.
struct Chaos {
    now: Time,
    router: RcpRouter,
    laws: [RcpLaw; 10],
    /// When the router heard last of each flow, and gave the answer that it has.
    heard: [Option<Time>; 10],
    told: [Option<Time>; 10],
    /// When a flow was counted last that was not before.
    joined: Time,
}

impl Chaos {
    fn is_counted(&self, flow: usize) -> bool {
        self.heard[flow].is_some_and(|at| self.now.saturating_sub(at) < REFRESH)
    }

    fn step(&mut self, stream: &mut Stream, loss: f64) {
        self.now += Time::from_us(u64::from(1 + stream.below(9)));
        let (now, flow) = (self.now, stream.below(10) as usize);
        if stream.below(100) == 0 {
            let end = self.laws[flow].farewell(now).filter(|_| stream.unit() >= loss);
            end.map(|header| pass(&mut self.router, now, header));
            (self.laws[flow], self.heard[flow], self.told[flow]) = (law(), None, None);
        } else if self.laws[flow].probe_at() <= now {
            let request = self.laws[flow].probe(now, &VIEW);
            if stream.unit() >= loss {
                let answer = pass(&mut self.router, now, request).returned();
                if !self.is_counted(flow) {
                    self.joined = now;
                }
                self.heard[flow] = Some(now);
                if stream.unit() >= loss {
                    self.laws[flow].on_feedback(now, Time::ZERO, &answer, &VIEW);
                    self.told[flow] = Some(now);
                }
            }
        }
    }

    /// The router counts all that it heard of within an epoch, so that R = C_v/N, which a flow has from its next
    /// answer on, adds up to the link at most: only who has had none since another joined sends more.
    fn check(&mut self) -> Result<(), TestCaseError> {
        let active: Vec<usize> = (0..10).filter(|flow| self.is_counted(*flow)).collect();
        let counted = counted(&mut self.router, self.now);
        prop_assert!(counted as usize >= active.len(), "{active:?} at {}, counted {counted}", self.now);
        let rates = active.iter().filter(|flow| self.told[**flow] >= Some(self.joined));
        let sum: u64 = rates.filter_map(|flow| self.laws[*flow].allowance().pacing).map(Rate::as_bps).sum();
        prop_assert!(sum <= LINK.as_bps(), "{sum} bit/s at {}", self.now);
        Ok(())
    }
}

fn lossy(seed: u64, loss: f64) -> Result<(), TestCaseError> {
    let mut stream = Stream::new(seed, "rcp", 0);
    let mut chaos = Chaos {
        now: Time::ZERO,
        router: exact(),
        laws: [law(); 10],
        heard: [None; 10],
        told: [None; 10],
        joined: Time::ZERO,
    };
    for _ in 0..5_000 {
        chaos.step(&mut stream, loss);
        chaos.check()?;
    }
    prop_assert_eq!(counted(&mut chaos.router, chaos.now + REFRESH * 2), 0);
    Ok(())
}

/// The rates that no flow can exceed without taking from one that has less or as much: the tightest link shares
/// what it has left among those that are not settled, until all are.
fn max_min(links: &[f64], ways: &[Vec<usize>]) -> Vec<f64> {
    let mut rates = vec![None; ways.len()];
    while rates.contains(&None) {
        let share = |link: usize| {
            let over = |flow: &usize| ways[*flow].contains(&link);
            let (settled, open): (Vec<usize>, Vec<usize>) =
                (0..ways.len()).filter(over).partition(|flow| rates[*flow].is_some());
            let left = links[link] - settled.iter().filter_map(|flow| rates[*flow]).sum::<f64>();
            (left / open.len() as f64, link, open)
        };
        let open = (0..links.len()).map(share).filter(|(_, _, open)| !open.is_empty());
        let (rate, _, flows) = open.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        flows.into_iter().for_each(|flow| rates[flow] = Some(rate));
    }
    rates.into_iter().flatten().collect()
}

fn any_network() -> impl Strategy<Value = (Vec<u64>, Vec<Vec<usize>>)> {
    (1usize..5).prop_flat_map(|links| {
        let way = prop::collection::btree_set(0..links, 1..=links).prop_map(Vec::from_iter);
        (prop::collection::vec(1u64..=10, links), prop::collection::vec(way, 1..12))
    })
}

/// Rates settle within some rounds, and stay for some more.
fn become_max_min_fair(gbps: &[u64], ways: &[Vec<usize>]) -> Result<(), TestCaseError> {
    let router = |gbps: &u64| {
        let link = Rate::from_gbps(*gbps);
        RcpRouter::Exact(Exact::new(DrainedLink::new(0.4, link, RTT), link, REFRESH))
    };
    let mut routers: Vec<RcpRouter> = gbps.iter().map(router).collect();
    let mut flows = vec![law(); ways.len()];
    let links: Vec<f64> = gbps.iter().map(|gbps| *gbps as f64 * 1e9).collect();
    let expected = max_min(&links, ways);
    for round in 0..110 {
        for (flow, way) in flows.iter_mut().zip(ways) {
            let now = RTT * 2 * round;
            let request = flow.probe(now, &VIEW);
            let answer = way.iter().fold(request, |header, link| pass(&mut routers[*link], now, header));
            flow.on_feedback(now + RTT, RTT, &answer.returned(), &VIEW);
        }
        for (flow, expected) in flows.iter().zip(&expected).filter(|_| round >= 100) {
            let rate = flow.allowance().pacing.unwrap().as_bps() as f64;
            prop_assert!((rate / expected - 1.0).abs() < 0.02, "{rate} not {expected} in round {round}");
        }
    }
    Ok(())
}

/// The third flow has as much of the first link as of the second.
#[test]
fn exact_rates_settle_where_two_links_limit_a_flow_alike() {
    let ways =
        [&[0, 2][..], &[0, 2], &[0, 1], &[0, 2], &[1, 2], &[0], &[1, 2], &[0, 2]].map(<[usize]>::to_vec);
    become_max_min_fair(&[8, 4, 4], &ways).unwrap();
}

proptest! {
    #![proptest_config(tailrace_cases::cases(48))]

    #[test]
    fn no_loss_makes_the_router_count_too_few_and_grant_too_much_or_leaves_any(seed: u64, loss in 0.0f64..0.4) {
        lossy(seed, loss)?;
    }

    /// `C/N` of all flows leaves idle what those cannot use that get less elsewhere.
    #[test]
    fn exact_rates_over_any_links_become_max_min_fair((gbps, ways) in any_network()) {
        become_max_min_fair(&gbps, &ways)?;
    }

    #[test]
    fn what_is_encoded_is_decoded(
        message in prop::sample::select(vec![Message::Request, Message::End, Message::Answer]),
        raw in prop::collection::vec(any::<u8>(), usize::from(RcpHeader::WIRE_BYTES)),
        counts: bool,
        hop in 0u8..=6,
    ) {
        let mut raw = raw;
        (raw[0], raw[1]) = (message as u8 | if counts { 0x80 } else { 0 }, hop);
        let header = RcpHeader::decode(&raw).unwrap();
        prop_assert_eq!((header.message, header.counts), (message, counts));
        let mut again = raw.clone();
        again[..usize::from(header.wire_bytes())].fill(0xAA);
        header.encode(&mut again);
        prop_assert_eq!(&again, &raw);
        prop_assert_eq!(RcpHeader::decode(&raw[..usize::from(header.wire_bytes()) - 1]), None);
    }
}
