//! The fluid models against the papers' claims and against what follows from their equations.

use tailrace_fluid::{Law, Model, Summary, uniform_windows};

/// The second half of a model.
fn second_half(model: &Model) -> Summary {
    let run = model.solve().expect("solvable");
    run.summary(model.duration / 2.0, model.duration).expect("samples")
}

fn apart(got: &[f64], wanted: &[f64]) -> f64 {
    got.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// AC/DC or WVCC with these numbers at the capacity, delay and threshold of the MATLAB setting.
fn uranus_f4(law: Law) -> Model {
    let windows = vec![125.0; law.flows()];
    Model { duration: 100.0, initial_windows: windows, ..Model::new(law, 5000.0, 0.1, 10.0) }
}

/// Three DCTCP flows over 10 Gbit/s in packets of 1500 bytes; 100 µs, K = 65.
fn dctcp() -> Model {
    let law = Law::Dctcp { flows: 3 };
    let model = Model::new(law, 1e10 / 12e3, 1e-4, 65.0);
    Model { initial_windows: vec![60.0, 20.0, 5.0], duration: 0.2, ..model }
}

#[test]
fn wvcc_shares_by_weight_from_any_windows() {
    // Uranus Fig. 5a. The dde23 run of schemes.md had mean windows 53.1, 101.8, 147.3, 193.4, a mean queue of
    // 2.5 and a longest one of 12.1; its windows at the start are not known.
    for seed in 1..=8 {
        let model = Model::uranus_matlab(uniform_windows(4, 200.0, seed));
        let half = second_half(&model);
        assert!(half.shares.is_sorted(), "seed {seed}: {:?}", half.shares);
        assert!(apart(&half.shares, &[0.1, 0.2, 0.3, 0.4]) < 0.03, "seed {seed}: {:?}", half.shares);
        assert!((half.mean_queue - 2.5).abs() < 0.1, "seed {seed}: mean queue {}", half.mean_queue);
        assert!((half.max_queue - 12.1).abs() < 0.1, "seed {seed}: longest queue {}", half.max_queue);
        // What is left is drift: in the second half of twice the time it is gone.
        let longer = second_half(&Model { duration: 200.0, ..model });
        assert!(apart(&longer.shares, &[0.1, 0.2, 0.3, 0.4]) < 0.002, "seed {seed}: {:?}", longer.shares);
    }
}

#[test]
fn wvcc_from_the_middle_of_the_random_windows_is_near_the_published_run() {
    let half = second_half(&Model::uranus_matlab(vec![100.0; 4]));
    assert!(apart(&half.shares, &[0.1, 0.2, 0.3, 0.4]) < 0.012, "{:?}", half.shares);
    assert!(apart(&half.mean_windows, &[53.1, 101.8, 147.3, 193.4]) < 2.5, "{:?}", half.mean_windows);
}

#[test]
fn acdc_shares_by_cut_and_not_by_priority() {
    // Uranus Fig. 4a: 1/(1 − β/2), from Eq. 6.
    let acdc = second_half(&uranus_f4(Law::Acdc { priorities: vec![0.25, 0.25, 0.5, 0.75] }));
    assert!(apart(&acdc.shares, &[0.219, 0.219, 0.256, 0.307]) < 0.002, "{:?}", acdc.shares);
    // Fig. 4b: the same numbers as weights.
    let wvcc = uranus_f4(Law::Wvcc { weights: vec![0.25, 0.25, 0.5, 0.75] });
    let wvcc = second_half(&Model { duration: 200.0, ..wvcc });
    let sevenths = [1.0, 1.0, 2.0, 3.0].map(|part| part / 7.0);
    assert!(apart(&wvcc.shares, &sevenths) < 0.003, "{:?}", wvcc.shares);
}

#[test]
fn a_priority_of_one_and_a_weight_of_one_are_dctcp() {
    let as_law = |law| second_half(&Model { law, ..dctcp() });
    let plain = second_half(&dctcp());
    assert_eq!(plain, as_law(Law::Wvcc { weights: vec![1.0; 3] }));
    assert_eq!(plain, as_law(Law::Acdc { priorities: vec![1.0; 3] }));
}

#[test]
fn dctcp_swings_below_threshold_plus_flows() {
    let (model, half) = (dctcp(), second_half(&dctcp()));
    assert!(apart(&half.shares, &[1.0 / 3.0; 3]) < 1e-4, "{:?}", half.shares);
    // Alizadeh et al. 2010 §3.3: the queue's top is K + N, and it swings by √(2N(Cd + K))/2.
    let bandwidth_delay = model.capacity * model.base_rtt;
    let swing = (2.0 * 3.0 * (bandwidth_delay + model.threshold)).sqrt() / 2.0;
    assert!((half.max_queue - 68.0).abs() < 1.0, "{}", half.max_queue);
    assert!((half.mean_queue - (68.0 - swing / 2.0)).abs() < 0.2 * swing, "{}", half.mean_queue);
    // With a queue all the time, the windows fill the pipe and the queue: ΣW = C·R.
    let windows: f64 = half.mean_windows.iter().sum();
    assert!((windows / (bandwidth_delay + half.mean_queue) - 1.0).abs() < 1e-3, "{windows}");
}

#[test]
fn what_flows_send_leaves_or_queues() {
    // q' = ΣW/R − C, by Simpson's rule over the samples of the second half, where there is always a queue.
    let model = Model { sample_every: 2e-6, ..dctcp() };
    let run = model.solve().unwrap();
    let first = run.times.len() / 2;
    let last = first + (run.times.len() - 1 - first) / 2 * 2;
    assert!(run.queue[first..].iter().all(|&q| q > 0.0));
    let surplus = |at: usize| {
        let windows: f64 = run.windows.iter().map(|window| window[at]).sum();
        windows / (model.base_rtt + run.queue[at] / model.capacity) - model.capacity
    };
    let simpson = |at: usize| (surplus(at) + 4.0 * surplus(at + 1) + surplus(at + 2)) / 3.0;
    let sum: f64 = (first..last).step_by(2).map(simpson).sum();
    let grown = run.queue[last] - run.queue[first];
    // Of 83 000 packets that pass.
    assert!(
        (sum * model.sample_every - grown).abs() < 0.01,
        "{} instead of {grown}",
        sum * model.sample_every
    );
}

#[test]
fn shares_follow_the_weights_again_whenever_a_flow_joins() {
    // Uranus Fig. 5b: three flows of weights 1/4, 2/4, 3/4, here 3 s apart.
    let law = Law::Wvcc { weights: vec![0.25, 0.5, 0.75] };
    let model = Model {
        starts: vec![0.0, 3.0, 6.0],
        duration: 9.0,
        sample_every: 1e-3,
        ..Model::new(law, 1e9 / 12e3, 1e-3, 65.0)
    };
    let run = model.solve().unwrap();
    let phases = model.phases();
    assert_eq!(phases.iter().map(|phase| phase.from).collect::<Vec<_>>(), [0.0, 3.0, 6.0]);
    for (phase, steady) in
        phases.iter().zip([[1.0, 0.0, 0.0], [1.0 / 3.0, 2.0 / 3.0, 0.0], [1.0 / 6.0, 1.0 / 3.0, 0.5]])
    {
        assert!(apart(&phase.steady_shares, &steady) < 1e-12);
        let half = run.summary((phase.from + phase.to) / 2.0, phase.to - 1e-6).unwrap();
        assert!(apart(&half.shares, &steady) < 0.01, "from {}: {:?}", phase.from, half.shares);
    }
    assert_eq!(run.windows[1][2999], 0.0);
    assert!((run.windows[1][3000] - 1.0).abs() < 1e-3, "{}", run.windows[1][3000]);
}

#[test]
fn halving_the_width_of_the_marking_step_changes_nothing_that_counts() {
    let matlab = Model::uranus_matlab(vec![150.0, 40.0, 90.0, 20.0]);
    let acdc = uranus_f4(Law::Acdc { priorities: vec![0.25, 0.25, 0.5, 0.75] });
    for model in [matlab, acdc, dctcp()] {
        let mut last = second_half(&model);
        for halvings in 1..=3 {
            let narrower = Model { mark_width: model.mark_width / f64::from(1 << halvings), ..model.clone() };
            let half = second_half(&narrower);
            assert!(apart(&half.shares, &last.shares) < 5e-6, "{half:?} after {last:?}");
            let relative = |a: f64, b: f64| (a / b - 1.0).abs();
            assert!(relative(half.mean_queue, last.mean_queue) < 5e-4, "{half:?} after {last:?}");
            assert!(relative(half.max_queue, last.max_queue) < 5e-4, "{half:?} after {last:?}");
            last = half;
        }
    }
}
