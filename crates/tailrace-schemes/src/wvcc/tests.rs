//! The shim without a network.

use tailrace_core::{AckSample, Allowance, Bytes, CongestionLaw, FlowView, Loss, Time};

use super::guest::NO_GUESTS;
use super::*;
use crate::dctcp::LawParams;

const MSS: u64 = 1460;

/// A guest that always has a window of so many bytes and writes down the marks that it sees.
#[derive(Clone, Copy)]
struct Idler {
    window: u64,
    marked: Bytes,
}

impl CongestionLaw for Idler {
    fn on_ack(&mut self, ack: &AckSample, _: &FlowView) {
        self.marked += ack.marked;
    }
    fn on_loss(&mut self, _: Time, _: Loss, _: &FlowView) {}
    fn allowance(&self) -> Allowance {
        Allowance { window: Bytes::new(self.window), pacing: None }
    }
}

/// A shim around such a guest, in congestion avoidance with 100 segments and α = 1/2 that stays.
fn shim(window: u64, params: ShimParams) -> Enforced<Idler> {
    let transport = TransportParams { initial_window: 200, ..TransportParams::default() };
    let law = LawParams { gain: 1e-9, initial_alpha: 0.5 };
    let flow = FlowInfo {
        id: 0,
        src: 0,
        dst: 1,
        size: None,
        start: Time::from_ms(1),
        deadline: None,
        slice: 1,
        task: 0,
    };
    let guest = Idler { window, marked: Bytes::ZERO };
    let mut shim = Enforced::new(guest, &ShimParams { law, ..params }, by_growth, &flow, &transport);
    let none = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };
    shim.on_loss(Time::ZERO, Loss::Fast, &none);
    shim
}

fn acknowledge(shim: &mut Enforced<Idler>, segments: u64, marked: bool) {
    let acked = Bytes::new(segments * MSS);
    let ack = AckSample {
        now: Time::from_us(100),
        acked,
        marked: if marked { acked } else { Bytes::ZERO },
        in_flight: Bytes::ZERO,
        rtt: Time::from_us(100),
        srtt: Time::from_us(100),
        app_limited: false,
    };
    shim.on_ack(&ack, &FlowView { sent: acked, acked, delivered: acked });
}

fn weigh(shim: &mut Enforced<Idler>, weight: f64) {
    let weight = Weight::nearest(weight);
    shim.directed(&Directive { weight, ..Directive::tagged(TagTable::FLAT) });
}

/// What the shim lets out.
fn window(shim: &Enforced<Idler>) -> u64 {
    shim.allowance().window.get()
}

/// The shim's own window, in segments.
fn segments(shim: &Enforced<Idler>) -> f64 {
    shim.window().window().segments()
}

const EXACT: fn() -> ShimParams = || ShimParams { window_scale: 2, ..ShimParams::default() };

#[test]
fn windows_grow_by_their_weight_and_cut_as_dctcp() {
    for weight in [1.0, 0.5, 0.25] {
        let mut shim = shim(1 << 30, EXACT());
        weigh(&mut shim, weight);
        assert_eq!(segments(&shim), 100.0, "a new weight leaves the window");
        acknowledge(&mut shim, 100, false);
        assert!((segments(&shim) - 100.0 - weight).abs() < 1e-9, "weight {weight}");
        let before = segments(&shim);
        acknowledge(&mut shim, 101, true);
        assert!((segments(&shim) - before * 0.75).abs() < 1e-6, "weight {weight}");
    }
}

/// A flow of which `sent` segments have been sent and `acked` acknowledged, the last of them with a mark.
fn marked_ack(shim: &mut Enforced<Idler>, acked: u64, sent: u64) {
    let segment = Bytes::new(MSS);
    let ack = AckSample {
        now: Time::from_us(100),
        acked: segment,
        marked: segment,
        in_flight: Bytes::ZERO,
        rtt: Time::from_us(100),
        srtt: Time::from_us(100),
        app_limited: false,
    };
    let acked = Bytes::new(acked * MSS);
    shim.on_ack(&ack, &FlowView { sent: Bytes::new(sent * MSS), acked, delivered: acked });
}

#[test]
fn marks_of_the_window_after_a_cut_are_not_counted() {
    for (settle, cuts) in [(true, [75.0, 75.0, 75.0, 75.0, 56.0]), (false, [75.0, 75.0, 56.0, 56.0, 42.0])] {
        let mut shim = shim(1 << 30, ShimParams { settle, ..EXACT() });
        weigh(&mut shim, 1e-4);
        // The cut, the end of its window, the window after it, its end, and the one after that.
        let acks = [(1, 100), (100, 175), (101, 175), (175, 250), (251, 330)];
        for ((acked, sent), segments_then) in acks.into_iter().zip(cuts) {
            marked_ack(&mut shim, acked, sent);
            assert!((segments(&shim) - segments_then).abs() < 0.3, "{settle} {acked}: {}", segments(&shim));
        }
    }
}

#[test]
fn whole_segments_are_the_window_on_average() {
    for window in [1.2, 4.45, 4.5, 4.8, 37.02] {
        let (mut rounding, mut shown) = (super::rounding::Rounding::default(), 0);
        for round_trip in 0..1000 {
            shown += rounding.whole(window);
            assert!((rounding.whole(window) as f64 - window).abs() < 1.0, "{window}");
            let view = |bytes| FlowView {
                sent: Bytes::new(bytes + 1),
                acked: Bytes::new(bytes),
                delivered: Bytes::ZERO,
            };
            rounding.acknowledged(window, &view(round_trip));
        }
        assert!((shown as f64 / 1000.0 - window).abs() < 0.005, "{window}: {shown} in 1000 round trips");
    }
}

#[test]
fn the_guest_sees_marks_only_if_shown() {
    for (show_marks, seen) in [(false, 0), (true, 100 * MSS)] {
        let mut shim = shim(1 << 30, ShimParams { show_marks, ..EXACT() });
        acknowledge(&mut shim, 100, true);
        assert_eq!(shim.guest().marked.get(), seen);
    }
}

#[test]
fn the_smaller_window_holds() {
    assert_eq!(window(&shim(10 * MSS, EXACT())), 10 * MSS);
    assert_eq!(window(&shim(1 << 30, EXACT())), 100 * MSS);
}

#[test]
fn receive_windows_are_told_in_units_and_never_too_small() {
    // 146,000 bytes in units of 2^7: rounded up; 2^14: nine of them.
    let told = |window_scale| window(&shim(1 << 30, ShimParams { window_scale, ..ShimParams::default() }));
    assert_eq!(told(7), 146_000u64.div_ceil(128) * 128);
    assert_eq!(told(14), 9 << 14);
    // Without a scale a header holds 65,535 bytes.
    assert_eq!(told(0), 65_535);
}

#[test]
fn flows_first_seen_in_mid_stream_are_left_alone() {
    let late = ShimParams { from: Time::from_ms(2), ..ShimParams::default() };
    assert_eq!(window(&shim(1 << 20, late)), 1 << 20);
}

#[test]
fn a_loss_halves_and_a_timeout_starts_over() {
    let none = FlowView { sent: Bytes::ZERO, acked: Bytes::ZERO, delivered: Bytes::ZERO };
    let mut shim = shim(1 << 30, EXACT());
    shim.on_loss(Time::ZERO, Loss::Fast, &none);
    assert_eq!(window(&shim), 50 * MSS);
    shim.on_loss(Time::ZERO, Loss::Timeout, &none);
    assert_eq!(window(&shim), MSS, "no window is below a segment");
}

#[test]
fn weights_above_one_are_made_smaller_together() {
    let slice = |weight| Slice { weight, objective: Default::default() };
    let weights = SliceWeights::up_to_one(&[slice(1.0), slice(2.0), slice(4.0)]);
    let of = |slice| {
        let flow =
            FlowInfo { id: 0, src: 0, dst: 1, size: None, start: Time::ZERO, deadline: None, slice, task: 0 };
        weights.directive(&flow).weight.get()
    };
    assert_eq!((of(1), of(2), of(3), of(0)), (0.25, 0.5, 1.0, 1.0));
    assert_eq!(SliceWeights::up_to_one(&[slice(0.25)]).weights, [Weight::nearest(0.25)]);
}

#[test]
fn bounds_are_checked() {
    let wrong = ShimParams { window_scale: 15, ..ShimParams::default() };
    assert_eq!(wrong.check().unwrap_err().field, "window_scale");
    assert_eq!(ShimParams::default().check(), Ok(()));
}

#[test]
fn guests_are_called_what_their_schemes_are() {
    #[derive(Serialize, Deserialize)]
    struct Field {
        guest: GuestKind,
    }
    for name in GuestKind::NAMES {
        let text = format!("guest = \"{name}\"\n");
        let read: Field = toml::from_str(&text).unwrap();
        assert_eq!(toml::to_string(&read).unwrap(), text);
    }
}

#[test]
fn every_scheme_is_a_guest_or_is_known_to_be_none() {
    let mut known = [GuestKind::NAMES, NO_GUESTS].concat();
    let mut all = crate::NAMES.to_vec();
    known.sort_unstable();
    all.sort_unstable();
    assert_eq!(known, all, "a scheme is one of guests! or of NO_GUESTS in wvcc/guest.rs");
}
