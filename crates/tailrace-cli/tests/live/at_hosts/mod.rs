//! Hosts of live fabrics that run the host agent: what packets have on the fabric, how schemes fare on the kernel's TCP, and what
//! is left behind.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test may panic, and says what came of it")]

#[cfg(feature = "agent")]
mod emulated;
#[cfg(feature = "agent")]
mod liar;
#[cfg(feature = "agent")]
mod runs;

#[cfg(not(feature = "agent"))]
#[test]
fn a_build_without_the_agent_says_so_before_anything_runs() {
    let Some(place) = crate::place::EmulatedFolder::new() else { return };
    let live = "--set live.stack=\"kernel\" --set live.agent=true";
    for words in [
        "emulate star.toml --scheme Tags --agents --name NAME".to_owned(),
        format!("run star.toml --only Tags --level live {live}"),
    ] {
        let output = place.output(&words);
        let said = crate::place::stderr(&output);
        assert!(output.status.code() == Some(1) && said.contains("this build has no host agent"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    place.assert_no_traces();
    tailrace_linux::skip_test(
        "this build has no host agent (cargo test -p tailrace-cli --features agent; needs clang)",
    );
}
