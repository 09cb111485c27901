//! What an agent leaves on the kernel.

use std::collections::BTreeSet;
use std::fs;

use nix::sys::signal::Signal;

use super::place::{PIAS, ThreeHosts, sh, wait};

const WVCC: &str = "[scheme]\nname = \"wvcc\"\n[[slice]]\nweight = 2\n[[rule]]\nport = 5001\nslice = 1\n";

/// What the kernel has of programs, congestion controls and queues, as far as an agent may change it.
fn found(place: &ThreeHosts) -> BTreeSet<String> {
    let symbols = fs::read_to_string("/proc/kallsyms").unwrap();
    let programs = symbols.lines().filter_map(|line| line.split_whitespace().nth(2));
    let programs = programs.filter(|name| name.starts_with("bpf_prog_"));
    let rest = "cd /proc/sys/net/ipv4; cat tcp_available_congestion_control tcp_congestion_control tcp_ecn
        tc qdisc show; tc filter show dev eth0 egress; ip -d link show eth0; ip route; echo /sys/fs/bpf/*";
    programs.chain(sh(&place.near, rest).lines()).map(str::to_owned).collect()
}

#[test]
#[ignore = "make test-kernel runs it"]
fn the_kernel_is_left_as_it_was() {
    let place = ThreeHosts::new();
    let before = found(&place);
    let law = format!("{PIAS}[law]\n");
    for (what, file, how) in [
        ("bpf_prog_", PIAS, Signal::SIGTERM),
        ("tr_dctcp_", &law, Signal::SIGTERM),
        ("tr_dctcp_", &law, Signal::SIGKILL),
        ("bpf_prog_", WVCC, Signal::SIGKILL),
    ] {
        let agent = place.agent(&place.near, file);
        let meanwhile = found(&place);
        let more: Vec<&String> = meanwhile.difference(&before).filter(|line| line.contains(what)).collect();
        assert!(!more.is_empty(), "no {what} under\n{file}");
        agent.end(how);
        // The kernel frees programs when nobody can be in them any more.
        let mut left = BTreeSet::new();
        let gone = (1..30).find(|_| {
            wait(100);
            left = found(&place).symmetric_difference(&before).cloned().collect();
            left.is_empty()
        });
        assert!(gone.is_some(), "{how} leaves {left:?} of\n{file}");
        println!("{} of {what} while an agent runs, none left by {how}", more.len());
    }
}
