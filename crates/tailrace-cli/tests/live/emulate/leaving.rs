//! What is left of emulations that have ended, in whatever way: nothing. And that several do not meet.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::emulate::{CLIENT, SERVER};
use crate::place::{EmulatedFolder, stderr};

#[test]
fn what_was_killed_is_cleaned_up_by_the_next_one_or_on_request() {
    let Some(place) = EmulatedFolder::new() else { return };
    for next in ["emulate --clean", "emulate star.toml --name NAME --for 100ms"] {
        let emulation = place.start("");
        let mut program = place.command("enter NAME/h1 -- sh -c");
        let mut program = program.arg("echo ready; exec sleep 1000").stdout(Stdio::piped()).spawn().unwrap();
        BufReader::new(program.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        assert_eq!(place.traces().len(), 1 + 4 + 3);
        // At once: the kernel may still be at it.
        emulation.signal("-KILL");
        let output = place.output(next);
        assert_eq!(emulation.end().0, None);
        assert!(output.status.success(), "{}", stderr(&output));
        program.wait().unwrap();
        place.assert_no_traces();
    }
    assert!(place.output("emulate --clean").status.success());
}

#[test]
fn a_name_has_one_emulation_and_several_do_not_meet() {
    let Some(place) = EmulatedFolder::new() else { return };
    let other = EmulatedFolder::beside();
    let (first, second) = (place.start("--for 60s"), other.start("--for 60s"));
    let again = place.output("emulate star.toml --name NAME");
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("is taken: an emulation runs under it"), "{}", stderr(&again));
    let unclear = place.output("enter h1 -- true");
    assert!(stderr(&unclear).contains("several emulations run, "), "{}", stderr(&unclear));
    for place in [&place, &other] {
        assert!(place.output("enter NAME/h1 -- true").status.success());
    }
    let unknown = place.output("enter NAME/h3 -- true");
    assert!(stderr(&unknown).contains("; there are h0 to h2"), "{}", stderr(&unknown));
    // Cleaning does nothing to those that run.
    assert!(place.output("emulate --clean").status.success());
    // Nobody answers at the addresses of the other one's hosts, which are the same: they are not these.
    let mut server = other.command("enter NAME/h0 -- python3 -c");
    let mut server = server.arg(SERVER).stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let client = place.command("enter NAME/h2 -- python3 -c").args([CLIENT, "h0"]).output().unwrap();
    assert!(stderr(&client).contains("ConnectionRefusedError"), "{}", stderr(&client));
    first.signal("-TERM");
    assert_eq!(first.end().0, Some(0));
    place.assert_no_traces();
    assert!(other.output("enter NAME/h1 -- true").status.success());
    second.signal("-INT");
    assert_eq!(second.end().0, Some(130));
    server.wait().unwrap();
    other.assert_no_traces();
}

#[test]
fn who_takes_something_away_is_told_what() {
    let Some(place) = EmulatedFolder::new() else { return };
    // Its status says nothing: a program that is in a namespace as the fabric ends is ended, too.
    let ip = |words: &str| {
        let words = words.replace("NAME", &place.name);
        Command::new("ip").args(words.split_whitespace()).status().unwrap();
    };
    for (words, message) in [
        ("netns exec NAME ip link del port1", "the interface of host h1 is gone"),
        ("netns exec NAME-h2 ip link del eth0", "the interface of host h2 is gone"),
        ("netns del NAME-h0", "NAME-h0 is gone: somebody has deleted the namespace"),
    ] {
        let emulation = place.start("--for 60s");
        ip(words);
        let (status, _, said) = emulation.end();
        assert_eq!(status, Some(1), "{words}: {said}");
        assert!(said.contains(&message.replace("NAME", &place.name)), "{words}: {said}");
        place.assert_no_traces();
    }
    // A link that is only down loses what is on it.
    let emulation = place.start("--for 60s");
    ip("netns exec NAME ip link set port1 down");
    std::thread::sleep(Duration::from_millis(300));
    assert!(place.output("enter NAME/h0 -- true").status.success());
    emulation.signal("-TERM");
    assert_eq!(emulation.end().0, Some(0));
}

/// `TAILRACE_STARTS=1000` makes it a thousand, which takes ten minutes.
#[test]
fn many_starts_and_stops_leave_nothing() {
    let Some(place) = EmulatedFolder::new() else { return };
    let starts: u32 = std::env::var("TAILRACE_STARTS").map_or(20, |starts| starts.parse().unwrap());
    let interfaces = || fs::read_dir("/sys/class/net").unwrap().count();
    let before = interfaces();
    for round in 0..starts {
        let output = place.output("emulate star.toml --name NAME --for 1ms");
        assert!(output.status.success(), "round {round}: {}", stderr(&output));
        place.assert_no_traces();
    }
    assert_eq!(interfaces(), before);
    println!("{starts} starts and stops have left nothing");
}

#[test]
fn who_closes_the_pipe_ends_the_fabric() {
    let Some(place) = EmulatedFolder::new() else { return };
    let mut emulation = place.start("--for 1s");
    drop(emulation.child.stdout.take());
    assert_eq!(emulation.child.wait().unwrap().code(), Some(141));
    place.assert_no_traces();
}
