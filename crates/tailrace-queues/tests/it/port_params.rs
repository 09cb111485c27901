//! What a port's parameters may be, and what a switch is told of them.

use tailrace_core::{MarkedLength, QueueLength, Rate, Service};
use tailrace_queues::{MarkingScope, PortParams, SchedulerKind};

fn weighted(queues: u8, weights: &[f64]) -> PortParams {
    PortParams { queues, scheduler: SchedulerKind::Drr, weights: weights.to_vec(), ..PortParams::default() }
}

/// The field that is refused.
fn refused(params: &PortParams) -> Option<String> {
    params.check().err().map(|error| error.field)
}

#[test]
fn queues_are_one_to_eight() {
    for (queues, field) in [(0, Some("queues")), (1, None), (8, None), (9, Some("queues"))] {
        assert_eq!(refused(&weighted(queues, &[])).as_deref(), field, "{queues} queues");
    }
}

#[test]
fn weights_are_numbers_above_zero_and_no_more_than_queues() {
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(&weighted(2, &[1.0, weight])).as_deref(), Some("weights"), "{weight}");
    }
    assert_eq!(refused(&weighted(2, &[1.0, 2.0])), None);
    assert_eq!(refused(&weighted(2, &[1.0, 2.0, 3.0])).as_deref(), Some("weights"));
}

#[test]
fn the_largest_weight_is_at_most_a_hundred_thousand_times_the_least() {
    assert_eq!(refused(&weighted(2, &[1.0, 1e5])), None);
    assert_eq!(refused(&weighted(2, &[1.0, 1.001e5])).as_deref(), Some("weights"));
    // A missing weight is 1; of as many weights as queues none is missing.
    assert_eq!(refused(&weighted(3, &[1e-3, 1e-3])), None);
    assert_eq!(refused(&weighted(3, &[1e-6, 1e-6])).as_deref(), Some("weights"));
    assert_eq!(refused(&weighted(2, &[1e-6, 1e-6])), None);
}

#[test]
fn where_hosts_tag_nothing_there_is_one_queue() {
    assert_eq!(PortParams::one_queue(), PortParams { queues: 1, ..PortParams::default() });
    assert!(PortParams::one_queue().check_untagged().is_ok());
    assert_eq!(weighted(2, &[]).check_untagged().unwrap_err().field, "queues");
    assert_eq!(weighted(0, &[]).check_untagged().unwrap_err().field, "queues");
}

#[test]
fn one_queue_is_strict_and_so_are_strict_ones() {
    for (queues, scheduler, strict) in [
        (1, SchedulerKind::Strict, true),
        (1, SchedulerKind::Wfq, true),
        (2, SchedulerKind::Strict, true),
        (2, SchedulerKind::Wfq, false),
        (2, SchedulerKind::Drr, false),
    ] {
        let params = PortParams { queues, scheduler, ..PortParams::default() };
        assert_eq!(params.is_strict(), strict, "{queues} queues, {scheduler:?}");
    }
}

#[test]
fn a_switch_is_told_queues_service_and_marking() {
    let threshold = QueueLength::Packets(30);
    let link = Rate::from_gbps(10);
    for (scheduler, service) in [
        (SchedulerKind::Strict, Service::Strict),
        (SchedulerKind::Drr, Service::Weighted),
        (SchedulerKind::Wfq, Service::Weighted),
    ] {
        for (marking, length) in [
            (MarkingScope::Port, Some(MarkedLength::Port)),
            (MarkingScope::Queue, Some(MarkedLength::Queue)),
            (MarkingScope::PortExceptFirst, Some(MarkedLength::PortExceptFirst)),
            (MarkingScope::None, None),
        ] {
            let marking_threshold = threshold.into();
            let params =
                PortParams { queues: 3, scheduler, marking, marking_threshold, ..PortParams::default() };
            let plan = params.switch_plan(link, |queue| format!("class {queue}"));
            assert_eq!(plan.service, service);
            assert_eq!(plan.marking.as_ref().map(|marking| marking.length), length);
            assert!(plan.marking.is_none_or(|marking| marking.above_bytes == threshold.bytes().get()));
            let holds: Vec<&str> = plan.queues.iter().map(|queue| queue.holds.as_str()).collect();
            assert_eq!(holds, ["class 0", "class 1", "class 2"]);
        }
    }
    let untagged = PortParams { queues: 2, ..PortParams::default() }.untagged_plan(link);
    let holds: Vec<&str> = untagged.queues.iter().map(|queue| queue.holds.as_str()).collect();
    assert_eq!(holds, ["everything", "nothing"]);
}
