//! What ports do whatever the scheme: what they count, when they mark, and which of them do. Counted by hand.

use proptest::prelude::*;
use tailrace_core::{Bytes, MTU_BYTES, MarkingAt, QueueUnit, Rate, Time};
use tailrace_fabric::{Buffer, Fabric, PortRules};
use tailrace_packet::Watch;

use crate::setup::{ENDLESS, MSS, Setup, fabric, flow};

const PACKET: u64 = MTU_BYTES as u64;
const PACKETS: PortRules =
    PortRules { queue_unit: QueueUnit::Packets, marking_at: MarkingAt::Enqueue, cards_mark: true };

fn star(hosts: u16, buffer: Buffer, port_rules: PortRules) -> Fabric {
    let fields = format!("kind = \"star\"\nhosts = {hosts}\nhost_rate = \"10Gbps\"\nhost_delay = \"1us\"");
    Fabric { buffer, port_rules, ..fabric(&fields) }
}

/// Three bursts of 100 packets of `mss` bytes of payload meet at one port.
fn three_bursts(buffer: Buffer, port_rules: PortRules, mss: u16) -> Setup {
    let flows = (1..4).map(|src| flow(src, 0, 100 * u64::from(mss), Time::ZERO)).collect();
    let mut setup = Setup::new(star(4, buffer, port_rules), flows);
    setup.transport.mss = mss;
    // The switch has sent all it kept, and no retransmission timer has expired.
    setup.horizon = Some(Time::from_us(900));
    setup
}

#[test]
fn a_buffer_of_packets_holds_so_many_whatever_their_size() {
    // 300 packets come in while 100 leave, so 200 want to wait; network cards must hold 99 themselves.
    for mss in [60, 1460, 8960] {
        for (buffer, lost) in [(99, 101), (150, 50), (200, 0)] {
            let buffer = Buffer::PerPort(Bytes::new(buffer * PACKET));
            let run = three_bursts(buffer, PACKETS, mss).run("fifo", "window = 1000");
            assert_eq!(run.ledger.dropped().packets, lost, "{buffer:?}, segments of {mss} bytes");
        }
    }
}

#[test]
fn a_buffer_of_bytes_holds_more_of_smaller_packets() {
    // Of packets of 100 bytes, 120 packets of 1500 bytes hold 1800.
    let buffer = Buffer::PerPort(Bytes::new(120 * PACKET));
    let lost = |rules| three_bursts(buffer, rules, 60).run("fifo", "window = 1000").ledger.dropped().packets;
    assert_eq!((lost(PortRules::default()), lost(PACKETS)), (0, 80));
}

#[test]
fn acknowledgements_count_as_packets() {
    // 30 flows of one packet each leave host 0 one after another, and their acknowledgements come back to a port so
    // slow that only the first leaves within the test. 29 want to wait in a buffer of ten packets, or 15 kB.
    let lost = |rules| {
        let flows = (1..31).map(|dst| flow(0, dst, MSS, Time::from_us(2 * u64::from(dst)))).collect();
        let mut setup = Setup::new(star(31, Buffer::PerPort(Bytes::new(10 * PACKET)), rules), flows);
        let back = setup.fabric.port_to[0];
        setup.fabric.ports[back as usize].rate = Rate::from_bps(1_000_000);
        setup.horizon = Some(Time::from_us(300));
        setup.run("fifo", "").ports[back as usize].dropped.packets
    };
    assert_eq!((lost(PACKETS), lost(PortRules::default())), (19, 0));
}

/// Marks of each port while a flow of 100 packets leaves at once over links of equal rate: only its network card has
/// a queue.
fn marks(port_rules: PortRules) -> Vec<u64> {
    let mut setup = Setup::new(star(2, ENDLESS, port_rules), vec![flow(0, 1, 100 * MSS, Time::ZERO)]);
    setup.transport.initial_window = 100;
    setup.run("dctcp", "").ports.iter().map(|port| port.marked).collect()
}

#[test]
fn network_cards_mark_only_where_they_should() {
    // The first packet leaves at once; the k-th then is the (k − 1)-th of the queue, and those beyond 65 are marked.
    // At dequeue those are marked that leave 66 or more, themselves included: as many, but others.
    for marking_at in [MarkingAt::Enqueue, MarkingAt::Dequeue] {
        let rules = PortRules { marking_at, ..PortRules::default() };
        assert_eq!(marks(rules), [34, 0, 0, 0], "{marking_at:?}");
        assert_eq!(marks(PortRules { cards_mark: false, ..rules }), [0; 4], "{marking_at:?}");
    }
}

#[test]
fn switches_mark_whatever_cards_do() {
    let marked = |cards_mark| {
        let mut setup = three_bursts(ENDLESS, PortRules { cards_mark, ..PortRules::default() }, MSS as u16);
        setup.transport.initial_window = 100;
        let ports = setup.run("dctcp", "").ports;
        let (cards, switch) = ports.split_at(4);
        (
            cards.iter().map(|port| port.marked).sum::<u64>(),
            switch.iter().map(|port| port.marked).sum::<u64>(),
        )
    };
    let (with, without) = (marked(true), marked(false));
    assert_eq!((with.0, without.0), (3 * 34, 0));
    assert!(
        with.1 > 0 && without.1 > with.1,
        "what a card has marked is not marked again: {with:?} {without:?}"
    );
}

#[test]
fn marks_at_dequeue_are_others() {
    // Which packets they are is counted in the tests of queues; here flows that meet tell that it makes a difference.
    let digest = |marking_at| {
        let rules = PortRules { marking_at, ..PortRules::default() };
        let flows = (1..4).map(|src| flow(src, 0, 1_000 * MSS, Time::ZERO)).collect();
        Setup::new(star(4, ENDLESS, rules), flows).run("dctcp", "").digest
    };
    assert_ne!(digest(MarkingAt::Dequeue), digest(MarkingAt::Enqueue));
}

proptest! {
    #![proptest_config(tailrace_cases::cases(40))]
    /// Whatever arrives, the ports of a switch never hold more packets than its memory.
    #[test]
    fn shared_memory_of_packets_is_never_exceeded(
        alpha_percent in 10u32..1000,
        total in 3u64..60,
        mss in prop::sample::select(vec![1u16, 60, 1460, 4000]),
        flows in prop::collection::vec((0u32..9, 0u32..9, 1u64..60, 0u64..60), 1..30),
    ) {
        let buffer = Buffer::Shared { total: Bytes::new(total * PACKET), alpha_percent };
        let flows = flows.into_iter().filter(|(src, dst, ..)| src != dst);
        let flow = |(src, dst, packets, us)| flow(src, dst, packets * u64::from(mss), Time::from_us(us));
        let mut setup = Setup::new(star(9, buffer, PACKETS), flows.map(flow).collect());
        setup.transport.mss = mss;
        let ports = setup.fabric.port_to.clone();
        setup.watch = Watch { ports, every: Some(Time::from_ns(900)), ..Watch::default() };
        setup.horizon = Some(Time::from_us(400));
        let series = setup.run("fifo", "window = 1000").series;
        let mut held: std::collections::BTreeMap<Time, u64> = std::collections::BTreeMap::new();
        for (_, row) in series.iter().filter(|(_, row)| row.metric == "port_packets") {
            *held.entry(row.at).or_default() += row.value as u64;
        }
        for (at, packets) in held {
            prop_assert!(packets <= total, "{packets} packets at {at}");
        }
    }
}
