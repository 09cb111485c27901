//! Weights and cuts by hand (schemes.md §13, item 14).

use super::*;
use tailrace_core::{Loss, Time};

const MSS: u64 = 1460;

#[test]
fn a_flow_weighs_less_the_more_it_has_sent() {
    let weight = Weight::default();
    let after = |sent: u64| weight.after(Bytes::new(sent));
    assert_eq!((after(0), after(204_800), after(1_048_576), after(u64::MAX)), (2.5, 2.5, 0.125, 0.125));
    let by_hand = 2.5 - (614_400.0 - 204_800.0) / (1_048_576.0 - 204_800.0) * 2.375;
    assert!((after(614_400) - by_hand).abs() < 1e-12 && (by_hand - 1.347).abs() < 1e-3);
}

/// The window of 100 segments after an acknowledgement at α = 1/2, marked or not, in congestion avoidance, of
/// a flow that has sent so much.
fn window(sent: u64, marked: bool) -> f64 {
    let transport = TransportParams { initial_window: 200, ..TransportParams::default() };
    // A gain this small leaves α where it is.
    let params = LawParams { gain: 1e-9, initial_alpha: 0.5 };
    let mut law = L2dctLaw::new(&params, Weight::default(), &transport);
    let none = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };
    law.on_loss(Time::ZERO, Loss::Fast, &none);
    let acked = Bytes::new(MSS);
    let ack = AckSample {
        now: Time::from_us(100),
        acked,
        marked: if marked { acked } else { Bytes::ZERO },
        in_flight: Bytes::ZERO,
        rtt: Time::from_us(100),
        srtt: Time::from_us(100),
        app_limited: false,
    };
    law.on_ack(&ack, &FlowView { sent: Bytes::new(sent), acked, delivered: acked });
    law.dctcp.window().segments()
}

#[test]
fn growth_and_cut_follow_the_weight() {
    let close = |window: f64, expected: f64| assert!((window - expected).abs() < 1e-6, "{window} {expected}");
    close(window(0, false), 100.01);
    close(window(2_000_000, false), 100.0 + 0.05 / 100.0);
    // b = 1/2^2.5 = 0.177 of a young flow, 1/2^0.125 = 0.917 of an old one.
    close(window(0, true), 100.0 * (1.0 - 0.5f64.powf(2.5) / 2.0));
    close(window(2_000_000, true), 100.0 * (1.0 - 0.917_004_043 / 2.0));
}

#[test]
fn bounds_are_checked() {
    let field = |weight: Weight| weight.check().unwrap_err().field;
    assert_eq!(field(Weight { least: 0.0, ..Weight::default() }), "least");
    assert_eq!(field(Weight { most: f64::NAN, ..Weight::default() }), "least");
    assert_eq!(field(Weight { from: Bytes::new(1 << 20), ..Weight::default() }), "from");
    assert_eq!(Weight::default().check(), Ok(()));
}
