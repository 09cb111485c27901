//! Ports that hold packets beside an idle link send them when they are ready, to the picosecond.

use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Facts, FlowInfo, FlowView, Knowledge, Loss, Packet,
    ParamError, PortFacts, PortPlace, Scheme, SeriesSink, Time, Untagged,
};
use tailrace_fabric::Buffer;
use tailrace_packet::Watch;
use tailrace_queues::{MarkingScope, MultiQueue, PortParams, RoutedPort, Router};
use tailrace_workload::FlowSpec;

use crate::setup::{MSS, Setup, fabric, flow};

/// What holds packets back in network cards.
#[derive(Clone, Copy)]
struct Gate {
    /// From one departure to the next.
    gap: Time,
    next: Time,
    /// Shut after so many departures, until it is woken.
    shut_after: u32,
    opens: Option<Time>,
    sent: u32,
}

const OPEN: Gate = Gate { gap: Time::ZERO, next: Time::ZERO, shut_after: u32::MAX, opens: None, sent: 0 };

impl Router<()> for Gate {
    const WORK_CONSERVING: bool = false;
    fn next_ready(&self, now: Time, _: &MultiQueue<()>) -> Option<Time> {
        let is_shut = self.opens.is_some() && self.sent >= self.shut_after;
        (!is_shut).then(|| self.next.max(now))
    }
    fn on_arrival(&mut self, _: Time, _: &mut Packet<()>, _: Bytes) {}
    fn on_departure(&mut self, now: Time, _: &mut Packet<()>, _: &MultiQueue<()>) {
        assert!(now >= self.next, "left at {now} instead of {}", self.next);
        (self.next, self.sent) = (now + self.gap, self.sent + 1);
    }
    fn next_wake(&self) -> Option<Time> {
        self.opens
    }
    fn on_wake(&mut self, _: Time, _: &mut dyn SeriesSink) {
        self.opens = None;
    }
}

/// A scheme with such network cards. Every flow sends all that it has.
struct Gated(Gate);

struct AllAtOnce;

impl CongestionLaw for AllAtOnce {
    fn on_ack(&mut self, _: &AckSample, _: &FlowView) {}
    fn on_loss(&mut self, _: Time, _: Loss, _: &FlowView) {}
    fn allowance(&self) -> Allowance {
        Allowance { window: Bytes::new(1_000 * MSS), pacing: None }
    }
}

impl Scheme for Gated {
    const NAME: &'static str = "gated";
    const SUMMARY: &'static str = "network cards hold packets back";
    const SOURCE: &'static str = "this test";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = ();
    type Header = ();
    type Law = AllAtOnce;
    type Host = Untagged;
    type Port = RoutedPort<Gate, ()>;

    fn new((): (), _: &Facts) -> Result<Self, ParamError> {
        Ok(Gated(OPEN))
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, _: &FlowInfo) -> AllAtOnce {
        AllAtOnce
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> Self::Port {
        let params = PortParams { marking: MarkingScope::None, ..PortParams::one_queue() };
        let gate = if port.place == PortPlace::Nic { self.0 } else { OPEN };
        RoutedPort::new(gate, MultiQueue::new(&params, port))
    }
}

/// A star of 10 Gbps; a full packet takes 1.2 µs to send and 1 µs to arrive.
fn star(flows: Vec<FlowSpec>) -> Setup {
    Setup::new(fabric("kind = \"star\"\nhosts = 3\nhost_rate = \"10Gbps\"\nhost_delay = \"1us\""), flows)
}

/// When a flow of so many segments from host 0 to host 1 is complete.
fn end(segments: u64, gate: Gate) -> Time {
    star(vec![flow(0, 1, segments * MSS, Time::ZERO)]).run_scheme(Gated(gate)).only_fct()
}

const ONE: Time = Time::from_ns(4_400);

#[test]
fn packets_leave_one_gap_after_the_other() {
    assert_eq!(end(1, OPEN), ONE);
    // Gaps longer than the whole way, longer than a packet, and shorter than one.
    for gap in [Time::from_us(10), Time::from_ns(1_300), Time::from_ps(1_200_001)] {
        for segments in [2, 20] {
            assert_eq!(end(segments, Gate { gap, ..OPEN }), ONE + gap * (segments - 1), "{segments} {gap}");
        }
    }
    assert_eq!(end(20, Gate { gap: Time::from_ns(900), ..OPEN }), ONE + Time::from_ns(1_200) * 19);
}

#[test]
fn a_port_that_is_woken_sends_from_then_on() {
    // At once, while the first packet is on its way, when it arrives, and long after.
    for opens in [1_200, 1_500, 2_200, 50_000].map(Time::from_ns) {
        let gate = Gate { shut_after: 1, opens: Some(opens), ..OPEN };
        assert_eq!(end(2, gate), ONE + opens, "opens at {opens}");
    }
}

#[test]
fn a_packet_that_comes_to_an_idle_card_leaves_at_once() {
    // The bucket is full again when the second flow starts, and the link has been idle for long.
    let gate = Gate { gap: Time::from_us(10), ..OPEN };
    let second = Time::from_us(35);
    let run = star(vec![flow(0, 1, MSS, Time::ZERO), flow(0, 2, MSS, second)]).run_scheme(Gated(gate));
    assert_eq!(run.records.iter().map(|record| record.end).collect::<Vec<_>>(), [ONE, second + ONE]);
}

#[test]
fn who_looks_at_a_port_changes_nothing() {
    let gate = Gate { gap: Time::from_us(10), ..OPEN };
    let flows = || vec![flow(0, 1, 20 * MSS, Time::ZERO), flow(2, 1, 30 * MSS, Time::from_us(3))];
    let plain = star(flows()).run_scheme(Gated(gate));
    for every in [Time::from_us(10), Time::from_ns(700)] {
        let mut setup = star(flows());
        setup.watch = Watch { ports: vec![0, 1, 2, 3, 4, 5], every: Some(every), ..Watch::default() };
        setup.fabric.buffer = Buffer::Shared { total: Bytes::new(1 << 30), alpha_percent: 800 };
        assert_eq!(setup.run_scheme(Gated(gate)).records, plain.records, "sampled every {every}");
    }
}
