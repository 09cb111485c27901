//! What a receiver answers, packet by packet.

use tailrace_core::transport::TransportParams;
use tailrace_core::{Ecn, Packet, PacketKind, Time};

use crate::Receiver;
use crate::header_tests::TestHeader;

const NOW: Time = Time::from_us(50);

fn params(ack_every: u32) -> TransportParams {
    TransportParams { ack_every, ack_bytes: 64, max_window: 20, ..TransportParams::default() }
}

fn packet(seq: u32, number: u8) -> Packet<TestHeader> {
    let mut packet = Packet { flow: 7, dst: 3, bytes: 1500, seq, sent_ps: 11, ..Packet::EMPTY };
    packet.header = TestHeader(number);
    packet.set(PacketKind::Data, Ecn::Capable);
    packet
}

/// What a receiver says to a packet.
fn answers(receiver: &mut Receiver<TestHeader>, packet: &Packet<TestHeader>) -> Vec<Packet<TestHeader>> {
    let mut said = Vec::new();
    receiver.on_data(NOW, packet, |answer| said.push(answer));
    said
}

#[test]
fn an_acknowledgement_says_whose_it_is_and_what_has_arrived() {
    let mut receiver = Receiver::new(4, 2, &params(1));
    let expected = |seq, block_start, block_end, number: u8| {
        let bytes = if number > 0 { 64 + 9 } else { 64 };
        let mut ack = Packet { flow: 7, dst: 4, bytes, priority: 2, seq, sent_ps: 11, ..Packet::EMPTY };
        (ack.block_start, ack.block_end, ack.header) = (block_start, block_end, TestHeader(2 * number));
        ack.set(PacketKind::Ack, Ecn::NotCapable);
        format!("{:?}", [ack])
    };
    let mut said = |packet| format!("{:?}", answers(&mut receiver, &packet));
    assert_eq!(said(packet(0, 0)), expected(1, 0, 0, 0));
    assert_eq!(said(packet(2, 5)), expected(1, 2, 3, 5));
    assert_eq!(said(packet(5, 0)), expected(1, 5, 6, 0));
    assert_eq!(said(packet(3, 0)), expected(1, 2, 4, 0));
    assert_eq!(said(packet(1, 0)), expected(4, 0, 0, 0));
    assert_eq!((receiver.in_order(), receiver.is_complete()), (4, false));
}

#[test]
fn a_probe_is_answered_and_tells_nothing_of_segments() {
    let mut receiver = Receiver::new(4, 2, &params(1));
    let mut probe = packet(9, 5);
    probe.set(PacketKind::Probe, Ecn::NotCapable);
    let mut answer = Packet { flow: 7, dst: 4, bytes: 64 + 9, priority: 2, sent_ps: 11, ..Packet::EMPTY };
    answer.header = TestHeader(10);
    answer.set(PacketKind::ProbeAck, Ecn::NotCapable);
    assert_eq!(format!("{:?}", answers(&mut receiver, &probe)), format!("{:?}", [answer]));
    assert_eq!(receiver.in_order(), 0);
}

#[test]
fn a_directive_changes_the_priority_of_acknowledgements() {
    let mut receiver = Receiver::new(4, 2, &params(1));
    receiver.acknowledge_in(5);
    assert_eq!(answers(&mut receiver, &packet(0, 0))[0].priority, 5);
}

#[test]
fn what_no_sender_may_have_sent_is_no_part_of_the_flow() {
    let mut receiver = Receiver::new(4, 0, &params(1));
    assert!(answers(&mut receiver, &packet(20, 0)).is_empty());
    assert_eq!(answers(&mut receiver, &packet(19, 0))[0].block_start, 19);
    answers(&mut receiver, &packet(0, 0));
    assert_eq!(answers(&mut receiver, &packet(20, 0))[0].block_end, 21);
}

#[test]
fn only_what_is_in_order_and_without_news_waits_for_more() {
    let mut receiver = Receiver::new(4, 0, &params(3));
    let mut acks = |packet: &Packet<TestHeader>| answers(&mut receiver, packet).len();
    assert_eq!([acks(&packet(0, 0)), acks(&packet(1, 0)), acks(&packet(2, 0))], [0, 0, 1]);
    // Feedback of the network is neither delayed nor covered.
    assert_eq!(acks(&packet(3, 1)), 1);
    // A hole is told at once, as long as there is one.
    assert_eq!([acks(&packet(6, 0)), acks(&packet(4, 0)), acks(&packet(5, 0))], [1, 1, 0]);
    // Again what is known, and the end.
    assert_eq!([acks(&packet(5, 0)), acks(&packet(7, 0))], [1, 0]);
    let mut last = packet(8, 0);
    last.set(PacketKind::LastData, Ecn::Capable);
    assert_eq!(acks(&last), 1);
    assert!(receiver.is_complete());
}

#[test]
fn a_delayed_acknowledgement_leaves_when_its_time_has_come() {
    let params = params(3);
    let mut receiver = Receiver::new(4, 0, &params);
    assert_eq!(receiver.next_wake(), Time::MAX);
    answers(&mut receiver, &packet(0, 0));
    let due = NOW + params.delayed_ack_timeout;
    assert_eq!(receiver.next_wake(), due);
    let mut said = Vec::new();
    receiver.on_wake(due, |ack| said.push(ack.seq));
    assert_eq!((said, receiver.next_wake()), (vec![1], Time::MAX));
}

#[test]
fn a_receiver_in_the_memory_of_another_knows_nothing_of_its_flow() {
    for cell in [None, Some(2)] {
        let mut finished = Receiver::new(4, 0, &params(1)).reordering(cell);
        for seq in [1, 5, 6] {
            answers(&mut finished, &packet(seq, 0));
        }
        let mut receiver = Receiver::new(9, 1, &params(1));
        receiver.reuse(finished);
        assert_eq!(receiver.next_wake(), Time::MAX);
        // Cells are put back in order as before.
        let order = [2, 0, 1].map(|seq| answers(&mut receiver, &packet(seq, 0)));
        let acks: Vec<u32> = order.iter().flatten().map(|ack| ack.seq).collect();
        assert_eq!(acks, if cell.is_some() { [1, 2, 3] } else { [0, 1, 3] });
    }
}
