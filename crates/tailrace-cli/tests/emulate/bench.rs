//! `tailrace bench --level live`.

use crate::place::{Place, stderr};

/// Without optimisation a switch may do less than it must: here it is only seen that this would be told. `make test` lets a
/// build be judged that is optimised.
#[test]
fn what_is_less_than_it_must_be_fails_and_rows_say_what_came() {
    let Some(place) = Place::new() else { return };
    let output = place.output("bench --level live --rounds 1 --json --check");
    let said = stderr(&output);
    let told: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let [ratio, port] = [&told["links"][0]["ratio_to_forwarder"], &told["port_frames_per_cpu_second"]]
        .map(|figure| figure.as_f64().unwrap());
    let misses = [ratio < 0.6, port < 5e6].map(usize::from);
    assert_eq!(said.matches("missed: ").count(), misses.iter().sum::<usize>(), "{said} {told}");
    assert_eq!(output.status.code(), Some(i32::from(misses != [0, 0])), "{said} {told}");
    for (row, asked) in [(0, 0.5), (1, 0.9)] {
        let row = &told["lag"][row];
        assert_eq!(row["asked_load"], asked, "{told}");
        let load = row["load"].as_f64().unwrap();
        let came = row["frames_per_second"].as_f64().unwrap();
        assert!((load * told["frames_per_second_of_one_core"].as_f64().unwrap() / came - 1.0).abs() < 1e-6);
        // A sender sends no more than it is asked to, but for its first burst.
        assert!(load > 0.0 && load < asked * 1.1, "{told}");
    }
    place.assert_no_traces();
}
