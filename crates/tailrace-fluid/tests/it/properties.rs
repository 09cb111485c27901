//! What holds for any model, and what is said of those that cannot be solved.

use proptest::prelude::*;
use tailrace_fluid::{FluidError, Lag, Law, Model, uniform_windows};

fn law() -> impl Strategy<Value = Law> {
    prop_oneof![
        (1usize..5).prop_map(|flows| Law::Dctcp { flows }),
        prop::collection::vec(0.05..4.0, 1..5).prop_map(|weights| Law::Wvcc { weights }),
        prop::collection::vec(0.0..=1.0, 1..5).prop_map(|priorities| Law::Acdc { priorities }),
    ]
}

prop_compose! {
    /// Bandwidth-delay products of 5 to 2000 packets and thresholds of 1 to 200.
    fn model()(
        law in law(), pipe in 5.0..2000.0, rtt in 1e-5..0.1, threshold in 1.0..200.0, most in 1.0..300.0,
        seed in 0u64..1000, (shared_alpha, base_lag, late) in any::<(bool, bool, bool)>(),
    ) -> Model {
        let flows = law.flows();
        let mut model = Model::new(law, pipe / rtt, rtt, threshold);
        model.duration = 200.0 * rtt;
        model.initial_windows = uniform_windows(flows, most, seed);
        model.starts[flows - 1] = if late { 100.0 * rtt } else { 0.0 };
        model.lag = if base_lag { Lag::Base } else { Lag::Threshold };
        model.shared_alpha = shared_alpha;
        model
    }
}

proptest! {
    #![proptest_config(tailrace_cases::cases(48))]

    #[test]
    fn every_sample_is_there_and_means_something(model in model()) {
        let run = model.solve().unwrap();
        prop_assert_eq!(run.times.len(), 2001);
        prop_assert!(run.queue.iter().all(|&q| q >= 0.0 && q.is_finite()));
        prop_assert!(run.windows.iter().flatten().all(|&w| w >= 0.0 && w.is_finite()));
        prop_assert!(run.alphas.iter().flatten().all(|&a| (-1e-6..=1.000_001).contains(&a)));
        let shares: f64 = run.summary(0.0, model.duration).unwrap().shares.iter().sum();
        prop_assert!((shares - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_unit_of_time_is_nothing_but_a_unit(model in model(), power in -9..9) {
        // A power of two, which scales without rounding.
        let factor = f64::from(power).exp2();
        let scaled = Model {
            capacity: model.capacity / factor,
            base_rtt: model.base_rtt * factor,
            duration: model.duration * factor,
            sample_every: model.sample_every * factor,
            starts: model.starts.iter().map(|start| start * factor).collect(),
            ..model.clone()
        };
        let (plain, scaled) = (model.solve().unwrap(), scaled.solve().unwrap());
        prop_assert!(plain.queue == scaled.queue && plain.windows == scaled.windows);
    }
}

#[test]
fn whoever_asks_to_stop_is_heard() {
    let model = Model::new(Law::Dctcp { flows: 2 }, 1e5, 1e-4, 65.0);
    assert_eq!(model.solve_unless(&|| true), Err(FluidError::Interrupted));
}

#[test]
fn what_is_wrong_is_named_with_what_would_be_right() {
    let good = || Model::new(Law::Wvcc { weights: vec![0.25, 0.75] }, 1e5, 1e-4, 65.0);
    let wvcc = |weights: &[f64]| Law::Wvcc { weights: weights.to_vec() };
    let cases: [(Model, &str); 22] = [
        (Model { law: wvcc(&[]), ..good() }, "weights: no flow: at least one is needed"),
        (Model { law: Law::Dctcp { flows: 0 }, ..good() }, "flows: no flow: at least one is needed"),
        (Model { law: wvcc(&[0.25, 0.0]), ..good() }, "weights[1]: 0 must be a finite number above 0"),
        (Model { law: wvcc(&[-1.0, 0.5]), ..good() }, "weights[0]: -1 must be"),
        (Model { law: wvcc(&[0.5, f64::NAN]), ..good() }, "weights[1]: NaN must be"),
        (
            Model { law: Law::Acdc { priorities: vec![0.5, 1.5] }, ..good() },
            "priorities[1]: 1.5 must be a finite number in 0..1, where 1 is DCTCP",
        ),
        (Model { capacity: 0.0, ..good() }, "capacity: 0 must be a finite number above 0"),
        (Model { base_rtt: f64::INFINITY, ..good() }, "base_rtt: inf must be"),
        (Model { threshold: -1.0, ..good() }, "threshold: -1 must be"),
        (Model { duration: 0.0, ..good() }, "duration: 0 must be"),
        (Model { duration: 1e-5, ..good() }, "duration: 0.00001 s must be at least one round trip, 0.0001 s"),
        (Model { law: wvcc(&[1.0, 1e10]), ..good() }, "weights[1]: 10000000000 must be"),
        (Model { initial_windows: vec![1e300, 1.0], ..good() }, "initial_windows[0]: 1"),
        (Model { sample_every: 0.0, ..good() }, "sample_every: 0 must be"),
        (Model { mark_width: 7.0, ..good() }, "mark_width: 7 must be at most a tenth of the threshold"),
        (Model { gain: 0.0, ..good() }, "gain: 0 must be above 0 and at most 1"),
        (Model { initial_alpha: 1.1, ..good() }, "initial_alpha: 1.1 must lie in 0..1"),
        (
            Model { initial_windows: vec![1.0], ..good() },
            "initial_windows: 1 values for 2 flows: give one for each",
        ),
        (Model { initial_windows: vec![1.0, -1.0], ..good() }, "initial_windows[1]: -1 must be"),
        (
            Model { starts: vec![0.0, 0.1], ..good() },
            "starts[1]: 0.1 must be a finite number at least 0 s and before the end",
        ),
        (Model { duration: 1e4, ..good() }, "duration: 100000000 round trips: at most 10000000"),
        (
            Model { sample_every: 1e-9, ..good() },
            "sample_every: would be 5.0e8 numbers: sample every 1.0e-8 s",
        ),
    ];
    for (model, said) in cases {
        let Err(FluidError::Input(error)) = model.solve() else { panic!("{said}: solved") };
        assert!(error.to_string().starts_with(said), "{error} instead of {said}");
    }
}
