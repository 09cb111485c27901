//! RCP's sender: paces at the rate that came back last.

use tailrace_core::transport::TransportParams;
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, FlowView, Header, Loss, Rate, Segment, Time,
};
use tailrace_transport::{Ask, Message, Requests, WireRate};

use super::header::RcpHeader;

/// One flow.
#[derive(Clone, Copy, Debug)]
pub struct RcpLaw {
    requests: Requests<RcpHeader>,
    window: Bytes,
    nic: Rate,
    pacing: Rate,
    /// What ports have counted: the last answer to a header that counts.
    answer: RcpHeader,
}

impl RcpLaw {
    /// The law of a flow whose host's link has rate `nic`.
    pub fn new(nic: Rate, base_rtt: Time, transport: &TransportParams) -> Self {
        RcpLaw {
            requests: Requests::new(base_rtt),
            window: Bytes::new(u64::from(transport.max_window) * u64::from(transport.mss)),
            nic,
            pacing: nic,
            answer: RcpHeader::NONE,
        }
    }

    /// The header of every data packet: how much at most, and how far away.
    fn header(&self) -> RcpHeader {
        let rtt = if self.requests.is_open() { self.requests.rtt().as_ns() } else { 0 };
        RcpHeader {
            message: Message::Request,
            rate: WireRate::at_least(self.nic.as_bps()),
            rtt_ns: rtt.try_into().unwrap_or(u32::MAX),
            ..RcpHeader::NONE
        }
    }

    fn ask(&mut self, now: Time) -> RcpHeader {
        if self.requests.ask(now) == Ask::Again {
            self.answer = RcpHeader::NONE;
        }
        let RcpHeader { rate, rate_of, counted, held, .. } = self.answer;
        let limit = if self.answer.counts { rate } else { WireRate::MAX };
        RcpHeader { counts: true, limit, limit_of: rate_of, counted, held, ..self.header() }
    }
}

impl CongestionLaw<RcpHeader> for RcpLaw {
    #[inline]
    fn stamp(&mut self, now: Time, segment: &Segment, _: &FlowView) -> RcpHeader {
        let header = match self.requests.taken_back() {
            Some(end) => end,
            None if self.requests.wanted(now) => self.ask(now),
            None => self.header(),
        };
        if segment.last {
            self.requests.rest();
        }
        header
    }
    #[inline]
    fn on_feedback(&mut self, now: Time, rtt: Time, echo: &RcpHeader, _: &FlowView) {
        self.requests.sample(rtt);
        if echo.message == Message::Answer {
            // Routers that count grant more in the answer to a header that counts: between these rates only fall.
            let may_rise = echo.counts || self.answer.hop == 0;
            let rate = Rate::from_bps(echo.rate.bps().max(1));
            self.pacing = if may_rise { rate } else { rate.min(self.pacing) };
            if echo.counts && !self.requests.awaits(now, rtt) {
                self.requests.take_back(echo.farewell());
            } else if echo.counts {
                let rtt = self.requests.rtt();
                self.requests.answered(now, rtt);
                self.answer = *echo;
            }
        }
    }
    fn on_ack(&mut self, _: &AckSample, _: &FlowView) {}
    /// The rate is the routers' business, and they see their queues.
    fn on_loss(&mut self, now: Time, _: Loss, _: &FlowView) {
        self.requests.resume(now);
    }
    #[inline]
    fn allowance(&self) -> Allowance {
        let window = if self.requests.is_open() { self.window } else { Bytes::ZERO };
        Allowance { window, pacing: Some(self.pacing) }
    }
    #[inline]
    fn probe_at(&self) -> Time {
        self.requests.due()
    }
    fn probe(&mut self, now: Time, _: &FlowView) -> RcpHeader {
        self.requests.taken_back().unwrap_or_else(|| self.ask(now))
    }
    /// What a request under way has moved, its flow's end must not take again: it is forgotten in time.
    fn farewell(&mut self, _: Time) -> Option<RcpHeader> {
        let known = if self.requests.is_waiting() { RcpHeader::NONE } else { self.answer };
        Some(known.farewell())
    }
}
