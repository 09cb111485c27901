//! Schemes that are wrong in one way each. The check that is meant for it must find each of them, and say so.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tailrace_conformance::{
    Check, Verdict, checks_of_parts, hosts, laws, memory, ports, switches, verdict, worlds,
};
use tailrace_core::{
    Allowance, Bytes, Cap, Directive, Ecn, FlowId, FlowInfo, Header, Packet, PortFacts, PortPlace, QueueUnit,
    Rate, Reason, Standing, Time,
};
use tailrace_schemes::d2tcp::D2tcp;
use tailrace_schemes::dctcp::Dctcp;
use tailrace_schemes::mlfq::Mlfq;
use tailrace_schemes::pdq::Pdq;
use tailrace_schemes::rcp::Rcp;

use crate::conformance::mutant::{LawEvent, Mutant, Mutation, Unchanged};

/// Fails unless the check finds what is wrong, in these words.
#[track_caller]
pub fn caught(run: fn() -> Verdict, words: &str) {
    match (Check { name: "the check", run }.verdict()) {
        Ok(()) => panic!("a mutant passes; \"{words}\" was expected"),
        Err(said) => assert!(said.contains(words), "said \"{said}\", not \"{words}\""),
    }
}

/// What is wrong, the check of the mutant that must say so, and its words.
macro_rules! mutants {
    ($($test:ident: $check:path => $words:literal;)*) => {
        $(#[test]
        fn $test() {
            caught($check, $words);
        })*
    };
}

#[test]
fn a_scheme_behind_no_mutation_conforms() {
    type Same = Mutant<Dctcp, Unchanged>;
    assert_eq!(verdict::<Same>(&checks_of_parts::<Same>()), Ok(()));
}

// Laws.

/// After a loss its window is no number.
#[derive(Default)]
struct NoNumber(f64);
impl Mutation for NoNumber {
    fn on_event(&mut self, event: LawEvent<'_>) {
        if matches!(event, LawEvent::Loss) {
            self.0 = f64::NAN;
        }
    }
    fn allowance(&self, real: Allowance) -> Allowance {
        Allowance { window: Bytes::new((real.window.as_f64() + self.0) as u64), ..real }
    }
}

/// Without a mark its window has no end.
#[derive(Default)]
struct Endless(f64);
impl Mutation for Endless {
    fn on_event(&mut self, event: LawEvent<'_>) {
        if let LawEvent::Ack(ack) = event {
            self.0 = ack.acked.as_f64() / ack.marked.as_f64();
        }
    }
    fn allowance(&self, real: Allowance) -> Allowance {
        Allowance { window: Bytes::new(real.window.as_f64().max(self.0) as u64), ..real }
    }
}

/// After a loss it paces at no rate.
#[derive(Default)]
struct Halted(bool);
impl Mutation for Halted {
    fn on_event(&mut self, event: LawEvent<'_>) {
        self.0 |= matches!(event, LawEvent::Loss);
    }
    fn allowance(&self, real: Allowance) -> Allowance {
        Allowance { pacing: self.0.then(|| Rate::from_bps(0)), ..real }
    }
}

/// It asks once, and waits for ever.
#[derive(Default)]
struct AsksOnce(bool);
impl Mutation for AsksOnce {
    fn on_event(&mut self, event: LawEvent<'_>) {
        self.0 |= matches!(event, LawEvent::Probe);
    }
    fn probe_at(&self, real: Time) -> Time {
        if self.0 { Time::MAX } else { real }
    }
}

/// A probe is due, whenever one was sent.
#[derive(Default)]
struct AsksAlways;
impl Mutation for AsksAlways {
    fn probe_at(&self, _: Time) -> Time {
        Time::ZERO
    }
}

/// It gives up at the first loss, deadline or not.
#[derive(Default)]
struct Quitter(bool);
impl Mutation for Quitter {
    fn on_event(&mut self, event: LawEvent<'_>) {
        self.0 |= matches!(event, LawEvent::Loss);
    }
    fn standing(&self, real: Standing) -> Standing {
        if self.0 { Standing::Stopped } else { real }
    }
}

/// Once the deadline has passed, nothing is allowed.
#[derive(Default)]
struct TooLate(Option<Time>, Time);
impl Mutation for TooLate {
    fn of_flow(flow: &FlowInfo) -> Self {
        TooLate(flow.deadline, flow.start)
    }
    fn on_event(&mut self, event: LawEvent<'_>) {
        if let LawEvent::Ack(ack) = event {
            self.1 = ack.now;
        }
    }
    fn allowance(&self, real: Allowance) -> Allowance {
        let late = self.0.is_some_and(|deadline| self.1 > deadline);
        Allowance { window: if late { Bytes::ZERO } else { real.window }, ..real }
    }
}

/// It takes time from a deadline without looking whether there is any left.
#[derive(Default)]
struct NoTimeLeft(Option<Time>);
impl Mutation for NoTimeLeft {
    fn of_flow(flow: &FlowInfo) -> Self {
        NoTimeLeft(flow.deadline)
    }
    fn on_event(&mut self, event: LawEvent<'_>) {
        if let (LawEvent::Ack(ack), Some(deadline)) = (event, self.0) {
            assert!(deadline >= ack.now, "time that is left is less than none");
        }
    }
}

/// What one flow gets depends on how many there were in the process.
#[derive(Default)]
struct Counted(u64);
static FLOWS: AtomicU64 = AtomicU64::new(0);
impl Mutation for Counted {
    fn of_flow(_: &FlowInfo) -> Self {
        Counted(FLOWS.fetch_add(1, Relaxed))
    }
    fn allowance(&self, real: Allowance) -> Allowance {
        Allowance { window: real.window + Bytes::new(1_460 * self.0), ..real }
    }
}

mutants! {
    a_window_that_is_no_number: laws::allow_something_finite::<Mutant<Dctcp, NoNumber>> => "the window is 0 and no probe is due";
    a_window_that_is_no_number_stops_flows: ports::keep_their_books::<Mutant<Dctcp, NoNumber>> => "are stuck";
    a_window_without_end: laws::allow_something_finite::<Mutant<Dctcp, Endless>> => "a window of";
    a_rate_of_nothing: laws::allow_something_finite::<Mutant<Dctcp, Halted>> => "paces at 0bps";
    a_lost_request_is_not_repeated: ports::keep_their_books::<Mutant<Rcp, AsksOnce>> => "are stuck";
    requests_without_end: ports::keep_their_books::<Mutant<Rcp, AsksAlways>> => "sends without end";
    a_flow_without_deadline_is_given_up: ports::keep_their_books::<Mutant<Dctcp, Quitter>> => "which has no deadline";
    a_late_flow_stops: ports::keep_their_books::<Mutant<D2tcp, TooLate>> => "are stuck";
    a_late_flow_panics: ports::keep_their_books::<Mutant<D2tcp, NoTimeLeft>> => "panics: time that is left";
    a_law_that_knows_other_runs: ports::repeat_themselves::<Mutant<Dctcp, Counted>> => "two equal runs give";
    a_law_that_knows_other_worlds: worlds::end_balanced_and_repeat_themselves::<Mutant<Dctcp, Counted>> => "two equal runs differ";
}

// Ports.

/// Where packets count, it counts bytes.
#[derive(Default)]
struct CountsBytes;
impl Mutation for CountsBytes {
    fn facts(real: PortFacts) -> PortFacts {
        PortFacts { unit: QueueUnit::Bytes, ..real }
    }
}

/// What need not wait vanishes.
#[derive(Default)]
struct Swallows;
impl Mutation for Swallows {
    fn arrives<H: Header>(&mut self, packet: Packet<H>, shortcut: bool) -> Option<Packet<H>> {
        Some(packet).filter(|_| !shortcut)
    }
}

/// What need not wait is marked.
#[derive(Default)]
struct MarksInPassing(u64);
impl Mutation for MarksInPassing {
    fn arrives<H: Header>(&mut self, mut packet: Packet<H>, shortcut: bool) -> Option<Packet<H>> {
        self.0 += u64::from(shortcut && packet.mark());
        Some(packet)
    }
    fn marked(&self, real: u64) -> u64 {
        real + self.0
    }
}

/// What need not wait is not looked at.
#[derive(Default)]
struct Overlooks;
impl Mutation for Overlooks {
    fn ignores(&self, empty: bool) -> bool {
        empty
    }
}

/// What comes overtakes what waits.
#[derive(Default)]
struct Overtakes;
impl Mutation for Overtakes {
    fn ignores(&self, _: bool) -> bool {
        true
    }
}

/// Every hundredth packet vanishes; at network cards only.
#[derive(Default)]
struct LeakyCard(bool, u64);
impl Mutation for LeakyCard {
    fn of_port(port: &PortFacts) -> Self {
        LeakyCard(port.place == PortPlace::Nic, 0)
    }
    fn arrives<H: Header>(&mut self, packet: Packet<H>, _: bool) -> Option<Packet<H>> {
        self.1 += 1;
        Some(packet).filter(|_| !(self.0 && self.1.is_multiple_of(100)))
    }
}

/// Marks what is not ECN-capable.
#[derive(Default)]
struct MarksOthers;
impl Mutation for MarksOthers {
    fn leaves<H: Header>(&mut self, mut packet: Packet<H>) -> Packet<H> {
        if packet.ecn() == Ecn::NotCapable {
            packet.set(packet.kind(), Ecn::Marked);
        }
        packet
    }
}

/// Takes marks away.
#[derive(Default)]
struct Washes;
impl Mutation for Washes {
    fn leaves<H: Header>(&mut self, mut packet: Packet<H>) -> Packet<H> {
        if packet.ecn() == Ecn::Marked {
            packet.set(packet.kind(), Ecn::Capable);
        }
        packet
    }
}

/// Counts no marks.
#[derive(Default)]
struct NoMarks;
impl Mutation for NoMarks {
    fn marked(&self, _: u64) -> u64 {
        0
    }
}

/// Counts each mark twice.
#[derive(Default)]
struct TwoMarks;
impl Mutation for TwoMarks {
    fn marked(&self, real: u64) -> u64 {
        2 * real
    }
}

/// Waits for company.
#[derive(Default)]
struct Lonely;
impl Mutation for Lonely {
    fn holds_back(&self, _: Time, packets: usize) -> bool {
        packets == 1
    }
}

/// Departures begin at whole multiples of this.
const PAUSE: Time = Time::from_us(10);

fn after_pause(now: Time) -> Time {
    PAUSE * now.as_ps().div_ceil(PAUSE.as_ps())
}

/// Pauses, as it may.
#[derive(Default)]
struct Pauses;
impl Mutation for Pauses {
    const PAUSES: bool = true;
    fn ready(&self, now: Time) -> Option<Time> {
        Some(after_pause(now))
    }
    fn holds_back(&self, now: Time, _: usize) -> bool {
        after_pause(now) > now
    }
}

/// Pauses, and does not say until when.
#[derive(Default)]
struct PausesForEver;
impl Mutation for PausesForEver {
    const PAUSES: bool = true;
    fn ready(&self, _: Time) -> Option<Time> {
        None
    }
}

/// Pauses until a time that has passed.
#[derive(Default)]
struct PausesInThePast;
impl Mutation for PausesInThePast {
    const PAUSES: bool = true;
    fn ready(&self, now: Time) -> Option<Time> {
        Some(now.saturating_sub(PAUSE))
    }
}

/// Pauses longer than it says.
#[derive(Default)]
struct Oversleeps;
impl Mutation for Oversleeps {
    const PAUSES: bool = true;
    fn holds_back(&self, now: Time, _: usize) -> bool {
        after_pause(now) > now
    }
}

#[test]
fn a_port_that_says_how_long_it_pauses_conforms() {
    type Paused = Mutant<Dctcp, Pauses>;
    assert_eq!(ports::keep_their_books::<Paused>(), Ok(()));
}

/// Sends everything twice.
#[derive(Default)]
struct Stutters;
impl Mutation for Stutters {
    const TWICE: bool = true;
}

/// Has room for everything.
#[derive(Default)]
struct Roomy;
impl Mutation for Roomy {
    fn room(&self, _: Bytes) -> Bytes {
        Bytes::MAX
    }
}

/// Says "evicted" of whatever is dropped.
#[derive(Default)]
struct Evicts;
impl Mutation for Evicts {
    fn reason(&self, _: Reason) -> Reason {
        Reason::Evicted
    }
}

/// Its queues are empty.
#[derive(Default)]
struct NoQueues;
impl Mutation for NoQueues {
    fn backlog_of(&self, _: Bytes) -> Bytes {
        Bytes::ZERO
    }
}

/// Seems to hold nothing, and so is never asked for a packet.
#[derive(Default)]
struct SeemsEmpty;
impl Mutation for SeemsEmpty {
    fn is_empty(&self, _: bool) -> bool {
        true
    }
}

/// Sends packets to their neighbours.
#[derive(Default)]
struct Misdelivers;
impl Mutation for Misdelivers {
    fn leaves<H: Header>(&mut self, packet: Packet<H>) -> Packet<H> {
        Packet { dst: packet.dst ^ 1, ..packet }
    }
}

/// Acknowledges more than has arrived.
#[derive(Default)]
struct Acknowledges;
impl Mutation for Acknowledges {
    fn returns<H: Header>(&self, packet: &mut Packet<H>) {
        packet.seq += 1;
    }
}

/// Is always late.
#[derive(Default)]
struct Late;
impl Mutation for Late {
    fn port_wake(&self, _: Option<Time>) -> Option<Time> {
        Some(Time::ZERO)
    }
    fn host_wake(&self, _: Option<Time>) -> Option<Time> {
        Some(Time::ZERO)
    }
}

/// Remembers every flow that it has seen.
#[derive(Default)]
struct Remembers(BTreeSet<FlowId>);
impl Mutation for Remembers {
    fn arrives<H: Header>(&mut self, packet: Packet<H>, _: bool) -> Option<Packet<H>> {
        self.0.insert(packet.flow);
        Some(packet)
    }
}

mutants! {
    a_port_that_counts_bytes_where_packets_count: ports::keep_their_books::<Mutant<Dctcp, CountsBytes>> => "with room for";
    a_port_that_swallows: ports::keep_their_books::<Mutant<Dctcp, Swallows>> => "says that it holds";
    a_shortcut_that_marks: ports::pass_what_they_would_queue::<Mutant<Dctcp, MarksInPassing>> => "`pass` gives";
    a_shortcut_that_overlooks: ports::pass_what_they_would_queue::<Mutant<Rcp, Overlooks>> => "`pass` gives";
    a_shortcut_past_what_waits: ports::keep_their_books::<Mutant<Dctcp, Overtakes>> => "ignores a packet while it holds";
    a_card_that_loses: ports::keep_their_books::<Mutant<Dctcp, LeakyCard>> => "(Nic";
    marks_where_none_may_be: ports::keep_their_books::<Mutant<Dctcp, MarksOthers>> => "marks a packet that is not ECN-capable";
    marks_that_vanish: ports::keep_their_books::<Mutant<Dctcp, Washes>> => "makes Capable of Marked";
    marks_that_are_not_counted: ports::keep_their_books::<Mutant<Dctcp, NoMarks>> => "counts 0 marks";
    marks_that_are_counted_twice: ports::keep_their_books::<Mutant<Dctcp, TwoMarks>> => "marks: ";
    a_port_that_idles: ports::keep_their_books::<Mutant<Dctcp, Lonely>> => "but gives none";
    a_pause_without_end: ports::keep_their_books::<Mutant<Dctcp, PausesForEver>> => "neither says until when";
    a_pause_until_the_past: ports::keep_their_books::<Mutant<Dctcp, PausesInThePast>> => "asked at";
    a_pause_that_is_too_long: ports::keep_their_books::<Mutant<Dctcp, Oversleeps>> => "but gives none";
    a_port_that_repeats: ports::keep_their_books::<Mutant<Dctcp, Stutters>> => "that it does not hold";
    a_port_without_end: ports::keep_their_books::<Mutant<Dctcp, Roomy>> => "B with room for";
    a_drop_for_another_reason: ports::keep_their_books::<Mutant<Dctcp, Evicts>> => "as Evicted";
    a_port_that_seems_empty: ports::keep_their_books::<Mutant<Dctcp, SeemsEmpty>> => "says that it is empty: true";
    queues_that_do_not_add_up: ports::keep_their_books::<Mutant<Mlfq, NoQueues>> => "queues hold 0";
    a_packet_for_another_host: ports::keep_their_books::<Mutant<Dctcp, Misdelivers>> => "makes Packet";
    acknowledgements_that_change_on_their_way: ports::keep_their_books::<Mutant<Pdq, Acknowledges>> => "makes Packet";
    a_port_that_asks_for_the_past: ports::keep_their_books::<Mutant<Dctcp, Late>> => "asks for the past";
    a_port_that_never_forgets: memory::stays_bounded::<Mutant<Dctcp, Remembers>> => "holds more and more";
}

// Hosts and switches.

/// Acknowledgements in a priority that no port has.
#[derive(Default)]
struct NinthQueue;
impl Mutation for NinthQueue {
    fn directive(&self, real: Directive) -> Directive {
        Directive { acks: 8, ..real }
    }
}

/// Caps flows, but says that it does not.
#[derive(Default)]
struct CapsInSecret;
impl Mutation for CapsInSecret {
    fn directive(&self, real: Directive) -> Directive {
        Directive { cap: Some(Cap { group: 0, rate: Rate::from_gbps(1) }), ..real }
    }
}

/// Decides otherwise when asked again.
#[derive(Default)]
struct Undecided(Cell<u8>);
impl Mutation for Undecided {
    fn directive(&self, real: Directive) -> Directive {
        self.0.set(self.0.get() ^ 1);
        Directive { acks: self.0.get(), ..real }
    }
}

/// Keeps a list of all flows that have ended.
#[derive(Default)]
struct Archivist(Vec<u64>);
impl Mutation for Archivist {
    fn flow_ended(&mut self) {
        self.0.push(1);
    }
}

/// Its hosts send nothing that can be marked.
#[derive(Default)]
struct Deaf;
impl Mutation for Deaf {
    fn ecn(_: bool) -> bool {
        false
    }
}

mutants! {
    a_priority_that_is_none: hosts::tag_downwards_and_wake_forwards::<Mutant<Dctcp, NinthQueue>> => "acknowledgements in priority 8";
    a_cap_that_nobody_looks_at: hosts::tag_downwards_and_wake_forwards::<Mutant<Dctcp, CapsInSecret>> => "no caps";
    a_host_that_is_undecided: hosts::tag_downwards_and_wake_forwards::<Mutant<Dctcp, Undecided>> => "two directives";
    a_host_that_asks_for_the_past: hosts::tag_downwards_and_wake_forwards::<Mutant<Dctcp, Late>> => "asks for the past";
    a_host_that_never_forgets: memory::stays_bounded::<Mutant<Dctcp, Archivist>> => "holds more and more";
    marking_of_what_cannot_be_marked: switches::are_told_of_every_queue::<Mutant<Dctcp, Deaf>> => "nothing ECN-capable";
}
