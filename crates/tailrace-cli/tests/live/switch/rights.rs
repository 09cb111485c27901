//! What the switch may do, what it leaves behind, and what it says when something is wrong.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::lab::{Lab, assert_says, ip, port, status};
use super::{ALIKE, config, ping};

const NOTHING: &str = "0000000000000000";

fn fifo() -> String {
    config(ALIKE, "name = \"fifo\"")
}

/// How many want all frames of a port.
fn promiscuity(lab: &Lab) -> String {
    let output =
        Command::new("ip").args(["-d", "-n", &lab.here(), "link", "show", &port(0)]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut words = text.split_whitespace().skip_while(|word| *word != "promiscuity");
    words.nth(1).unwrap().to_owned()
}

#[test]
fn it_runs_without_rights_and_puts_everything_back_even_when_killed() {
    let Some(lab) = Lab::new() else { return };
    let before = [0, 1, 2].map(|host| lab.offloads(host));
    assert_eq!((before[0].as_str(), promiscuity(&lab).as_str()), ("[1, 1, 1]\n", "0"));
    for signal in ["-TERM", "-KILL"] {
        let switch = lab.switch(&fifo());
        ping(&lab, 0, 1, "1");
        let process = format!("/proc/{}", switch.pid());
        let threads = std::fs::read_dir(format!("{process}/task")).unwrap();
        for thread in threads.map(|entry| entry.unwrap().path()) {
            let nobody = ["65534"; 4].join(" ");
            assert_eq!([status(&thread, "Uid"), status(&thread, "Gid")], [nobody.clone(), nobody]);
            assert_eq!(["CapPrm", "CapEff", "CapAmb"].map(|field| status(&thread, field)), [NOTHING; 3]);
        }
        assert_eq!(status(Path::new(&process), "NoNewPrivs"), "1");
        assert_eq!((lab.offloads(0).as_str(), promiscuity(&lab).as_str()), ("[0, 0, 0]\n", "1"));
        switch.signal(signal);
        let (code, ..) = switch.end();
        assert_eq!(code, (signal == "-TERM").then_some(0));
        // The process that puts them back outlives one that is killed by a moment, on a busy machine by a longer one.
        let now = || [0, 1, 2].map(|host| lab.offloads(host));
        for _ in 0..50 {
            std::thread::sleep(Duration::from_millis(100));
            if now() == before {
                break;
            }
        }
        assert_eq!(now(), before, "{signal}");
        assert_eq!(promiscuity(&lab), "0");
    }
}

#[test]
fn an_interface_has_one_switch() {
    let Some(lab) = Lab::new() else { return };
    let first = lab.switch(&fifo());
    let offloads = lab.offloads(0);
    assert_says(&lab.refused(&fifo()), "interface eth1 has a switch already: end that tailrace switch first");
    assert_eq!(lab.offloads(0), offloads);
    ping(&lab, 0, 1, "1");
    first.end_well();
    // At once.
    lab.switch(&fifo()).end_well();
}

#[test]
fn an_interface_that_is_gone_ends_it_and_the_others_are_as_before() {
    let Some(lab) = Lab::new() else { return };
    let switch = lab.switch(&fifo());
    ip(&format!("-n {} link del {}", lab.here(), port(1)));
    let (status, _, said) = switch.end();
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("interface eth2 is gone; somebody has deleted, moved or renamed it"), "{said}");
    assert_eq!(lab.offloads(0), "[1, 1, 1]\n");
}

#[test]
fn an_interface_that_is_down_loses_what_is_for_it_and_the_others_go_on() {
    let Some(lab) = Lab::new() else { return };
    let switch = lab.switch(&fifo());
    ping(&lab, 0, 1, "1");
    ip(&format!("-n {} link set {} down", lab.here(), port(2)));
    ping(&lab, 0, 1, "3");
    ip(&format!("-n {} link set {} up", lab.here(), port(2)));
    std::thread::sleep(Duration::from_millis(200));
    ping(&lab, 0, 2, "3");
    switch.end_well();
}

#[test]
fn mistakes_get_one_clear_message() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.offloads(0);
    for (from, to, said) in [
        (
            "\"eth2\"",
            "\"ehh2\"",
            "lab.toml:7: port[1].interface: unknown interface \"ehh2\"; did you mean \"eth",
        ),
        ("\"eth2\"", "\"lo\"", "port[1].interface: is \"lo\", which carries no Ethernet frames"),
        ("\"eth2\"", "\"eth1\"", "lab.toml:7: port[1].interface: is \"eth1\", which is port 0 already"),
        ("\"fifo\"", "\"pfabric\"", "whose ports read a header that the TCP of programs cannot carry"),
        (
            "\"fifo\"",
            "\"uranus\"",
            "scheme.name: is uranus, whose slices and controller are the hosts'; for a switch write",
        ),
        ("\"fifo\"", "\"fito\"", "scheme.name: unknown scheme \"fito\"; did you mean \"fifo\"?"),
        ("\"fifo\"", "\"fifo\"\nparams = { bufer = 1 }", "lab.toml:14: scheme.params"),
        ("200KB", "1KB", "lab.toml:2: switch.buffer: is 1KB, but must hold at least one packet"),
        ("buffer", "user = \"root\"\nbuffer", "switch.user: is \"root\", but must be a user other than root"),
        (
            "buffer",
            "user = \"nobdoy\"\nbuffer",
            "lab.toml:2: switch.user: is \"nobdoy\", but this machine has no such",
        ),
    ] {
        assert_says(&lab.refused(&fifo().replacen(from, to, 1)), said);
    }
    assert_says(&lab.refused_without_root(&fifo()), "a switch needs root to take over interfaces");
    let here = lab.here();
    ip(&format!("-n {here} link set eth2 mtu 1400"));
    assert_says(&lab.refused(&fifo()), "is \"eth2\", whose MTU is 1400, but must be 1500 as that of eth1");
    ip(&format!("-n {here} link set eth2 mtu 1500"));
    ip(&format!("-n {here} link set eth2 down"));
    assert_says(&lab.refused(&fifo()), "is \"eth2\", which is down; set it up first: ip link set eth2 up");
    assert_eq!(lab.offloads(0), before);
}
