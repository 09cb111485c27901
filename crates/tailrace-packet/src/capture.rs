//! Capture: a port that tells what it sends, as a wrapper around any scheme's port.

use std::cell::RefCell;
use std::rc::Rc;

use tailrace_core::{
    Bytes, Controller, Facts, FlowInfo, Header, HostId, Knowledge, Packet, ParamError, PortFacts, PortPolicy,
    Rate, RateRule, Reason, Scheme, SeriesSink, SwitchPlan, Time,
};

/// Told of every packet when its transmission starts, and of the host that it comes from.
pub type Tap<H> = Box<dyn FnMut(Time, &Packet<H>, HostId)>;

/// Source and destination of each flow that has started, by number: packets carry only where they go.
type Ends = Rc<RefCell<Vec<(HostId, HostId)>>>;

/// A scheme with one of its ports tapped.
pub struct Captured<S: Scheme> {
    scheme: S,
    port: u32,
    /// Waits here until the port is made.
    tap: RefCell<Option<Tap<S::Header>>>,
    ends: Ends,
}

impl<S: Scheme> Captured<S> {
    /// Taps port number `port` of `scheme`.
    pub fn tapping(scheme: S, port: u32, tap: Tap<S::Header>) -> Self {
        Captured { scheme, port, tap: RefCell::new(Some(tap)), ends: Ends::default() }
    }
}

/// A port that may be tapped.
pub struct TappedPort<P, H> {
    port: P,
    tap: Option<Tap<H>>,
    ends: Ends,
}

impl<P: PortPolicy<H>, H: Header> TappedPort<P, H> {
    fn tell(&mut self, now: Time, packet: Option<Packet<H>>) -> Option<Packet<H>> {
        if let (Some(tap), Some(packet)) = (&mut self.tap, &packet) {
            let (src, dst) = self.ends.borrow()[packet.flow as usize];
            tap(now, packet, if packet.is_ack() { dst } else { src });
        }
        packet
    }
}

// Clippy reports a method that is missing in this wrapper, or in that of the scheme.
#[deny(clippy::missing_trait_methods)]
impl<P: PortPolicy<H>, H: Header> PortPolicy<H> for TappedPort<P, H> {
    const REVERSE: bool = P::REVERSE;
    const WORK_CONSERVING: bool = P::WORK_CONSERVING;
    fn next_ready(&self, now: Time) -> Option<Time> {
        self.port.next_ready(now)
    }
    fn on_reverse(&mut self, now: Time, packet: &mut Packet<H>) {
        self.port.on_reverse(now, packet);
    }
    fn enqueue(
        &mut self,
        now: Time,
        packet: Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) {
        self.port.enqueue(now, packet, room, drop);
    }
    fn pass(
        &mut self,
        now: Time,
        packet: Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) -> Option<Packet<H>> {
        let sent = self.port.pass(now, packet, room, drop);
        self.tell(now, sent)
    }
    fn dequeue(&mut self, now: Time) -> Option<Packet<H>> {
        let sent = self.port.dequeue(now);
        self.tell(now, sent)
    }
    fn backlog(&self) -> Bytes {
        self.port.backlog()
    }
    fn backlog_packets(&self) -> usize {
        self.port.backlog_packets()
    }
    fn backlog_of(&self, priority: u8) -> Bytes {
        self.port.backlog_of(priority)
    }
    fn marked(&self) -> u64 {
        self.port.marked()
    }
    fn next_wake(&self) -> Option<Time> {
        self.port.next_wake()
    }
    fn on_wake(&mut self, now: Time, series: &mut dyn SeriesSink) {
        self.port.on_wake(now, series);
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Scheme> Scheme for Captured<S> {
    const NAME: &'static str = S::NAME;
    const SUMMARY: &'static str = S::SUMMARY;
    const SOURCE: &'static str = S::SOURCE;
    const KNOWS: Knowledge = S::KNOWS;
    const ONE_PATH: bool = S::ONE_PATH;
    type Params = S::Params;
    type Header = S::Header;
    type Law = S::Law;
    type Host = S::Host;
    type Port = TappedPort<S::Port, S::Header>;

    fn new(params: S::Params, facts: &Facts) -> Result<Self, ParamError> {
        Ok(Captured {
            scheme: S::new(params, facts)?,
            port: u32::MAX,
            tap: RefCell::new(None),
            ends: Ends::default(),
        })
    }
    fn ecn(&self) -> bool {
        self.scheme.ecn()
    }
    fn law(&self, flow: &FlowInfo) -> S::Law {
        self.ends.borrow_mut().push((flow.src, flow.dst));
        self.scheme.law(flow)
    }
    fn host(&self) -> S::Host {
        self.scheme.host()
    }
    fn port(&self, port: &PortFacts) -> Self::Port {
        let tap = if port.number == self.port { self.tap.borrow_mut().take() } else { None };
        TappedPort { port: self.scheme.port(port), tap, ends: Rc::clone(&self.ends) }
    }
    fn controller(&self) -> Option<Box<dyn Controller>> {
        self.scheme.controller()
    }
    fn rate_rule(&self) -> Option<Box<dyn RateRule>> {
        self.scheme.rate_rule()
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        self.scheme.switch_plan(link)
    }
}
