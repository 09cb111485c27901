//! Cuts by hand (schemes.md §13, item 13), and the law on its own.

use super::*;

const MSS: u64 = 1460;
const US: fn(u64) -> Time = Time::from_us;

/// A law with a window of 100 segments and α = 1/2 after its next window, and size and deadline.
fn law(due: Option<(u64, Time)>) -> D2tcpLaw {
    let transport = TransportParams { initial_window: 100, ..TransportParams::default() };
    // A gain this small leaves α where it is.
    let params = LawParams { gain: 1e-9, initial_alpha: 0.5 };
    D2tcpLaw {
        dctcp: DctcpLaw::new(&params, &transport),
        urgency: Urgency {
            due: due.map(|(segments, at)| (Bytes::new(segments * MSS), at)),
            bounds: [0.5, 2.0],
        },
        terminate: None,
        standing: Standing::Going,
    }
}

/// The window after one marked acknowledgement at 1 ms.
fn cut(law: &mut D2tcpLaw) -> f64 {
    let acked = Bytes::new(MSS);
    let ack = AckSample {
        now: US(1_000),
        acked,
        marked: acked,
        in_flight: Bytes::ZERO,
        // What one packet took tells nothing.
        rtt: US(900),
        srtt: US(100),
        app_limited: false,
    };
    CongestionLaw::on_ack(law, &ack, &FlowView { sent: acked, acked, delivered: acked });
    law.dctcp.window().segments()
}

#[test]
fn the_cut_follows_urgency() {
    // d = 1/2 (far more time than needed, or late), 1 (no deadline, or just in time), 2 (far behind).
    let close = |due, window: f64| {
        let left = cut(&mut law(due));
        assert!((left - window).abs() < 0.05, "{due:?}: {left} instead of {window}");
    };
    close(Some((751, US(100_000))), 64.6);
    close(None, 75.0);
    // 750 segments at 75 a round trip take ten of them: 1 ms.
    close(Some((751, US(2_000))), 75.0);
    close(Some((75_001, US(2_000))), 87.5);
    close(Some((751, US(900))), 64.6);
}

#[test]
fn alpha_stays_what_it_is() {
    let mut law = law(Some((75_001, US(2_000))));
    cut(&mut law);
    assert!((law.dctcp.alpha() - 0.5).abs() < 1e-6);
}

#[test]
fn a_hopeless_flow_is_given_up_only_if_asked() {
    let due = Some((75_001, US(2_000)));
    let mut patient = law(due);
    cut(&mut patient);
    assert_eq!(CongestionLaw::standing(&patient), Standing::Going);
    // 109.5 MB in 1 ms are more than 10 Gbps carry; 751 segments are not.
    let mut strict = D2tcpLaw { terminate: Some(1.25e9), ..law(due) };
    cut(&mut strict);
    assert_eq!(CongestionLaw::standing(&strict), Standing::Stopped);
    let mut feasible = D2tcpLaw { terminate: Some(1.25e9), ..law(Some((751, US(2_000)))) };
    cut(&mut feasible);
    assert_eq!(CongestionLaw::standing(&feasible), Standing::Going);
}

#[test]
fn bounds_are_checked() {
    let facts = Facts::new(2, Rate::from_gbps(10), US(85), 4);
    let params = Params { urgency: [1.5, 2.0], ..Params::default() };
    let error = D2tcp::new(params, &facts).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.starts_with("urgency: [1.5, 2] must be"), "{error}");
}
