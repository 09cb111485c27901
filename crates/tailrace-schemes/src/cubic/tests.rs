//! The window over time against the equations of RFC 9438 by hand.

use tailrace_core::{AckSample, Bytes, CongestionLaw, FlowView, Loss, Time};

use super::*;

const MSS: u64 = 1460;
const VIEW: FlowView = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };

fn law(initial_window: u32) -> CubicLaw {
    let transport = TransportParams { initial_window, max_window: 1_000_000, ..TransportParams::default() };
    CubicLaw::new(LawParams::default(), &transport)
}

fn lose(law: &mut CubicLaw, loss: Loss) {
    law.on_loss(Time::ZERO, loss, &VIEW);
}

/// All of the window is acknowledged, segment by segment, over one round trip that ends at `end`.
fn round(law: &mut CubicLaw, rtt: Time, end: Time) {
    let segments = law.segments() as u64;
    for i in 1..=segments {
        let now = end - rtt + Time::from_ps(rtt.as_ps() / segments * i);
        let acked = Bytes::new(MSS);
        let ack = AckSample {
            now,
            acked,
            marked: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            rtt,
            srtt: rtt,
            app_limited: false,
        };
        law.on_ack(&ack, &VIEW);
    }
}

/// The window after `seconds` of round trips without loss.
fn after(law: &mut CubicLaw, rtt: Time, seconds: f64) -> f64 {
    let rounds = (seconds / rtt.as_secs_f64()).round() as u64;
    (1..=rounds).for_each(|n| round(law, rtt, Time::from_ps(rtt.as_ps() * n)));
    law.segments()
}

#[test]
fn over_long_ways_the_window_is_a_cube_around_the_plateau() {
    // 1000 segments, one loss: 700, and K = ∛(300 / 0.4) = 9.09 s back to 1000.
    let rise = (300.0f64 / 0.4).cbrt();
    for (seconds, at) in
        [(rise / 2.0, 1000.0 - 0.4 * (rise / 2.0).powi(3)), (rise, 1000.0), (rise + 5.0, 1050.0)]
    {
        let mut law = law(1000);
        lose(&mut law, Loss::Fast);
        assert_eq!(law.segments(), 700.0);
        let window = after(&mut law, Time::from_ms(100), seconds);
        assert!((window / at - 1.0).abs() < 0.01, "{window} instead of {at} after {seconds} s");
    }
}

#[test]
fn over_short_ways_it_is_renos() {
    // From 70 segments, 3·0.3/1.7 = 0.53 segments a round trip until the 100 of before, then one.
    let mut law = law(100);
    lose(&mut law, Loss::Fast);
    let window = after(&mut law, Time::from_us(100), 50.0 * 100e-6);
    assert!((window - (70.0 + 50.0 * 0.9 / 1.7)).abs() < 0.5, "{window}");
    let window = after(&mut law, Time::from_us(100), 50.0 * 100e-6);
    assert!((window - (100.0 + 50.0 - 30.0 * 1.7 / 0.9 + 50.0)).abs() < 1.5, "{window}");
}

#[test]
fn a_flow_that_has_not_recovered_gives_way() {
    let mut law = law(1000);
    lose(&mut law, Loss::Fast);
    assert_eq!((law.plateau(), law.segments()), (1000.0, 700.0));
    lose(&mut law, Loss::Fast);
    assert_eq!((law.plateau(), law.segments()), (700.0 * 0.85, 700.0 * 0.7));
}

#[test]
fn a_timeout_starts_over_and_forgets_the_plateau() {
    let mut law = law(1000);
    lose(&mut law, Loss::Timeout);
    assert_eq!(law.segments(), 1.0);
    // Slow start to 700 takes ten round trips; then it grows from there, not back to 1000.
    let window = after(&mut law, Time::from_ms(100), 1.5);
    assert!((700.0..720.0).contains(&window), "{window}");
}

#[test]
fn bounds_are_checked() {
    let field = |params: LawParams| params.check().unwrap_err().field;
    assert_eq!(field(LawParams { growth: 0.0, ..LawParams::default() }), "growth");
    assert_eq!(field(LawParams { cut: 1.0, ..LawParams::default() }), "cut");
    assert_eq!(LawParams::default().check(), Ok(()));
}
