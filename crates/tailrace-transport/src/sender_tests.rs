//! What a sender sends, waits for and tells its law, packet by packet.

use tailrace_core::transport::{LossDetection, TransportParams};
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Directive, Ecn, FlowInfo, FlowView, Loss, Packet, PacketKind,
    Rate, Segment, Standing, TagTable, Time,
};

use crate::Sender;
use crate::header_tests::TestHeader;

/// A call of a congestion law; tests record them in order.
#[derive(Clone, Debug, PartialEq)]
enum LawCall {
    Stamped {
        before: u64,
        len: u16,
        last: bool,
    },
    Feedback {
        rtt: Time,
        number: u8,
    },
    Acked {
        acked: u64,
        marked: u64,
        in_flight: u64,
        rtt: Time,
        srtt: Time,
        app_limited: bool,
        view: [u64; 3],
    },
    Lost(Loss, [u64; 3]),
    Directed(u8),
    Demoted,
}

fn in_bytes(view: &FlowView) -> [u64; 3] {
    [view.sent, view.acked, view.delivered].map(Bytes::get)
}

/// A law that allows what the test says.
struct Puppet {
    window: u64,
    pacing: Option<Rate>,
    burst: u16,
    probe_at: Time,
    standing: Standing,
    told: Vec<LawCall>,
}

impl CongestionLaw<TestHeader> for Puppet {
    fn stamp(&mut self, _: Time, segment: &Segment, _: &FlowView) -> TestHeader {
        self.told.push(LawCall::Stamped {
            before: segment.before.get(),
            len: segment.len,
            last: segment.last,
        });
        TestHeader(1)
    }
    fn on_feedback(&mut self, _: Time, rtt: Time, echo: &TestHeader, _: &FlowView) {
        self.told.push(LawCall::Feedback { rtt, number: echo.0 });
    }
    fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
        let [acked, marked, in_flight] = [ack.acked, ack.marked, ack.in_flight].map(Bytes::get);
        let (rtt, srtt, app_limited, view) = (ack.rtt, ack.srtt, ack.app_limited, in_bytes(flow));
        self.told.push(LawCall::Acked { acked, marked, in_flight, rtt, srtt, app_limited, view });
    }
    fn on_loss(&mut self, _: Time, loss: Loss, flow: &FlowView) {
        self.told.push(LawCall::Lost(loss, in_bytes(flow)));
    }
    fn allowance(&self) -> Allowance {
        Allowance { window: Bytes::new(self.window), pacing: self.pacing }
    }
    fn burst(&self) -> u16 {
        self.burst
    }
    fn probe_at(&self) -> Time {
        self.probe_at
    }
    fn probe(&mut self, _: Time, _: &FlowView) -> TestHeader {
        self.probe_at = Time::MAX;
        TestHeader(3)
    }
    fn farewell(&mut self, _: Time) -> Option<TestHeader> {
        Some(TestHeader(4))
    }
    fn standing(&self) -> Standing {
        self.standing
    }
    fn directed(&mut self, directive: &Directive) {
        self.told.push(LawCall::Directed(directive.acks));
    }
    fn demoted(&mut self) {
        self.told.push(LawCall::Demoted);
    }
}

const INFO: FlowInfo =
    FlowInfo { id: 7, src: 2, dst: 3, size: None, start: Time::ZERO, deadline: None, slice: 0, task: 0 };

/// Segments of 1000 bytes; the timer waits for a millisecond.
fn params() -> TransportParams {
    TransportParams { mss: 1000, min_rto: Time::from_ms(1), ..TransportParams::default() }
}

/// A sender of so many bytes, of which all may be in flight; its first thousand has the first priority, the next the
/// second.
fn sender(size: u64, params: &TransportParams) -> Sender<Puppet, TestHeader> {
    let law = Puppet {
        window: u64::MAX,
        pacing: None,
        burst: 1,
        probe_at: Time::MAX,
        standing: Standing::Going,
        told: Vec::new(),
    };
    let directive = Directive::tagged(TagTable::with_limits(&[Bytes::new(1000)]));
    Sender::new(law, INFO, Bytes::new(size), true, directive, params)
}

fn us(us: u64) -> Time {
    Time::from_us(us)
}

/// Segments that leave at a time.
fn sent(sender: &mut Sender<Puppet, TestHeader>, at: Time) -> Vec<u32> {
    std::iter::from_fn(|| sender.poll_send(at)).map(|packet| packet.seq).collect()
}

/// An acknowledgement of all below `seq`, and of a block beyond, for a packet that left at `left`.
fn ack(seq: u32, block: (u32, u32), left: Time) -> Packet<TestHeader> {
    let mut ack = Packet { flow: 7, seq, sent_ps: left.as_ps(), ..Packet::EMPTY };
    (ack.block_start, ack.block_end, ack.header) = (block.0, block.1, TestHeader(5));
    ack.set(PacketKind::Ack, Ecn::NotCapable);
    ack
}

/// What the law has been told since it was asked last.
fn told(sender: &mut Sender<Puppet, TestHeader>) -> Vec<LawCall> {
    std::mem::take(&mut sender.law_mut().told)
}

#[test]
fn a_segment_says_whose_it_is_and_how_urgent() {
    let mut sender = sender(2500, &params());
    let expected = |seq, bytes, priority, kind| {
        let (dst, sent_ps, header) = (3, us(4).as_ps(), TestHeader(1));
        let mut packet = Packet { flow: 7, dst, bytes, priority, seq, sent_ps, header, ..Packet::EMPTY };
        packet.set(kind, Ecn::Capable);
        format!("{packet:?}")
    };
    let packets: Vec<String> =
        std::iter::from_fn(|| sender.poll_send(us(4))).map(|packet| format!("{packet:?}")).collect();
    let rows = [
        expected(0, 1049, 0, PacketKind::Data),
        expected(1, 1049, 1, PacketKind::Data),
        expected(2, 549, 1, PacketKind::LastData),
    ];
    assert_eq!(packets, rows);
    let stamped = |before, len, last| LawCall::Stamped { before, len, last };
    let stamps = [stamped(0, 1000, false), stamped(1000, 1000, false), stamped(2000, 500, true)];
    assert_eq!(told(&mut sender)[1..], stamps);
}

#[test]
fn a_law_is_told_what_an_acknowledgement_is_news_of() {
    let mut sender = sender(4500, &params());
    assert_eq!(sent(&mut sender, us(0)), [0, 1, 2, 3, 4]);
    told(&mut sender);
    let feedback = |rtt| LawCall::Feedback { rtt: us(rtt), number: 5 };
    sender.on_ack(us(80), &ack(1, (0, 0), us(0)));
    let view = [5000, 1000, 1000];
    let (acked, marked, in_flight, rtt, srtt, app_limited) = (1000, 0, 4000, us(80), us(80), true);
    let first = LawCall::Acked { acked, marked, in_flight, rtt, srtt, app_limited, view };
    assert_eq!(told(&mut sender), [feedback(80), first]);
    // A mark, a block beyond a hole, another round trip: 7/8 of 80 µs and 1/8 of 88.
    let mut beyond = ack(1, (2, 4), us(0));
    beyond.set(PacketKind::AckMarked, Ecn::NotCapable);
    sender.on_ack(us(88), &beyond);
    let (acked, marked, in_flight, rtt, srtt, view) = (2000, 2000, 2000, us(88), us(81), [5000, 1000, 3000]);
    let second = LawCall::Acked { acked, marked, in_flight, rtt, srtt, app_limited, view };
    assert_eq!(told(&mut sender), [feedback(88), second]);
    // The same again is no news, but feedback.
    sender.on_ack(us(88), &beyond);
    assert_eq!(told(&mut sender), [feedback(88)]);
    // What was never sent is not acknowledged.
    sender.on_ack(us(89), &ack(6, (0, 0), us(0)));
    sender.on_ack(us(89), &ack(1, (4, 6), us(0)));
    assert!(told(&mut sender).is_empty());
    // The last segment is half as long.
    sender.on_ack(us(90), &ack(5, (0, 0), us(10)));
    let last = told(&mut sender);
    assert!(matches!(last[1], LawCall::Acked { acked: 1500, in_flight: 0, .. }), "{last:?}");
    assert!(sender.is_done() && sender.next_wake() == Time::MAX);
}

#[test]
fn a_flow_with_more_to_send_is_not_limited_by_its_application() {
    let mut sender = sender(5000, &params());
    sender.law_mut().window = 2000;
    sender.direct(&Directive::tagged(TagTable::FLAT));
    assert_eq!(sent(&mut sender, us(0)), [0, 1]);
    sender.on_ack(us(9), &ack(1, (0, 0), us(0)));
    assert!(told(&mut sender).iter().any(|told| matches!(told, LawCall::Acked { app_limited: false, .. })));
    assert_eq!(sent(&mut sender, us(9)), [2]);
}

#[test]
fn a_window_lets_out_whole_segments_and_one_in_any_case() {
    for (window, count) in [(0, 0), (1, 1), (1999, 1), (2000, 2), (2999, 2), (3000, 3), (9000, 5)] {
        let mut sender = sender(5000, &params());
        sender.law_mut().window = window;
        sender.direct(&Directive::tagged(TagTable::FLAT));
        assert_eq!(sent(&mut sender, us(0)).len(), count, "a window of {window}");
    }
}

#[test]
fn what_the_receiver_has_room_for_bounds_what_is_sent() {
    let mut sender = sender(9000, &TransportParams { max_window: 3, ..params() });
    assert_eq!(sent(&mut sender, us(0)), [0, 1, 2]);
    // Beyond a hole nothing more fits.
    sender.on_ack(us(9), &ack(0, (1, 3), us(0)));
    assert!(sent(&mut sender, us(9)).is_empty());
    sender.on_ack(us(10), &ack(3, (0, 0), us(0)));
    assert_eq!(sent(&mut sender, us(10)), [3, 4, 5]);
}

#[test]
fn three_segments_above_a_hole_are_a_loss_and_two_are_none() {
    let mut sender = sender(20_000, &params());
    sender.law_mut().window = 8000;
    sender.direct(&Directive::tagged(TagTable::FLAT));
    assert_eq!(sent(&mut sender, us(0)).len(), 8);
    sender.on_ack(us(80), &ack(0, (1, 3), us(0)));
    assert_eq!(sent(&mut sender, us(80)), [8, 9]);
    told(&mut sender);
    sender.on_ack(us(81), &ack(0, (1, 4), us(0)));
    let losses = |told: Vec<LawCall>| {
        told.into_iter().filter(|told| matches!(told, LawCall::Lost(..))).collect::<Vec<_>>()
    };
    assert_eq!(losses(told(&mut sender)), [LawCall::Lost(Loss::Fast, [10_000, 0, 3000])]);
    // The hole goes first; another in the same window is the same loss to the law.
    assert_eq!(sent(&mut sender, us(81)), [0, 10]);
    sender.on_ack(us(82), &ack(0, (5, 8), us(0)));
    assert!(losses(told(&mut sender)).is_empty());
    assert_eq!(sent(&mut sender, us(82)), [4, 11, 12, 13]);
    assert_eq!(sender.stats().retransmitted, 2000);
    // All of that window has arrived: the next hole is another loss.
    sender.on_ack(us(160), &ack(10, (0, 0), us(81)));
    sender.on_ack(us(161), &ack(10, (11, 14), us(81)));
    assert_eq!(losses(told(&mut sender)), [LawCall::Lost(Loss::Fast, [14_000, 10_000, 13_000])]);
    assert_eq!(sender.stats(), crate::SenderStats { retransmitted: 2000, timeouts: 0 });
}

#[test]
fn where_only_the_timer_counts_holes_are_no_losses() {
    let mut sender =
        sender(8000, &TransportParams { loss_detection: LossDetection::TimeoutOnly, ..params() });
    sent(&mut sender, us(0));
    sender.on_ack(us(80), &ack(0, (1, 8), us(0)));
    assert!(!told(&mut sender).iter().any(|told| matches!(told, LawCall::Lost(..))));
    assert!(sent(&mut sender, us(80)).is_empty());
}

#[test]
fn the_timer_sends_again_what_has_not_arrived() {
    let mut sender = sender(4000, &params());
    assert_eq!(sent(&mut sender, us(0)), [0, 1, 2, 3]);
    let due = sender.retransmit_at();
    assert_eq!((sender.next_wake(), due), (due, us(1000)));
    // An acknowledgement winds the timer up again.
    sender.on_ack(us(80), &ack(1, (2, 3), us(0)));
    let due = sender.retransmit_at();
    assert_eq!(due, us(1080));
    assert!(!sender.on_wake(due - Time::from_ps(1)));
    told(&mut sender);
    assert!(sender.on_wake(due));
    assert_eq!(told(&mut sender), [LawCall::Lost(Loss::Timeout, [4000, 1000, 2000])]);
    assert_eq!((sender.consecutive_timeouts(), sender.stats().timeouts), (1, 1));
    assert_eq!(sender.next_wake(), Time::MAX);
    assert_eq!(sent(&mut sender, due), [1, 3]);
    // Twice as long now.
    assert_eq!(sender.retransmit_at(), due + us(2000));
    assert!(sender.on_wake(due + us(2000)));
    assert_eq!((sender.consecutive_timeouts(), sender.stats().timeouts), (2, 2));
    sender.on_ack(due + us(2001), &ack(2, (0, 0), due));
    assert_eq!((sender.consecutive_timeouts(), sender.stats().timeouts), (0, 2));
    assert_eq!(sender.stats().retransmitted, 2000);
}

#[test]
fn a_pace_holds_back_all_but_a_burst() {
    let mut sender = sender(9000, &params());
    // A segment of 1000 bytes and 40 of headers and the law's 9 take 8.392 µs.
    (sender.law_mut().pacing, sender.law_mut().burst) = (Some(Rate::from_gbps(1)), 1);
    sender.direct(&Directive::tagged(TagTable::FLAT));
    let turn = Time::from_ns(8392);
    assert_eq!(sent(&mut sender, us(0)), [0]);
    assert_eq!(sender.next_wake(), turn);
    assert!(!sender.on_wake(turn));
    assert_eq!(sent(&mut sender, turn), [1]);
    // A closed window waits for the timer, not for its turn.
    sender.law_mut().window = 2000;
    sender.direct(&Directive::tagged(TagTable::FLAT));
    assert_eq!(sender.next_wake(), us(1000));
    sender.law_mut().window = u64::MAX;
    // Three may leave after a pause, headers included.
    sender.law_mut().burst = 3;
    sender.direct(&Directive::tagged(TagTable::FLAT));
    assert_eq!(sent(&mut sender, us(900)), [2, 3, 4]);
}

#[test]
fn probes_and_farewells_carry_a_header_and_no_bytes() {
    let mut sender = sender(3000, &params());
    (sender.law_mut().window, sender.law_mut().probe_at) = (0, us(30));
    sender.direct(&Directive::tagged(TagTable::with_limits(&[Bytes::new(1000)])));
    assert_eq!((sender.next_wake(), sender.poll_send(us(29)).is_none()), (us(30), true));
    let expected = |at: Time, number, priority| {
        let (bytes, sent_ps, header) = (49, at.as_ps(), TestHeader(number));
        let mut probe = Packet { flow: 7, dst: 3, bytes, priority, sent_ps, header, ..Packet::EMPTY };
        probe.set(PacketKind::Probe, Ecn::NotCapable);
        format!("{probe:?}")
    };
    let probe = sender.poll_send(us(30)).unwrap();
    assert_eq!(format!("{probe:?}"), expected(us(30), 3, 0));
    assert!(sender.poll_send(us(30)).is_none());
    // Its answer is feedback, and no acknowledgement.
    told(&mut sender);
    sender.law_mut().window = 3000;
    let mut answer = ack(3, (0, 0), us(30));
    answer.set(PacketKind::ProbeAck, Ecn::NotCapable);
    sender.on_ack(us(40), &Packet { seq: 0, ..answer });
    assert_eq!(told(&mut sender), [LawCall::Feedback { rtt: us(10), number: 5 }]);
    assert_eq!(sent(&mut sender, us(40)), [0, 1, 2]);
    // A probe has the priority of the next byte to arrive.
    sender.on_ack(us(50), &ack(2, (0, 0), us(40)));
    let farewell = sender.farewell(us(60)).unwrap();
    assert_eq!(format!("{farewell:?}"), expected(us(60), 4, 1));
}

#[test]
fn a_flow_that_is_given_up_sends_nothing_more() {
    let mut sender = sender(3000, &params());
    assert!(sender.poll_send(us(0)).is_some());
    sender.law_mut().standing = Standing::Stopped;
    assert!(sender.poll_send(us(0)).is_none());
    assert_eq!((sender.standing(), sender.next_wake()), (Standing::Stopped, Time::MAX));
}

#[test]
fn directives_and_demotions_reach_the_law() {
    let mut sender = sender(3000, &params());
    let directive = Directive { acks: 6, ..Directive::tagged(TagTable::flat(2)) };
    sender.direct(&directive);
    assert_eq!(*sender.directive(), directive);
    assert_eq!(sender.poll_send(us(0)).map(|packet| packet.priority), Some(2));
    sender.demote(FlowInfo { task: 8, ..INFO });
    assert_eq!(sender.info().task, 8);
    let directed: Vec<LawCall> =
        told(&mut sender).into_iter().filter(|told| !matches!(told, LawCall::Stamped { .. })).collect();
    assert_eq!(directed, [LawCall::Directed(0), LawCall::Directed(6), LawCall::Demoted]);
}

#[test]
fn a_sender_in_the_memory_of_another_knows_nothing_of_its_flow() {
    let mut finished = sender(9000, &params());
    sent(&mut finished, us(0));
    finished.on_ack(us(9), &ack(0, (2, 9), us(0)));
    let mut sender = sender(9000, &params());
    sender.reuse(finished);
    assert_eq!(sent(&mut sender, us(0)).len(), 9);
    assert_eq!(in_bytes(&sender.view()), [9000, 0, 0]);
    sender.on_ack(us(9), &ack(0, (2, 4), us(0)));
    assert_eq!(in_bytes(&sender.view()), [9000, 0, 2000]);
}
