//! What flows send over three ports, in all, while their headers get lost anywhere.
//!
//! PDQ lets a more critical flow go at once, and whom it overtakes hears of that with its next answer. So at
//! every moment the rates that flows send at add up to the link's at most, but for those of flows that a port
//! has overtaken or told otherwise since they heard of it last. And these are few round trips old: a flow asks
//! a round trip after an answer, so without loss it sends by no answer whose request is older than three; with
//! loss it waits for the next one as long as its patience lasts, and then pauses.

use proptest::prelude::*;
use tailrace_core::random::Stream;
use tailrace_core::{Bytes, CongestionLaw, FlowId, Header, Packet, Rate, Standing, Time};
use tailrace_queues::Router;
use tailrace_transport::{Message, Requests};

use super::tests::{LINK, RTT, VIEW, law, packet, router};
use super::*;

const FLOWS: usize = 12;
const HOPS: usize = 3;
/// The least that a run gives.
const REFRESH: Time = Time::from_us(100 * Requests::MEMORY);

/// The last answer of a port to a flow.
#[derive(Clone, Copy, Default)]
struct PortAnswer {
    rate: u64,
    /// Whether the list was full without the flow.
    unlisted: bool,
    /// Whether it was given to a more critical flow since, of which this one has to hear yet.
    overtaken: bool,
}

struct Flow {
    id: FlowId,
    law: PdqLaw,
    answers: [PortAnswer; HOPS],
    /// When its request left whose answer it obeys.
    asked: Time,
    ends: Time,
}

impl Flow {
    /// What it sends.
    fn rate(&self) -> u64 {
        self.law.allowance().pacing.map_or(0, Rate::as_bps)
    }

    /// What it sends, if the port has not decided otherwise since.
    fn told(&self, hop: usize) -> u64 {
        let PortAnswer { rate, overtaken, .. } = self.answers[hop];
        if overtaken || rate < self.rate() { 0 } else { self.rate() }
    }
}

/// A header on its way: over the ports, back over them, and to its sender.
struct Flying {
    due: Time,
    asked: Time,
    hops: usize,
    packet: Packet<PdqHeader>,
}

struct Chaos {
    now: Time,
    stream: Stream,
    loss: f64,
    list_length: usize,
    routers: Vec<PdqRouter>,
    flows: Vec<Flow>,
    flying: Vec<Flying>,
}

impl Chaos {
    fn new(seed: u64, loss: f64, kappa: u32) -> Self {
        let params = SwitchParams { early_start: 0.0, kappa, ..SwitchParams::default() };
        let mut chaos = Chaos {
            now: Time::ZERO,
            stream: Stream::new(seed, "pdq", 0),
            loss,
            list_length: params.list_length(),
            routers: (0..HOPS as u32).map(|number| router(number, params, REFRESH)).collect(),
            flows: Vec::new(),
            flying: Vec::new(),
        };
        chaos.flows = (0..FLOWS as u32).map(|id| chaos.flow(id)).collect();
        chaos
    }

    fn within(&mut self, us: u32) -> Time {
        self.now + Time::from_us(self.stream.below(us).into())
    }

    fn flow(&mut self, id: FlowId) -> Flow {
        let deadline = self.within(20_000);
        let deadline = (self.stream.below(2) == 0).then_some(deadline);
        let law = law(u64::from(self.stream.below(5_000_000)), deadline);
        Flow { id, law, answers: [PortAnswer::default(); HOPS], asked: self.now, ends: self.within(8_000) }
    }

    /// Whatever is next: a header arrives, a flow asks, or one ends and another begins.
    fn step(&mut self) {
        let arrival = (0..self.flying.len()).min_by_key(|i| self.flying[*i].due);
        let flow = (0..FLOWS).min_by_key(|i| self.flows[*i].law.probe_at().min(self.flows[*i].ends)).unwrap();
        let Flow { law, ends, .. } = &self.flows[flow];
        let acts = law.probe_at().min(*ends).max(self.now);
        if let Some(which) = arrival.filter(|i| self.flying[*i].due <= acts) {
            self.now = self.flying[which].due;
            let flying = self.flying.swap_remove(which);
            if self.stream.unit() >= self.loss {
                self.advance(flying);
            }
        } else {
            self.now = acts;
            if *ends <= acts { self.end(flow) } else { self.ask(flow) }
        }
    }

    fn ask(&mut self, flow: usize) {
        let header = self.flows[flow].law.probe(self.now, &VIEW);
        self.send(Flying {
            due: self.now,
            asked: self.now,
            hops: 0,
            packet: packet(self.flows[flow].id, header),
        });
    }

    fn end(&mut self, flow: usize) {
        let id = self.flows[flow].id;
        if let Some(end) = self.flows[flow].law.farewell(self.now) {
            self.send(Flying { due: self.now, asked: self.now, hops: 0, packet: packet(id, end) });
        }
        self.flows[flow] = self.flow(id + FLOWS as u32);
    }

    /// All seven steps there and back take a round trip at most.
    fn send(&mut self, mut flying: Flying) {
        flying.due += Time::from_ps(u64::from(self.stream.below((RTT.as_ps() / 7) as u32)));
        self.flying.push(flying);
    }

    fn advance(&mut self, mut flying: Flying) {
        let hops = flying.hops;
        if hops < HOPS {
            self.arrive(hops, &mut flying.packet);
        } else if hops < 2 * HOPS {
            if hops == HOPS {
                flying.packet.header = flying.packet.header.returned();
            }
            self.reverse(2 * HOPS - 1 - hops, &mut flying.packet);
        } else if let Some(flow) = self.find(flying.packet.flow) {
            let (this, now) = (&mut self.flows[flow], self.now);
            this.law.on_feedback(now, now.saturating_sub(flying.asked), &flying.packet.header, &VIEW);
            this.asked = flying.asked;
            if this.law.standing() == Standing::Stopped {
                self.end(flow);
            }
            return;
        }
        flying.hops += 1;
        // Ends are not answered.
        if flying.hops < HOPS || flying.packet.header.message != Message::End {
            self.send(flying);
        }
    }

    /// Which flow this is, if it has not ended.
    fn find(&self, id: FlowId) -> Option<usize> {
        self.flows.iter().position(|flow| flow.id == id)
    }

    fn arrive(&mut self, hop: usize, packet: &mut Packet<PdqHeader>) {
        self.routers[hop].on_arrival(self.now, packet, Bytes::ZERO);
        if packet.header.message == Message::Request {
            self.note(hop, packet, true);
        }
    }

    fn reverse(&mut self, hop: usize, packet: &mut Packet<PdqHeader>) {
        let agreed = self.routers[hop].agrees(packet.flow);
        self.routers[hop].on_reverse(self.now, packet);
        self.note(hop, packet, !agreed && packet.header.paused_by == 0);
    }

    /// Writes down what the port has said, which it has `decided` just now, or before. Who is given more than before overtakes whoever is behind on the
    /// list, or had no place on it: not whoever should be on it and is not.
    fn note(&mut self, hop: usize, packet: &Packet<PdqHeader>, decided: bool) {
        let list: Vec<FlowId> = self.routers[hop].grants().map(|(id, _)| id).collect();
        let full = list.len() == self.list_length;
        for Flow { id, answers, .. } in &mut self.flows {
            answers[hop].unlisted |= full && !list.contains(id);
        }
        let Some(flow) = self.find(packet.flow) else { return };
        let header = &packet.header;
        let rate = if header.paused_by == 0 { header.rate.bps() } else { 0 };
        let sends = self.flows[flow].told(hop);
        let answer = &mut self.flows[flow].answers[hop];
        let unlisted = !list.contains(&packet.flow);
        *answer = PortAnswer { rate, unlisted, overtaken: answer.overtaken && !decided };
        if decided && rate > sends {
            let behind: Vec<FlowId> =
                list.iter().copied().skip_while(|id| *id != packet.flow).skip(1).collect();
            for Flow { id, answers, .. } in self.flows.iter_mut().filter(|flow| flow.id != packet.flow) {
                answers[hop].overtaken |= answers[hop].unlisted || behind.contains(id);
            }
        }
    }

    /// The bound of the module's text, now.
    fn check(&self) -> Result<(), TestCaseError> {
        for hop in 0..HOPS {
            let rates: Vec<u64> = self.flows.iter().map(|flow| flow.told(hop)).collect();
            prop_assert!(rates.iter().sum::<u64>() <= LINK.as_bps(), "{rates:?} at {hop}, {}", self.now);
        }
        // A round trip to the answer, another to the next request, and then to its answer, or none.
        let patience = if self.loss == 0.0 { 1 } else { Requests::PATIENCE };
        for flow in self.flows.iter().filter(|flow| flow.rate() > 0) {
            let age = self.now.saturating_sub(flow.asked);
            prop_assert!(age <= RTT * (2 + patience), "sends by an answer asked for {age} ago");
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(tailrace_cases::cases(256))]

    #[test]
    fn no_loss_lets_flows_send_more_than_the_link_for_long_or_leaves_any(
        seed: u64,
        loss in prop::sample::select(vec![0.0, 0.02, 0.1, 0.3]),
        kappa in prop::sample::select(vec![2, 100]),
    ) {
        let mut chaos = Chaos::new(seed, loss, kappa);
        for _ in 0..10_000 {
            chaos.step();
            chaos.check()?;
            let longest = chaos.routers.iter().map(|router| router.grants().count()).max();
            prop_assert!(longest <= Some(2 * kappa as usize));
        }
        for router in &mut chaos.routers {
            router.control(chaos.now + REFRESH * 20, Bytes::ZERO);
            prop_assert_eq!(router.grants().count(), 0);
        }
    }
}
