//! Where the packets of a flow go, and which thresholds are refused.

use super::*;
use tailrace_core::{Rate, Time};

const MSS: u64 = 1460;

fn scheme(params: Params) -> Result<Mlfq, ParamError> {
    let facts = Facts::new(2, Rate::from_gbps(10), Time::from_us(85), 4);
    Mlfq::new(params, &facts)
}

fn with_thresholds(bytes: &[u64], queues: u8) -> Result<Mlfq, ParamError> {
    let port = PortParams { queues, ..PortParams::default() };
    scheme(Params { thresholds: bytes.iter().map(|&b| Bytes::new(b)).collect(), port, ..Params::default() })
}

/// How many of the first `packets` of a flow go to each queue.
fn spread(scheme: &Mlfq, packets: u64) -> [u64; 8] {
    let flow =
        FlowInfo { id: 0, src: 0, dst: 1, size: None, start: Time::ZERO, deadline: None, slice: 0, task: 0 };
    let tags = scheme.host().directive(&flow).tags;
    let mut queues = [0; 8];
    (0..packets).for_each(|packet| queues[usize::from(tags.priority(packet * MSS))] += 1);
    queues
}

#[test]
fn thresholds_seven_kilobytes_apart_take_five_packets_each() {
    let scheme = scheme(Params::default()).unwrap();
    assert_eq!(spread(&scheme, 5), [5, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(spread(&scheme, 100), [5, 5, 5, 5, 4, 5, 5, 66]);
}

#[test]
fn a_flow_as_large_as_a_threshold_stays_above_it() {
    let scheme = with_thresholds(&[10 * MSS], 2).unwrap();
    assert_eq!(spread(&scheme, 10), [10, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(spread(&scheme, 11), [10, 1, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn equal_thresholds_leave_a_queue_unused() {
    let scheme = with_thresholds(&[2 * MSS, 2 * MSS, 5 * MSS], 4).unwrap();
    assert_eq!(spread(&scheme, 10), [2, 0, 3, 5, 0, 0, 0, 0]);
}

#[test]
fn what_is_wrong_is_named() {
    let error = |scheme: Result<Mlfq, ParamError>| scheme.map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        error(with_thresholds(&[1, 2], 8)),
        "thresholds: 2 thresholds for 8 queues: one fewer than queues is needed"
    );
    assert_eq!(
        error(with_thresholds(&[2000, 1000], 3)),
        "thresholds: 2KB comes before 1KB: thresholds must ascend"
    );
    let law = LawParams { gain: 0.0, ..LawParams::ns2() };
    assert!(error(scheme(Params { law, ..Params::default() })).starts_with("law.gain: 0 must be above 0"));
    assert!(error(with_thresholds(&[], 0)).starts_with("port.queues: 0 queues"));
}

#[test]
fn a_switch_is_told_which_packets_are_for_which_queue() {
    let scheme = with_thresholds(&[10_001, 10_001, 20_001], 4).unwrap();
    let plan = scheme.switch_plan(Rate::from_gbps(10)).unwrap();
    let queues: Vec<(u8, &str)> =
        plan.queues.iter().map(|queue| (queue.dscp, queue.holds.as_str())).collect();
    let expected = [
        (7, "acknowledgements; data with at most 10KB of its flow before it"),
        (6, "nothing"),
        (5, "data with more than 10KB, at most 20KB of its flow before it"),
        (4, "data with more than 20KB of its flow before it"),
    ];
    assert_eq!(queues, expected);
}
