//! A scheme that is wrong in one way: a real one, with a mutation between it and its driver.

use std::marker::PhantomData;

use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Controller, Directive, Facts, FlowInfo, FlowView, Header,
    HostLaw, HostPolicy, Knowledge, Loss, Packet, ParamError, PortFacts, PortPolicy, Rate, RateRule, Reason,
    Refresh, Scheme, Segment, SeriesSink, Standing, SwitchPlan, Time, WindowShim,
};

/// An event that a driver reports to a congestion law.
pub enum LawEvent<'a> {
    Ack(&'a AckSample),
    Loss,
    Probe,
}

/// What is wrong. Everything is as it is, unless a mutation says otherwise; there is one for each law, host and port.
#[allow(unused_variables, reason = "what is right needs nothing")]
pub trait Mutation: Default + 'static {
    /// Whether a port sends what it has sent once more.
    const TWICE: bool = false;
    /// Whether a port keeps packets back, and says until when.
    const PAUSES: bool = false;

    fn of_flow(flow: &FlowInfo) -> Self {
        Self::default()
    }
    fn of_port(port: &PortFacts) -> Self {
        Self::default()
    }

    fn ecn(real: bool) -> bool {
        real
    }
    /// What its ports are told.
    fn facts(real: PortFacts) -> PortFacts {
        real
    }

    fn on_event(&mut self, event: LawEvent<'_>) {}
    fn allowance(&self, real: Allowance) -> Allowance {
        real
    }
    fn probe_at(&self, real: Time) -> Time {
        real
    }
    fn standing(&self, real: Standing) -> Standing {
        real
    }

    /// Whether a packet for which there is room passes unseen a port that is empty, or is not. None does, or nothing that is
    /// wrong with what passes would be seen.
    fn ignores(&self, empty: bool) -> bool {
        false
    }
    /// What arrives at a port, or nothing.
    fn arrives<H: Header>(&mut self, packet: Packet<H>, shortcut: bool) -> Option<Packet<H>> {
        Some(packet)
    }
    fn room(&self, real: Bytes) -> Bytes {
        real
    }
    fn reason(&self, real: Reason) -> Reason {
        real
    }
    fn leaves<H: Header>(&mut self, packet: Packet<H>) -> Packet<H> {
        packet
    }
    /// Whether a port that holds so many packets gives none.
    fn holds_back(&self, now: Time, packets: usize) -> bool {
        false
    }
    /// Of a port that keeps packets back: when the next one is ready.
    fn ready(&self, now: Time) -> Option<Time> {
        Some(now)
    }
    fn returns<H: Header>(&self, packet: &mut Packet<H>) {}
    fn marked(&self, real: u64) -> u64 {
        real
    }
    fn backlog_of(&self, real: Bytes) -> Bytes {
        real
    }
    fn is_empty(&self, real: bool) -> bool {
        real
    }
    fn port_wake(&self, real: Option<Time>) -> Option<Time> {
        real
    }

    fn directive(&self, real: Directive) -> Directive {
        real
    }
    fn flow_ended(&mut self) {}
    fn host_wake(&self, real: Option<Time>) -> Option<Time> {
        real
    }
}

/// Nothing is wrong.
#[derive(Default)]
pub struct Unchanged;

impl Mutation for Unchanged {}

/// Scheme `S` with mutation `M`.
pub struct Mutant<S, M>(S, PhantomData<M>);

/// A part of it.
pub struct Mutated<P, M> {
    part: P,
    mutation: M,
}

/// A port of it.
pub struct MutatedPort<P, M, H> {
    part: P,
    mutation: M,
    again: Option<Packet<H>>,
}

#[deny(clippy::missing_trait_methods)]
impl<S: Scheme, M: Mutation> Scheme for Mutant<S, M> {
    const NAME: &'static str = S::NAME;
    const SUMMARY: &'static str = S::SUMMARY;
    const SOURCE: &'static str = S::SOURCE;
    const KNOWS: Knowledge = S::KNOWS;
    const ONE_PATH: bool = S::ONE_PATH;
    type Params = S::Params;
    type Header = S::Header;
    type Law = Mutated<S::Law, M>;
    type Host = Mutated<S::Host, M>;
    type Port = MutatedPort<S::Port, M, S::Header>;

    fn new(params: S::Params, facts: &Facts) -> Result<Self, ParamError> {
        Ok(Mutant(S::new(params, facts)?, PhantomData))
    }
    fn ecn(&self) -> bool {
        M::ecn(self.0.ecn())
    }
    fn law(&self, flow: &FlowInfo) -> Self::Law {
        Mutated { part: self.0.law(flow), mutation: M::of_flow(flow) }
    }
    fn host(&self) -> Self::Host {
        Mutated { part: self.0.host(), mutation: M::default() }
    }
    fn port(&self, port: &PortFacts) -> Self::Port {
        MutatedPort { part: self.0.port(&M::facts(*port)), mutation: M::of_port(port), again: None }
    }
    fn controller(&self) -> Option<Box<dyn Controller>> {
        self.0.controller()
    }
    fn rate_rule(&self) -> Option<Box<dyn RateRule>> {
        self.0.rate_rule()
    }
    fn needs_header(&self) -> bool {
        self.0.needs_header()
    }
    fn window_shim(&self) -> Option<WindowShim> {
        self.0.window_shim()
    }
    fn host_law(&self) -> Option<HostLaw> {
        self.0.host_law()
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        self.0.switch_plan(link)
    }
}

#[deny(clippy::missing_trait_methods)]
impl<H: Header, L: CongestionLaw<H>, M: Mutation> CongestionLaw<H> for Mutated<L, M> {
    fn stamp(&mut self, now: Time, segment: &Segment, flow: &FlowView) -> H {
        self.part.stamp(now, segment, flow)
    }
    fn on_feedback(&mut self, now: Time, rtt: Time, echo: &H, flow: &FlowView) {
        self.part.on_feedback(now, rtt, echo, flow);
    }
    fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
        self.mutation.on_event(LawEvent::Ack(ack));
        self.part.on_ack(ack, flow);
    }
    fn on_loss(&mut self, now: Time, loss: Loss, flow: &FlowView) {
        self.mutation.on_event(LawEvent::Loss);
        self.part.on_loss(now, loss, flow);
    }
    fn allowance(&self) -> Allowance {
        self.mutation.allowance(self.part.allowance())
    }
    fn burst(&self) -> u16 {
        self.part.burst()
    }
    fn probe_at(&self) -> Time {
        self.mutation.probe_at(self.part.probe_at())
    }
    fn probe(&mut self, now: Time, flow: &FlowView) -> H {
        self.mutation.on_event(LawEvent::Probe);
        self.part.probe(now, flow)
    }
    fn farewell(&mut self, now: Time) -> Option<H> {
        self.part.farewell(now)
    }
    fn standing(&self) -> Standing {
        self.mutation.standing(self.part.standing())
    }
    fn directed(&mut self, directive: &Directive) {
        self.part.directed(directive);
    }
    fn demoted(&mut self) {
        self.part.demoted();
    }
    fn trace(&mut self, now: Time, series: &mut dyn SeriesSink) {
        self.part.trace(now, series);
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P: HostPolicy, M: Mutation> HostPolicy for Mutated<P, M> {
    const CAPS: bool = P::CAPS;

    fn directive(&self, flow: &FlowInfo) -> Directive {
        self.mutation.directive(self.part.directive(flow))
    }
    fn on_timeout(
        &self,
        flow: &FlowInfo,
        view: &FlowView,
        consecutive: u32,
        current: &Directive,
    ) -> Option<Directive> {
        self.part.on_timeout(flow, view, consecutive, current)
    }
    fn on_flow_end(&mut self, now: Time, flow: &FlowInfo, size: Bytes) {
        self.mutation.flow_ended();
        self.part.on_flow_end(now, flow, size);
    }
    fn next_wake(&self) -> Option<Time> {
        self.mutation.host_wake(self.part.next_wake())
    }
    fn on_wake(&mut self, now: Time, series: &mut dyn SeriesSink) -> Refresh {
        self.part.on_wake(now, series)
    }
}

#[deny(clippy::missing_trait_methods)]
impl<H: Header, P: PortPolicy<H>, M: Mutation> PortPolicy<H> for MutatedPort<P, M, H> {
    const REVERSE: bool = P::REVERSE;
    const WORK_CONSERVING: bool = P::WORK_CONSERVING && !M::PAUSES;

    fn next_ready(&self, now: Time) -> Option<Time> {
        self.part.next_ready(now).and_then(|ready| self.mutation.ready(ready))
    }
    fn on_reverse(&mut self, now: Time, packet: &mut Packet<H>) {
        self.part.on_reverse(now, packet);
        self.mutation.returns(packet);
    }
    fn enqueue(
        &mut self,
        now: Time,
        packet: Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) {
        let MutatedPort { part, mutation, .. } = self;
        if let Some(packet) = mutation.arrives(packet, false) {
            let room = mutation.room(room);
            part.enqueue(now, packet, room, &mut |lost, why| drop(lost, mutation.reason(why)));
        }
    }
    fn ignores(&self, packet: &Packet<H>, room: Bytes) -> bool {
        let fits = u64::from(packet.bytes) <= room.get();
        fits && self.mutation.ignores(self.part.is_empty())
    }
    fn pass(
        &mut self,
        now: Time,
        packet: &mut Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) -> bool {
        let MutatedPort { part, mutation, .. } = self;
        let Some(arrives) = mutation.arrives(*packet, true) else { return false };
        *packet = arrives;
        let room = mutation.room(room);
        let leaves = part.pass(now, packet, room, &mut |lost, why| drop(lost, mutation.reason(why)));
        if leaves {
            *packet = mutation.leaves(*packet);
        }
        leaves
    }
    fn dequeue(&mut self, now: Time) -> Option<Packet<H>> {
        if self.mutation.holds_back(now, self.part.backlog_packets()) {
            return None;
        }
        if let Some(again) = self.again.take() {
            return Some(again);
        }
        let packet = self.part.dequeue(now)?;
        self.again = Some(packet).filter(|_| M::TWICE);
        Some(self.mutation.leaves(packet))
    }
    fn backlog(&self) -> Bytes {
        self.part.backlog()
    }
    fn backlog_packets(&self) -> usize {
        self.part.backlog_packets()
    }
    fn is_empty(&self) -> bool {
        self.mutation.is_empty(self.part.is_empty() && self.again.is_none())
    }
    fn backlog_of(&self, priority: u8) -> Bytes {
        self.mutation.backlog_of(self.part.backlog_of(priority))
    }
    fn marked(&self) -> u64 {
        self.mutation.marked(self.part.marked())
    }
    fn next_wake(&self) -> Option<Time> {
        self.mutation.port_wake(self.part.next_wake())
    }
    fn on_wake(&mut self, now: Time, series: &mut dyn SeriesSink) {
        self.part.on_wake(now, series);
    }
}
