//! `tailrace-bench --level live`, on real packets.
#![cfg(feature = "all")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::Command;

/// Without optimisation a switch may do less than it must: here it is only seen that this would be told. `make test` lets a
/// build be judged that is optimised.
#[test]
fn what_is_less_than_it_must_be_fails_and_rows_say_what_came() {
    if let Err(error) = tailrace_linux::check_rights("this test") {
        return tailrace_linux::skip_test(error);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailrace-bench"));
    let output = command.args(["--level", "live", "--rounds", "1", "--json", "--check"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
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
}
