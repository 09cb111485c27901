//! Flows under a cap of their host leave packet by packet in turn, at the cap's rate and to the picosecond.

use tailrace_core::{
    AckSample, Allowance, Bytes, Cap, CongestionLaw, Directive, Facts, FlowInfo, FlowView, HostPolicy,
    Knowledge, Loss, ParamError, PortFacts, Rate, Refresh, Scheme, SeriesSink, TagTable, Time,
};
use tailrace_queues::{MarkingScope, MultiQueue, PortParams};
use tailrace_workload::FlowSpec;

use crate::setup::{MSS, Run, Setup, fabric, flow};

/// Gives flows to odd hosts one cap and those to even hosts another; until `change`, and then others.
#[derive(Clone, Copy)]
struct Capping {
    caps: [Option<Cap>; 2],
    change: Option<(Time, [Option<Cap>; 2])>,
}

impl HostPolicy for Capping {
    const CAPS: bool = true;
    fn directive(&self, flow: &FlowInfo) -> Directive {
        Directive { cap: self.caps[(flow.dst % 2) as usize], ..Directive::tagged(TagTable::FLAT) }
    }
    fn next_wake(&self) -> Option<Time> {
        self.change.map(|(at, _)| at)
    }
    fn on_wake(&mut self, _: Time, _: &mut dyn SeriesSink) -> Refresh {
        let Some((_, caps)) = self.change.take() else { return Refresh::None };
        self.caps = caps;
        Refresh::All
    }
}

/// A scheme with such hosts. Every flow sends all that it has, at a pace if there is one.
struct Capped(Capping, Option<Rate>);

struct AllAtOnce(Option<Rate>);

impl CongestionLaw for AllAtOnce {
    fn on_ack(&mut self, _: &AckSample, _: &FlowView) {}
    fn on_loss(&mut self, _: Time, _: Loss, _: &FlowView) {}
    fn allowance(&self) -> Allowance {
        Allowance { window: Bytes::new(1_000 * MSS), pacing: self.0 }
    }
}

impl Scheme for Capped {
    const NAME: &'static str = "capped";
    const SUMMARY: &'static str = "hosts keep flows to a rate";
    const SOURCE: &'static str = "this test";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = ();
    type Header = ();
    type Law = AllAtOnce;
    type Host = Capping;
    type Port = MultiQueue;

    fn new((): (), _: &Facts) -> Result<Self, ParamError> {
        Ok(Capped(Capping { caps: [None; 2], change: None }, None))
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, _: &FlowInfo) -> AllAtOnce {
        AllAtOnce(self.1)
    }
    fn host(&self) -> Capping {
        self.0
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        let params = PortParams { marking: MarkingScope::None, ..PortParams::one_queue() };
        MultiQueue::new(&params, port)
    }
}

fn cap(group: u8, gbps: u64) -> Option<Cap> {
    Some(Cap { group, rate: Rate::from_gbps(gbps) })
}

/// A star of 10 Gbps; a full packet takes 1.2 µs to send and 1 µs to arrive, and under 1 Gbps there are 12 µs from one
/// to the next.
fn run(flows: Vec<FlowSpec>, scheme: Capped) -> Run {
    let star = fabric("kind = \"star\"\nhosts = 5\nhost_rate = \"10Gbps\"\nhost_delay = \"1us\"");
    Setup::new(star, flows).run_scheme(scheme)
}

fn ends(flows: Vec<FlowSpec>, caps: [Option<Cap>; 2]) -> Vec<Time> {
    let run = run(flows, Capped(Capping { caps, change: None }, None));
    run.records.iter().map(|record| record.end).collect()
}

/// To odd or even receivers, all at once.
fn flows(segments: &[(u32, u64)]) -> Vec<FlowSpec> {
    segments.iter().map(|&(dst, count)| flow(0, dst, count * MSS, Time::ZERO)).collect()
}

const LONE: Time = Time::from_ns(4_400);
const TURN: Time = Time::from_us(12);

#[test]
fn a_flow_under_a_cap_has_its_rate() {
    assert_eq!(ends(flows(&[(1, 1)]), [None, cap(0, 1)]), [LONE]);
    assert_eq!(ends(flows(&[(1, 20)]), [None, cap(0, 1)]), [LONE + TURN * 19]);
    assert_eq!(ends(flows(&[(1, 20)]), [None; 2]), [LONE + Time::from_ns(1_200) * 19]);
}

#[test]
fn flows_of_a_group_take_turns() {
    // The first sends at 0 and asks again before the second comes: it has turns 0, 1, 3, 5 and 7, the second 2, 4, 6
    // and all from 8 on.
    let ends = ends(flows(&[(1, 5), (3, 8)]), [None, cap(7, 1)]);
    assert_eq!(ends, [LONE + TURN * 7, LONE + TURN * 12]);
}

#[test]
fn groups_and_flows_without_cap_do_not_wait_for_others() {
    // Both groups send every turn, and one card sends one packet after the other: that of group 0 first.
    let packet = Time::from_ns(1_200);
    let two = ends(flows(&[(1, 5), (2, 5)]), [cap(0, 1), cap(1, 1)]);
    assert_eq!(two, [LONE + TURN * 4 + packet, LONE + TURN * 4]);
    let one = ends(flows(&[(1, 5), (2, 5)]), [None, cap(1, 1)]);
    assert_eq!(one[1], LONE + packet * 5);
    // Of another host, the same cap is another one.
    let others = vec![flow(0, 1, 5 * MSS, Time::ZERO), flow(2, 3, 5 * MSS, Time::ZERO)];
    assert_eq!(ends(others, [None, cap(0, 1)]), [LONE + TURN * 4; 2]);
}

#[test]
fn a_new_directive_changes_rate_group_or_cap_of_flows_that_wait() {
    let at = |turns: u64, caps| Some((TURN * turns + Time::from_us(1), caps));
    let end = |change| {
        let capping = Capping { caps: [None, cap(0, 1)], change };
        run(flows(&[(1, 10)]), Capped(capping, None)).only_fct()
    };
    assert_eq!(end(None), LONE + TURN * 9);
    // After five packets: the sixth leaves half a turn after the fifth, and so do all that follow.
    assert_eq!(end(at(4, [None, cap(0, 2)])), LONE + TURN * 4 + Time::from_us(6) * 5);
    // Another group owes nothing: its first packet leaves when the flow's turn in the old one has come.
    assert_eq!(end(at(4, [None, cap(3, 2)])), LONE + TURN * 5 + Time::from_us(6) * 4);
    // Without a cap all five leave when the fifth packet's acknowledgement, 40 bytes, has come back.
    let back = Time::from_ns(2 * 1_000 + 2 * 32);
    assert_eq!(end(at(4, [None; 2])), TURN * 4 + LONE + back + Time::from_ns(1_200) * 4 + LONE);
}

#[test]
fn a_law_that_paces_more_slowly_than_its_cap_keeps_its_pace() {
    for (law, slower) in [(500, 500), (4_000, 1_000)] {
        let capping = Capping { caps: [None, cap(0, 1)], change: None };
        let run = run(flows(&[(1, 10)]), Capped(capping, Some(Rate::from_bps(law * 1_000_000))));
        let turn = Time::from_ns(12_000_000 / slower);
        assert_eq!(run.only_fct(), LONE + turn * 9, "{law} Mbps");
        assert_eq!(run.records[0].timeouts, 0);
    }
}
