//! The live view on a terminal.

use crate::place::{EmulatedFolder, stderr};

/// Another screen, and back; the cursor gone, and back.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";
const HIDE: &str = "\x1b[?25l";
const SHOW: &str = "\x1b[?25h";

#[test]
fn the_view_is_redrawn_and_the_terminal_is_as_it_was_afterwards() {
    let Some(place) = EmulatedFolder::new() else { return };
    for key in ["\x03", "q"] {
        let mut python = std::process::Command::new("python3");
        python.args(["-c", include_str!("terminal.py"), key]);
        let emulate = place.command("emulate star.toml --name NAME --for 60s");
        let output =
            python.arg(emulate.get_program()).args(emulate.get_args()).current_dir(place.dir.path()).output();
        let Ok(output) = output else {
            tailrace_linux::skip_test("a terminal needs python3");
            return;
        };
        let told: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
        let seen = told["seen"].as_str().unwrap();
        assert_eq!(told["status"], 0, "{seen}");
        assert!(told["redraws"].as_u64().unwrap() >= 4, "{seen}");
        assert!(told["was_raw"].as_bool().unwrap() && told["is_as_before"].as_bool().unwrap(), "{seen}");
        let title = format!("{} · dctcp · 3 hosts with 100Mbps · ", place.name);
        for shown in [&title, "q ends", "host0->switch0 ", "lag      none yet; in: "] {
            assert!(seen.contains(shown), "{shown}: {seen}");
        }
        for (first, last) in [(ENTER, LEAVE), (HIDE, SHOW)] {
            let [first, last] = [first, last].map(|code| seen.rfind(code));
            assert!(first.is_some() && first < last, "{seen}");
        }
        // What became of it is said on the screen that was there before.
        assert!(seen.rfind("frames   ") > seen.rfind(LEAVE), "{seen}");
        place.assert_no_traces();
    }
}
