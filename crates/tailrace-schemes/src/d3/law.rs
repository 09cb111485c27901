//! D3's sender: asks for what its deadline needs, sends at what is allocated (D3 §4.1, §4.4).

use tailrace_core::transport::TransportParams;
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, FlowInfo, FlowView, HEADER_BYTES, Header, Loss, Rate,
    Segment, Standing, Time,
};
use tailrace_transport::{Ask, Message, Requests, WireRate};

use super::header::D3Header;

/// One flow.
#[derive(Clone, Copy, Debug)]
pub struct D3Law {
    requests: Requests<D3Header>,
    /// Size and deadline, if both are known.
    aim: Option<(Bytes, Time)>,
    transport: TransportParams,
    nic: Rate,
    /// What ports have counted of this flow: the last answer.
    answer: D3Header,
    pacing: Rate,
    stopped: bool,
}

impl D3Law {
    /// The law of a flow whose host's link has rate `nic`.
    pub fn new(flow: &FlowInfo, nic: Rate, base_rtt: Time, transport: &TransportParams) -> Self {
        D3Law {
            requests: Requests::new(base_rtt),
            aim: flow.size.zip(flow.deadline),
            transport: *transport,
            nic,
            answer: D3Header::NONE,
            pacing: nic,
            stopped: false,
        }
    }

    /// Bits on the wire of all that was never sent.
    fn unsent_bits(&self, size: Bytes, flow: &FlowView) -> f64 {
        let mss = f64::from(self.transport.mss);
        size.saturating_sub(flow.sent).as_f64() * 8.0 * (mss + f64::from(HEADER_BYTES)) / mss
    }

    /// The rate that meets the deadline: what is left, by the time that is left once the answer is here and
    /// what leaves then has arrived. Until then a flow in progress goes on at the old rate.
    fn desired(&self, now: Time, ask: Ask, flow: &FlowView) -> WireRate {
        let Some((size, deadline)) = self.aim else { return WireRate::ZERO };
        let half_rtt = self.requests.rtt().as_secs_f64() / 2.0;
        let lead = if ask == Ask::Open { 3.0 * half_rtt } else { half_rtt };
        let left = deadline.saturating_sub(now).as_secs_f64() - lead;
        let bits = self.unsent_bits(size, flow);
        let nic = self.nic.as_bps() as f64;
        let rate = if bits < nic * left { bits / left } else { nic };
        WireRate::at_least(if bits > 0.0 { rate as u64 } else { 0 })
    }

    /// Gives up what cannot be in time any more (D3 §4.4, quenching).
    fn check(&mut self, now: Time, flow: &FlowView) {
        if let Some((size, deadline)) = self.aim {
            let left = deadline.saturating_sub(now).as_secs_f64();
            self.stopped |= left == 0.0 || self.unsent_bits(size, flow) > self.nic.as_bps() as f64 * left;
        }
    }

    /// One segment a round trip, whatever is allocated; ports do not count it.
    fn base_rate(&self) -> Rate {
        let segment = self.transport.mss + HEADER_BYTES + D3Header::WIRE_BYTES;
        Rate::from_bps((f64::from(segment) * 8.0 / self.requests.rtt().as_secs_f64()) as u64 + 1)
    }

    fn ask(&mut self, now: Time, flow: &FlowView) -> D3Header {
        let ask = self.requests.ask(now);
        if ask == Ask::Again {
            // What ports have counted for this flow is not known.
            self.answer = D3Header::NONE;
            self.pacing = self.base_rate();
        }
        let desired = self.desired(now, ask, flow);
        let last = self.answer;
        D3Header { message: Message::Request, hop: 0, desired, desired_before: last.desired, ..last }
    }
}

impl CongestionLaw<D3Header> for D3Law {
    #[inline]
    fn stamp(&mut self, now: Time, segment: &Segment, flow: &FlowView) -> D3Header {
        let header = match self.requests.taken_back() {
            Some(end) => end,
            None if self.requests.wanted(now) => self.ask(now, flow),
            None => D3Header::NONE,
        };
        if segment.last {
            self.requests.rest();
        }
        header
    }
    #[inline]
    fn on_feedback(&mut self, now: Time, rtt: Time, echo: &D3Header, flow: &FlowView) {
        self.requests.sample(rtt);
        if echo.message == Message::Answer && !self.requests.awaits(now, rtt) {
            self.requests.take_back(echo.farewell());
        } else if echo.message == Message::Answer {
            let rtt = self.requests.rtt();
            self.requests.answered(now, rtt);
            self.answer = *echo;
            self.pacing = echo.granted().rate().max(self.base_rate());
            self.check(now, flow);
        }
    }
    fn on_ack(&mut self, _: &AckSample, _: &FlowView) {}
    fn on_loss(&mut self, now: Time, _: Loss, flow: &FlowView) {
        self.check(now, flow);
        self.requests.resume(now);
    }
    #[inline]
    fn allowance(&self) -> Allowance {
        let segments = if self.requests.is_open() { self.transport.max_window } else { 0 };
        let window = Bytes::new(u64::from(segments) * u64::from(self.transport.mss));
        Allowance { window, pacing: Some(self.pacing) }
    }
    #[inline]
    fn probe_at(&self) -> Time {
        self.requests.due()
    }
    fn probe(&mut self, now: Time, flow: &FlowView) -> D3Header {
        self.requests.taken_back().unwrap_or_else(|| self.ask(now, flow))
    }
    /// What a request under way has moved, its flow's end must not take again: it is forgotten in time.
    fn farewell(&mut self, _: Time) -> Option<D3Header> {
        let known = if self.requests.is_waiting() { D3Header::NONE } else { self.answer };
        Some(known.farewell())
    }
    fn standing(&self) -> Standing {
        if self.stopped { Standing::Stopped } else { Standing::Going }
    }
}
