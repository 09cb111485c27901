//! `tailrace bench --level live`.

use crate::place::{Place, stderr};

#[test]
fn a_switch_does_what_it_must_beside_a_bare_forwarder() {
    let Some(place) = Place::new() else { return };
    // Costs are CPU time of one thread, whatever else runs; a round may stumble all the same.
    let mut tries = (0..3).map(|_| place.output("bench --level live --rounds 1 --json --check"));
    let output = tries.find(|output| output.status.success() || !stderr(output).contains("missed: "));
    let Some(output) = output else {
        panic!("less than it must three times: see `tailrace bench --level live`")
    };
    assert!(output.status.success(), "{}", stderr(&output));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(told["links"][0]["ratio_to_forwarder"].as_f64().unwrap() >= 0.6, "{told}");
    for (row, asked) in [(0, 0.5), (1, 0.9)] {
        let row = &told["lag"][row];
        assert_eq!(row["asked_load"], asked, "{told}");
        // A sender that was in time can have sent little more than it was asked.
        assert!((0.0..asked * 1.1).contains(&row["load"].as_f64().unwrap()), "{told}");
    }
    println!("{told:#}");
    place.assert_no_traces();
}
