//! Ends, losses and headers of flows, without a network.

use proptest::prelude::*;
use tailrace_core::{Bytes, CongestionLaw, FlowView, Header, Loss, Rate, Segment, Time};
use tailrace_transport::Message;

use super::scale::{Grains, bps_of};
use super::tests::*;
use super::*;

/// 1 MB at 1 Gbit/s: 8.2 round trips.
#[test]
fn a_flow_gives_notice_of_its_end_and_keeps_its_rate_until_then() {
    let mut law = law(1_000_000, 1);
    answered(&mut law, Time::ZERO, &VIEW, 128 * UNIT, 128 * UNIT);
    let view = |sent| FlowView { sent: Bytes::new(sent), ..VIEW };
    answered(&mut law, RTT, &view(600_000), 128 * UNIT, 128 * UNIT);
    assert_eq!(law.answer().demanded(), 128 * UNIT);
    // 280 KB are 2.3 round trips, of which two are as good as gone.
    answered(&mut law, RTT * 2, &view(720_000), 128 * UNIT, 128 * UNIT);
    assert!((30 * UNIT..45 * UNIT).contains(&law.answer().demanded()), "{:?}", law.answer());
    assert_eq!(law.allowance().pacing, Some(Rate::from_bps(LINK)));
    answered(&mut law, RTT * 3, &view(850_000), 0, 0);
    assert_eq!((law.answer().demanded(), law.allowance().pacing), (0, Some(Rate::from_bps(LINK))));
}

#[test]
fn what_is_lost_is_demanded_again() {
    let mut law = law(1_000_000, 1);
    answered(&mut law, Time::ZERO, &VIEW, 128 * UNIT, 128 * UNIT);
    let all = FlowView { sent: Bytes::new(1_000_000), ..VIEW };
    law.on_loss(RTT, Loss::Timeout, &all);
    assert_eq!(law.probe(RTT, &all).demanded(), 128 * UNIT);
}

#[test]
fn a_request_that_is_lost_stops_its_flow_until_it_is_counted_anew() {
    let mut law = law(1_000_000, 1);
    answered(&mut law, Time::ZERO, &VIEW, 128 * UNIT, 128 * UNIT);
    let lost = law.probe(RTT, &VIEW);
    assert_eq!(
        (lost.requested_before, lost.hops[0].actual),
        (RequestedRates { demand: 128, most: 128 }, 128)
    );
    assert!(law.farewell(RTT).is_none());
    let again = law.probe(law.probe_at(), &VIEW);
    assert_eq!(
        (again.task, again.requested_before, again.hops),
        (1, RequestedRates::default(), BaraatHeader::NONE.hops)
    );
    assert_eq!(law.allowance().window, Bytes::ZERO);
}

/// Counted twice, a flow would keep its rate from others until the port forgets it.
#[test]
fn a_request_that_was_late_and_not_lost_is_taken_back() {
    let mut router = router(Order::FifoLm, 1 << 40);
    let mut law = law(1_000_000, 1);
    let asked = pass(&mut router, Time::ZERO, 3, law.probe(Time::ZERO, &VIEW));
    let again = law.probe_at();
    pass(&mut router, again, 3, law.probe(again, &VIEW));
    assert_eq!(router.classifier().total(again).flows, 2);
    let late = again + RTT;
    law.on_feedback(late, late, &asked.returned(), &VIEW);
    assert!(law.probe_at() <= late);
    pass(&mut router, late, 3, law.probe(late, &VIEW));
    assert_eq!(router.classifier().total(late).flows, 1);
    assert!(law.probe_at() > late, "the request under way is still waited for");
}

#[test]
fn who_has_sent_all_asks_for_nothing_so_that_its_end_can_tell_what_was_counted() {
    let mut router = router(Order::FifoLm, 1 << 40);
    let mut law = law(1_000, 1);
    let segment = Segment { before: Bytes::ZERO, len: 1_000, last: true };
    let asked = law.stamp(Time::ZERO, &segment, &VIEW);
    assert_eq!((asked.message, law.probe_at()), (Message::Request, Time::MAX));
    assert!(law.farewell(RTT).is_none(), "ports have counted what only the answer tells");
    let asked = pass(&mut router, Time::ZERO, 3, asked);
    let done = FlowView { sent: Bytes::new(1_000), ..VIEW };
    law.on_feedback(RTT, RTT, &asked.returned(), &done);
    assert_eq!(law.probe_at(), Time::MAX);
    pass(&mut router, RTT, 3, law.farewell(RTT).unwrap());
    assert_eq!(router.classifier().total(RTT).flows, 0);
}

/// What ports keep for a flow of a packet is for others when that has passed, and not a round trip later.
#[test]
fn the_last_segment_ends_its_flow_once() {
    let mut router = router(Order::FifoLm, 1 << 40);
    let mut law = law(1_000, 1);
    let asked = pass(&mut router, Time::ZERO, 3, law.probe(Time::ZERO, &VIEW));
    law.on_feedback(RTT, RTT, &asked.returned(), &VIEW);
    let segment = Segment { before: Bytes::ZERO, len: 1_000, last: true };
    let last = law.stamp(RTT, &segment, &VIEW);
    assert_eq!(last.message, Message::End);
    pass(&mut router, RTT, 3, last);
    assert_eq!(router.classifier().total(RTT).flows, 0);
    assert!(law.farewell(RTT * 2).is_none());
    // It is lost, and sent again with a request that ports count as the first.
    let all = FlowView { sent: Bytes::new(1_000), ..VIEW };
    law.on_loss(RTT * 9, Loss::Timeout, &all);
    let again = law.stamp(RTT * 9, &segment, &all);
    assert_eq!((again.message, again.requested_before), (Message::Request, RequestedRates::default()));
    pass(&mut router, RTT * 9, 3, again);
    assert_eq!(router.classifier().total(RTT * 9).flows, 1);
}

proptest! {
    /// Whatever flows demand, of whatever tasks, in whatever order.
    #[test]
    fn grants_fit_the_link_once_all_have_asked_and_fill_it_if_they_ask_for_more(
        flows in prop::collection::vec((1u32..6, 1u64..=128), 1..40),
        order in prop::sample::select(vec![Order::FifoLm, Order::Fifo, Order::Fair, Order::Flow]),
        heavy in prop::sample::select(vec![0, 1 << 40]),
    ) {
        let mut flows = Flows::new(order, heavy, &flows);
        for round in 1..9 {
            let sum: f64 = flows.rounds(1).iter().sum();
            prop_assert!(sum <= 128.0, "{sum} after {round} rounds");
        }
        let counted = flows.router.classifier().total(flows.now).allocated;
        prop_assert_eq!(counted, flows.answers.iter().map(BaraatHeader::actual).sum::<Grains>());
        let demanded: Grains = flows.demands.iter().sum();
        // Each may lose a 128th of what it demands to rounding, and a unit where shares are a fraction.
        let rounding = flows.demands.len() as Grains * UNIT;
        prop_assert!(counted + rounding >= demanded.min(128 * UNIT), "{} of {demanded}", counted);
    }

    #[test]
    fn what_is_encoded_is_decoded(raw: [u8; 26], message in 1u8..4, index in 0u8..=6, ends_soon: bool) {
        let mut whole = raw;
        whole[17] &= 0x3F;
        whole[21] = message << 4 | u8::from(ends_soon) << 3 | index;
        let header = BaraatHeader::decode(&whole).unwrap();
        prop_assert_eq!((header.index.ports(), header.index.ends_soon()), (index.into(), ends_soon));
        let mut again = [0xAA; 26];
        header.encode(&mut again);
        prop_assert_eq!(again, whole);
        prop_assert_eq!(BaraatHeader::decode(&whole[..25]), None);
        for bits_that_are_free in [0x40, 0x80, 0xC0] {
            whole[17] = again[17] | bits_that_are_free;
            prop_assert_eq!(BaraatHeader::decode(&whole), None, "what is in them would be lost");
        }
    }
}

#[test]
fn what_is_no_header_is_not_read() {
    assert_eq!(BaraatHeader::decode(&[0; 26]), None);
    assert_eq!(BaraatHeader::decode(&[0x77; 26]), None);
    assert_eq!(BaraatHeader::decode(&[0x17; 26]), None);
    assert_eq!(size_of::<BaraatHeader>(), 36);
    assert_eq!(BaraatHeader::NONE.message, Message::None);
    assert_eq!(bps_of(128 * UNIT), LINK);
}
