//! Files of fluid models, right and wrong.

use super::*;

const GOOD: &str = r#"law = "wvcc"
rate = "10Gbps"
rtt = "100us"
marking_threshold = "65pkt"
duration = "200ms"
weights = [0.25, 0.75]
"#;

fn model(text: &str) -> Model {
    FluidFile::parse(text).and_then(|file| file.model()).unwrap()
}

#[test]
fn real_units_become_packets_and_seconds() {
    let model = model(GOOD);
    assert_eq!(model.law, Law::Wvcc { weights: vec![0.25, 0.75] });
    assert!((model.capacity - 1e10 / 12e3).abs() < 1e-6);
    assert_eq!((model.base_rtt, model.threshold, model.duration), (1e-4, 65.0, 0.2));
    assert_eq!((model.gain, model.initial_alpha, model.lag), (0.0625, 1.0, Lag::Threshold));
    assert!((model.sample_every - 1e-5).abs() < 1e-18);
}

#[test]
fn thresholds_in_bytes_and_long_models_are_understood() {
    let text = GOOD.replace("65pkt", "18KB").replace("200ms", "20s");
    let model = model(&format!("mss = 960\n{text}"));
    assert_eq!((model.threshold, model.capacity), (18.0, 1.25e6));
    assert_eq!(model.sample_every, 1e-3);
}

#[test]
fn flows_may_have_tables_of_their_own() {
    let tables = "[[flow]]\nweight = 0.25\n[[flow]]\nweight = 0.5\nstart = \"50ms\"\nwindow = 7\n";
    let model =
        model(&format!("initial_window = 3\n{}{tables}", GOOD.replace("weights = [0.25, 0.75]\n", "")));
    assert_eq!(model.law, Law::Wvcc { weights: vec![0.25, 0.5] });
    assert_eq!((model.initial_windows, model.starts), (vec![3.0, 7.0], vec![0.0, 0.05]));
}

#[test]
fn drawn_windows_depend_on_the_seed() {
    let windows =
        |seed| model(&format!("initial_window = {{ uniform = 200 }}\nseed = {seed}\n{GOOD}")).initial_windows;
    assert_eq!(windows(3), windows(3));
    assert_ne!(windows(3), windows(4));
    assert!(windows(3).iter().all(|window| (0.0..200.0).contains(window)));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let weights = "weights = [0.25, 0.75]";
    for (was, is, said) in [
        ("\"wvcc\"", "\"wvc\"", "line 1: law: unknown value \"wvc\"; did you mean \"wvcc\"?"),
        ("\"10Gbps\"", "\"10\"", "line 2: rate: cannot read \"10\" as a rate"),
        ("\"10Gbps\"", "\"0bps\"", "line 2: rate: 0 must be a finite number above 0"),
        ("\"100us\"", "\"0us\"", "line 3: rtt: 0 must be a finite number above 0"),
        ("\"65pkt\"", "\"0pkt\"", "line 4: marking_threshold: 0 must be"),
        ("\"65pkt\"", "\"65\"", "line 4: marking_threshold: cannot read \"65\" as a queue length"),
        ("\"200ms\"", "\"0s\"", "line 5: duration: 0 must be"),
        (weights, "", "weights: missing: give one for each flow, such as [0.25, 0.75], or [[flow]] tables"),
        (weights, "weights = []", "line 6: weights: no flow: at least one is needed"),
        (
            weights,
            "weights = [0.25, 0]",
            "line 6: weights[1]: 0 must be a finite number above 0, such as 0.25",
        ),
        (weights, "weights = [nan]", "line 6: weights[0]: NaN must be a finite number above 0"),
        (weights, "weight = [1]", "line 6: weight: unknown field \"weight\"; did you mean \"weights\"?"),
        (weights, "priorities = [1]", "line 6: priorities: means nothing for this law: give weights"),
        (weights, "weights = [1]\nflows = 2", "line 6: weights: flows are in flows already"),
        (weights, "[[flow]]\nstart = \"0s\"", "line 6: flow[0]: weight is missing"),
        (weights, "[[flow]]\nweight = -1", "line 7: flow[0].weight: -1 must be a finite number above 0"),
        (
            weights,
            "[[flow]]\nweight = 1\npriority = 1",
            "line 8: flow[0].priority: means nothing for law = \"wvcc\"",
        ),
        (
            weights,
            "[[flow]]\nweight = 1\nstart = \"1s\"",
            "line 8: flow[0].start: 1 must be a finite number at least 0 s",
        ),
        (weights, "[[flow]]\nweight = 1\nwindow = -2", "line 8: flow[0].window: -2 must be"),
        (weights, "weights = [1]\ninitial_window = -2", "line 7: initial_window: -2 must be"),
        (weights, "weights = [1]\ninitial_window = \"x\"", "line 7: initial_window: a number of packets, or"),
        (weights, "weights = [1]\ngain = 2", "line 7: gain: 2 must be above 0 and at most 1"),
        (weights, "weights = [1]\nsample_every = \"1ps\"", "line 7: sample_every: would be 6.0e11 numbers"),
        (
            "law = \"wvcc\"",
            "law = \"dctcp\"",
            "line 6: weights: means nothing for this law: give flows, how many",
        ),
        ("rtt =", "rtt", "line 3: "),
    ] {
        let text = GOOD.replace(was, is);
        let error = FluidFile::parse(&text).unwrap_err().locate(&text).to_string();
        assert!(error.starts_with(said), "{error} instead of {said}");
    }
    let many = GOOD.replace("wvcc", "dctcp").replace(weights, "flows = 1000000000000");
    let error = FluidFile::parse(&many).unwrap_err().to_string();
    assert_eq!(error, "flows: 1000000000000 flows: at most 1000");
}
