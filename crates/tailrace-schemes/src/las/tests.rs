//! What it knows, and how it ranks.

use super::*;
use tailrace_core::{Bytes, CongestionLaw, FlowView, Rate, Segment, Time};

#[test]
fn packets_are_ranked_by_what_precedes_them_whatever_the_flow_reveals() {
    let facts = Facts::new(2, Rate::from_gbps(10), Time::from_us(85), 4);
    let told = FlowInfo {
        id: 0,
        src: 0,
        dst: 1,
        size: Some(Bytes::new(9_000)),
        start: Time::ZERO,
        deadline: Some(Time::from_us(1)),
        slice: 0,
        task: 0,
    };
    let mut law = Las::new(Params::default(), &facts).unwrap().law(&told);
    let flow = FlowView { sent: Bytes::new(8_000), acked: Bytes::ZERO, delivered: Bytes::new(4_000) };
    let before = Bytes::new(2_920);
    let segment = Segment { before, len: 1460, last: false };
    assert_eq!(law.stamp(Time::from_ms(1), &segment, &flow), Rank::amount(before));
    assert_eq!(
        Las::KNOWS.filter(told),
        FlowInfo { id: 0, src: 0, dst: 1, size: None, start: Time::ZERO, deadline: None, slice: 0, task: 0 }
    );
}
