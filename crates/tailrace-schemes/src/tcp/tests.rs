//! The law without a network, round trip by round trip, in segments.

use super::*;
use tailrace_core::Bytes;

const MSS: u64 = 1460;
const VIEW: FlowView = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };

fn law(initial_window: u32, max_window: u32) -> NewReno {
    NewReno::new(&TransportParams { initial_window, max_window, ..TransportParams::default() })
}

fn acknowledge(law: &mut NewReno, segments: u64) {
    law.on_ack(
        &AckSample {
            now: Time::ZERO,
            acked: Bytes::new(segments * MSS),
            marked: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            rtt: Time::from_us(100),
            srtt: Time::from_us(100),
            app_limited: false,
        },
        &VIEW,
    );
}

/// The window at the start of each of `rounds` round trips, in which all that it lets out is acknowledged.
fn curve(law: &mut NewReno, rounds: usize) -> Vec<u64> {
    let round = |law: &mut NewReno| {
        let window = law.0.segments().round() as u64;
        (0..law.allowance().window.get() / MSS).for_each(|_| acknowledge(law, 1));
        window
    };
    (0..rounds).map(|_| round(law)).collect()
}

#[test]
fn slow_start_doubles_up_to_the_receivers_buffer() {
    assert_eq!(curve(&mut law(10, 100), 6), [10, 20, 40, 80, 100, 100]);
}

#[test]
fn a_loss_halves_and_then_a_segment_a_round_is_added() {
    let mut law = law(10, 10_000);
    assert_eq!(curve(&mut law, 4), [10, 20, 40, 80]);
    law.on_loss(Time::ZERO, Loss::Fast, &VIEW);
    assert_eq!(curve(&mut law, 5), [80, 81, 82, 83, 84]);
}

#[test]
fn a_timeout_starts_over_and_slows_down_at_half() {
    let mut law = law(40, 10_000);
    law.on_loss(Time::ZERO, Loss::Timeout, &VIEW);
    // Of the 16 acknowledgements, 4 end slow start at 20; the others add up to half a segment.
    assert_eq!(curve(&mut law, 7), [1, 2, 4, 8, 16, 21, 22]);
}

#[test]
fn losses_leave_one_segment() {
    let mut law = law(10, 10_000);
    (0..10).for_each(|_| law.on_loss(Time::ZERO, Loss::Fast, &VIEW));
    assert_eq!(law.allowance().window, Bytes::new(MSS));
    // The slow-start threshold is never below two.
    assert_eq!(curve(&mut law, 3), [1, 2, 3]);
}

#[test]
fn one_acknowledgement_for_many_segments_opens_as_far() {
    let (mut one, mut many) = (law(10, 10_000), law(10, 10_000));
    acknowledge(&mut one, 10);
    (0..10).for_each(|_| acknowledge(&mut many, 1));
    assert_eq!(one.allowance(), many.allowance());
}
