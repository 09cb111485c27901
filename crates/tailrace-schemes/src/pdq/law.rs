//! PDQ's sender: sends at the granted rate, probes while it is paused, gives up what cannot be in time
//! (PDQ §3.2).

use tailrace_core::transport::TransportParams;
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, FlowInfo, FlowView, HEADER_BYTES, Header, Loss, Rate,
    Segment, Standing, Time,
};
use tailrace_transport::{Ask, Message, Requests, WireRate};

use super::SwitchParams;
use super::header::PdqHeader;

/// One flow.
#[derive(Clone, Copy, Debug)]
pub struct PdqLaw {
    requests: Requests,
    size: Option<Bytes>,
    deadline: Option<Time>,
    transport: TransportParams,
    switch: SwitchParams,
    nic: Rate,
    rate: WireRate,
    paused_by: u32,
    stopped: bool,
}

impl PdqLaw {
    /// The law of a flow whose host's link has rate `nic`.
    pub fn new(
        flow: &FlowInfo,
        switch: &SwitchParams,
        nic: Rate,
        base_rtt: Time,
        transport: &TransportParams,
    ) -> Self {
        PdqLaw {
            requests: Requests::new(base_rtt),
            size: flow.size,
            deadline: flow.deadline,
            transport: *transport,
            switch: *switch,
            nic,
            rate: WireRate::ZERO,
            paused_by: 0,
            stopped: false,
        }
    }

    /// Time that what was never sent takes at the full rate, if the size is known.
    fn expected(&self, flow: &FlowView) -> Option<Time> {
        let mss = f64::from(self.transport.mss);
        let unsent = self.size?.saturating_sub(flow.sent).as_f64();
        let bits = unsent * 8.0 * (mss + f64::from(HEADER_BYTES)) / mss;
        Some(Time::from_secs_f64(bits / self.nic.as_bps() as f64))
    }

    /// Early termination (§3.2): the deadline has passed, or what is left would take longer than there is
    /// time, or the flow is paused and has no round trip left.
    fn check(&mut self, now: Time, flow: &FlowView) {
        let Some(deadline) = self.deadline else { return };
        let left = deadline.saturating_sub(now);
        let expected = self.expected(flow).unwrap_or_default();
        let paused = self.rate == WireRate::ZERO && expected > Time::ZERO;
        self.stopped |= left == Time::ZERO || expected > left || paused && left < self.requests.rtt();
    }

    fn ask(&mut self, now: Time, flow: &FlowView) -> PdqHeader {
        if self.requests.ask(now) == Ask::Again {
            // What was granted is not known.
            self.rate = WireRate::ZERO;
        }
        let ns = |time: Time| u32::try_from(time.as_ns()).unwrap_or(u32::MAX - 1);
        let us = |time: Time| u32::try_from(time.as_ns() / 1_000).unwrap_or(u32::MAX - 1);
        PdqHeader {
            message: Message::Request,
            place: 0,
            rate: WireRate::at_least(self.nic.as_bps()),
            paused_by: self.paused_by,
            deadline_us: self.deadline.map_or(u32::MAX, us),
            expected_ns: self.expected(flow).map_or(u32::MAX, ns),
            rtt_ns: ns(self.requests.rtt()),
        }
    }
}

impl CongestionLaw<PdqHeader> for PdqLaw {
    #[inline]
    fn stamp(&mut self, now: Time, _: &Segment, flow: &FlowView) -> PdqHeader {
        if self.requests.wanted(now) { self.ask(now, flow) } else { PdqHeader::NONE }
    }
    #[inline]
    fn on_feedback(&mut self, now: Time, rtt: Time, echo: &PdqHeader, flow: &FlowView) {
        self.requests.sample(rtt);
        if echo.message == Message::Answer && self.requests.awaits(now, rtt) {
            // The port that pauses a flow grants it nothing. If it has not, the flow goes another way by now, since a link has
            // failed or is back, on which all others have left the word to that port: it asks them all.
            let is_elsewhere = echo.paused_by != 0 && echo.rate > WireRate::ZERO;
            (self.rate, self.paused_by) =
                if is_elsewhere { (WireRate::ZERO, 0) } else { (echo.rate, echo.paused_by) };
            // A paused flow probes once in so many round trips, of which this one was the first (§3.3.1,
            // suppressed probing); a flow that sends has data to carry the next request.
            let gap = self.switch.probing_gap(echo.place.into());
            let wait = if self.rate == WireRate::ZERO { gap - 1.0 } else { 1.0 };
            let pause = Time::from_secs_f64(self.requests.rtt().as_secs_f64() * wait);
            self.requests.answered(now, pause);
            self.check(now, flow);
        }
    }
    fn on_ack(&mut self, _: &AckSample, _: &FlowView) {}
    fn on_loss(&mut self, now: Time, _: Loss, flow: &FlowView) {
        self.check(now, flow);
    }
    #[inline]
    fn allowance(&self) -> Allowance {
        if self.rate == WireRate::ZERO {
            return Allowance { window: Bytes::ZERO, pacing: None };
        }
        let window = u64::from(self.transport.max_window) * u64::from(self.transport.mss);
        Allowance { window: Bytes::new(window), pacing: Some(self.rate.rate()) }
    }
    #[inline]
    fn probe_at(&self) -> Time {
        self.requests.due()
    }
    fn probe(&mut self, now: Time, flow: &FlowView) -> PdqHeader {
        self.ask(now, flow)
    }
    fn farewell(&mut self, _: Time) -> Option<PdqHeader> {
        Some(PdqHeader { message: Message::End, ..PdqHeader::NONE })
    }
    fn standing(&self) -> Standing {
        if self.stopped { Standing::Stopped } else { Standing::Going }
    }
}
