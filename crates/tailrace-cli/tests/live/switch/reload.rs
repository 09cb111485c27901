//! A file that is read again while frames wait.

use std::time::Duration;

use super::lab::{Lab, address, assert_says};
use super::{TCP_SINK, TCP_SOURCE, config, ping, received};

/// AWAFS whose thresholds stay what they were at first: no flow is silent for so long.
fn awafs(threshold: &str) -> String {
    let scheme = format!(
        "name = \"awafs\"\nparams = {{ silence = \"60s\", period = \"200ms\", initial_thresholds = [\"{threshold}\"], \
         percentiles = [0.5], port = {{ queues = 2 }} }}"
    );
    config(["100Mbps", "20Mbps", "100Mbps"], &scheme).replace("200KB", "2MB")
}

#[test]
fn parameters_change_in_the_midst_of_a_transfer_and_no_frame_is_lost() {
    const BYTES: u64 = 12 << 20;
    let Some(lab) = Lab::new() else { return };
    let mut switch = lab.switch(&awafs("10KB"));
    ping(&lab, 0, 1, "1");
    let threshold = |switch: &super::lab::Switch<'_>| {
        switch.metric("tailrace_reported{place=\"eth2\",metric=\"threshold_bytes\",index=\"0\"}")
    };
    let sink = lab.spawn(1, TCP_SINK, &[]);
    let words = ["python3", "-c", TCP_SOURCE, &address(1), &BYTES.to_string()];
    let mut source = lab.command(&lab.host(0), &words).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(threshold(&switch), 10_000.0);
    // Not at every moment: TCP's window has just been halved, or the source has had no processor.
    let mut waiting = (0..20).map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        switch.metric("tailrace_queue_bytes{port=\"eth2\"")
    });
    assert!(waiting.any(|bytes| bytes > 10_000.0), "nothing waits for a second");
    for (text, expected) in [("50KB", 50_000.0), ("20KB", 20_000.0)] {
        let said = switch.reload(&awafs(text));
        assert_says(&said, "read again; the switch goes on as it says");
        assert_eq!(threshold(&switch), expected);
    }
    // What cannot be, changes nothing.
    for (from, to, why) in [
        (
            "eth2",
            "eth0",
            "lab.toml:7: port[1].interface: is \"eth0\", but stays \"eth2\" as long as the switch runs",
        ),
        ("buffer", "bufer", "lab.toml:2: switch.bufer: unknown field \"bufer\""),
        ("\"awafs\"", "\"fifo\"", "scheme.name: is \"fifo\", but stays \"awafs\""),
        ("silence = \"60s\", ", "", "whose ports read a header that the TCP of programs cannot carry"),
    ] {
        let said = switch.reload(&awafs("30KB").replacen(from, to, 1));
        assert_says(&said, why);
        assert!(said.ends_with("the switch goes on as before\n"), "{said}");
    }
    assert_eq!(threshold(&switch), 20_000.0);
    // The rate of a port and the memory may change, too.
    let said = switch.reload(&awafs("20KB").replace("20Mbps", "60Mbps").replace("2MB", "3MB"));
    assert_says(&said, "read again");
    assert_eq!(switch.metric("tailrace_port_link_bits_per_second{port=\"eth2\"}"), 60e6);
    assert!(source.wait().unwrap().success());
    let seconds = received(&sink.end(), BYTES);
    println!("12 MiB through six changes: {seconds:.2} s");
    assert_eq!(switch.metric("tailrace_port_dropped_packets_total"), 0.0);
    let out = switch.end_well();
    assert!(out.contains(", 0 dropped "), "{out}");
}
