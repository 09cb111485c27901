//! `tailrace describe` and `tailrace compare`: flows of one's own, from a file as it is to a verdict.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn tailrace(dir: &Path, words: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tailrace")).args(words.split(' ')).current_dir(dir).output().unwrap()
}

fn says(dir: &Path, words: &str) -> String {
    let output = tailrace(dir, words);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{words}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

fn fails(dir: &Path, words: &str) -> (i32, String) {
    let output = tailrace(dir, words);
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// Eight hosts in a ring, a flow each 10 µs: of 10 KB, but each tenth of 100 KB. Each link carries 19 KB (19.52 on the wire) every
/// 80 µs, which is 1.952 Gbit/s.
fn ring() -> String {
    let mut text = "start_us,srcIP,dstIP,bytes\n".to_owned();
    for flow in 0..4_000 {
        let bytes = if flow % 10 == 0 { 100_000 } else { 10_000 };
        // Seven has no factor in common with ten, so that each host has its part of the large ones.
        let host = flow * 7 % 8;
        writeln!(text, "{},10.0.0.{},10.0.0.{},{bytes}", 1_000_000 + flow * 10, 1 + host, 1 + (host + 1) % 8)
            .unwrap();
    }
    text
}

#[test]
fn a_trace_is_described_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ring.csv"), ring()).unwrap();
    let said = says(dir.path(), "describe ring.csv");
    for line in [
        "ring.csv: 4000 flows between 8 hosts in 39.99 ms\n",
        "columns   src = srcIP, dst = dstIP, size = bytes (bytes), start = start_us (microseconds)\n",
        "fabric    kind = \"star\", hosts = 8, host_rate = \"10Gbps\" (no --fabric was given",
        "mean 19.000 KB, median 10.000 KB, 99 % below 100.000 KB, largest 100.000 KB; half of the bytes in flows from 100.000 KB on \
         (10.00 % of them)",
        "note      hosts are numbered from 0, in order: 10.0.0.1 is 0, 10.0.0.8 is 7\n",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    // 19.52 % of 10 Gbps, within 1 %: large flows fall on even hosts only.
    let load: f64 = said.split("load      ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let busiest: f64 =
        said.split("busiest links: ").nth(1).unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let (even, odd) = (28.77, 10.27);
    assert!((load - (even * even + odd * odd) / (even + odd)).abs() < 0.3, "{load}\n{said}");
    assert!((busiest - even).abs() < 0.3, "{busiest}\n{said}");
    // Nothing is written.
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn what_to_know_before_a_run_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let write = |rows: &str| {
        fs::write(dir.path().join("t.csv"), format!("start_s,src,dst,bytes\n{rows}")).unwrap();
        says(dir.path(), "describe t.csv --fabric rack16")
    };
    let rows = |from: u32, until: u32, bytes: u64| {
        (from..until)
            .map(|ms| format!("{},{},{},{bytes}\n", f64::from(ms) / 1e3, ms % 3, 3 + ms % 4))
            .collect::<String>()
    };
    let plain = write(&rows(0, 2_000, 1_000));
    assert!(!plain.contains("warning"), "{plain}");
    let few = write(&rows(0, 100, 1_000));
    assert!(few.contains("100 flows are few: beyond the 90th percentile there are ten"), "{few}");
    let overload = write(&rows(0, 2_000, 1_000_000));
    assert!(
        overload.contains("warning   overload: the flow list offers 2.7")
            && overload.contains("what the link host"),
        "{overload}"
    );
    let idle = write(&(rows(0, 1_000, 1_000) + &rows(3_000, 4_000, 1_000)));
    assert!(idle.contains("idle: no flow starts for 2.00 s after 999.00 ms"), "{idle}");
    let long = write(&(rows(0, 2_000, 1_000) + "1,7,8,1000000000\n"));
    assert!(long.contains("one flow takes longer alone than the trace lasts, up to 8.2"), "{long}");
    let at_once = write("0,1,2,5\n0,2,3,5\n");
    assert!(at_once.contains("all flows start at once, so there is no load"), "{at_once}");
}

#[test]
fn a_comparison_is_an_experiment_that_can_be_run_again() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ring.csv"), ring()).unwrap();
    let said = says(dir.path(), "compare ring.csv --schemes fifo,pias,pfabric --jobs 1");
    for line in ["beside fifo, flow by flow", "experiment: out/ring/ring.toml"] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    assert!(dir.path().join("out/ring/results/summary.csv").exists());
    assert!(
        fs::read_to_string(dir.path().join("out/ring/hosts.csv"))
            .unwrap()
            .starts_with("host,name\n0,10.0.0.1\n")
    );
    // The same again finds its runs, and says the same.
    let before = fs::read(dir.path().join("out/ring/results/summary.csv")).unwrap();
    assert_eq!(says(dir.path(), "compare ring.csv --schemes fifo,pias,pfabric --jobs 1"), said);
    says(dir.path(), "run out/ring/ring.toml --out again --jobs 1");
    assert_eq!(fs::read(dir.path().join("again/summary.csv")).unwrap(), before);
    // What somebody has changed is kept.
    let file = dir.path().join("out/ring/ring.toml");
    let changed = fs::read_to_string(&file).unwrap() + "# mine\n";
    fs::write(&file, &changed).unwrap();
    let (status, said) = fails(dir.path(), "compare ring.csv --schemes fifo,pias,pfabric");
    assert!(status == 2 && said.contains("out/ring/ring.toml: is there and says something else"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), changed);
    says(dir.path(), "compare ring.csv --schemes fifo,pfabric --fresh --jobs 1");
    // Where nobody has, other schemes are only other schemes.
    says(dir.path(), "compare ring.csv --level flow --jobs 1");
    let summary = fs::read_to_string(dir.path().join("out/ring/results/summary.csv")).unwrap();
    assert!(summary.contains("\nrcp,") && !summary.contains("\nfifo,"), "{summary}");
    // Another trace of the same name is another workload.
    fs::write(dir.path().join("ring.csv"), ring().replace(",10000\n", ",11000\n")).unwrap();
    says(dir.path(), "compare ring.csv --schemes fifo,pfabric --jobs 1");
    assert_ne!(fs::read(dir.path().join("out/ring/results/summary.csv")).unwrap(), before);
}

/// A graph is the fabric that it describes, and its hosts those that the trace names.
#[test]
fn a_fabric_of_ones_own_is_a_fabric() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ring.csv"), ring()).unwrap();
    let links: String = (1..=8).rev().map(|host| format!("switch0 10.0.0.{host} 10Gbps 2us\n")).collect();
    fs::write(dir.path().join("ring.txt"), links).unwrap();
    let star = "[fabric]\nkind = \"star\"\nhosts = 8\nhost_rate = \"10Gbps\"\ndelay = \"2us\"\n";
    fs::write(dir.path().join("star.toml"), star).unwrap();
    let said = says(dir.path(), "describe ring.csv --fabric ring.txt");
    assert!(said.contains("fabric    8 hosts, 1 switch, 8 links: 8 of 10Gbps\n"), "{said}");
    says(dir.path(), "compare ring.csv --fabric ring.txt --schemes fifo,pias --jobs 1 --out graph");
    // The file is no longer needed: what was run holds the graph.
    fs::remove_file(dir.path().join("ring.txt")).unwrap();
    says(dir.path(), "run graph/ring.toml --jobs 1 --out again");
    // All but the last column, which is the run's key.
    let summary = |file: &str| -> Vec<String> {
        let text = fs::read_to_string(dir.path().join(file)).unwrap();
        text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned()).collect()
    };
    assert_eq!(summary("again/summary.csv"), summary("graph/results/summary.csv"));
    // Hosts have the numbers of the graph's order, which here is the other way round.
    let names = fs::read_to_string(dir.path().join("graph/hosts.csv")).unwrap();
    assert!(names.starts_with("host,name\n0,10.0.0.8\n1,10.0.0.7\n"), "{names}");

    let straight: String = (1..=8).map(|host| format!("switch0 10.0.0.{host} 10Gbps 2us\n")).collect();
    fs::write(dir.path().join("ring.txt"), straight).unwrap();
    says(dir.path(), "compare ring.csv --fabric ring.txt --schemes fifo,pias --jobs 1 --out straight");
    says(dir.path(), "compare ring.csv --fabric star.toml --schemes fifo,pias --jobs 1 --out star");
    assert_eq!(summary("straight/results/summary.csv"), summary("star/results/summary.csv"));

    fs::write(dir.path().join("ring.txt"), "switch0 10.0.0.1 10Gbps\nswitch0 10.0.0.77 10Gbps\n").unwrap();
    let (status, said) = fails(dir.path(), "describe ring.csv --fabric ring.txt");
    assert!(
        status == 2
            && said.contains("names 10.0.0.1, which is a host of the fabric, and 10.0.0.2, which is not"),
        "{said}"
    );
    fs::write(dir.path().join("ring.txt"), "switch0 a 10Gbps\nswitch0 b 10Gbps 5\n").unwrap();
    let (status, said) = fails(dir.path(), "describe ring.csv --fabric ring.txt");
    assert!(status == 2 && said.contains("ring.txt:2: has \"5\", which is neither a rate"), "{said}");
}

/// Of flows that share one link, short ones gain where the shortest is first.
#[test]
fn pairs_say_who_wins() {
    let dir = tempfile::tempdir().unwrap();
    // 90 % of a link of 10 Gbps.
    let heavy: String = (0..6_000)
        .map(|flow| {
            let bytes = if flow % 5 == 0 { 60_000 } else { 3_000 };
            format!("{},{},0,{bytes}\n", f64::from(flow) * 13e-6, 1 + flow % 3)
        })
        .collect();
    fs::write(dir.path().join("in.csv"), format!("start_s,src,dst,bytes\n{heavy}")).unwrap();
    let said = says(
        dir.path(),
        "compare in.csv --schemes rcp,srpt,stf --level flow --fabric micro4 --jobs 1 --set seed=3",
    );
    let verdict = said.split("beside rcp, flow by flow").nth(1).unwrap();
    let row = |group: &str, scheme: &str| -> Vec<String> {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        verdict
            .lines()
            .map(words)
            .find(|words| words.starts_with(&[group.to_owned(), scheme.to_owned()]))
            .unwrap()
    };
    // group, scheme, paired, faster, %, slower, %, ratio, (low…high)
    let srpt = row("short", "srpt");
    let number = |text: &str| text.trim_matches(|c| c == '(' || c == ')').parse::<f64>().unwrap();
    let (low, high) = srpt[8].split_once('…').unwrap();
    let [ratio, low, high] = [srpt[7].as_str(), low, high].map(number);
    assert!(verdict.lines().all(|line| line.chars().count() <= 100 && line == line.trim_end()), "{verdict}");
    assert!(low <= ratio && ratio <= high && high < 0.96, "{srpt:?}\n{said}");
    assert!(number(&srpt[3]) > number(&srpt[5]), "{srpt:?}");
    assert_eq!(srpt[2], "6000");
}

#[test]
fn mistakes_have_one_clear_line_and_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ring.csv"), ring()).unwrap();
    fs::write(dir.path().join("empty.csv"), "start_s,src,dst,bytes\n").unwrap();
    fs::write(dir.path().join("loop.csv"), "start_s,src,dst,bytes\n0,a,a,5\n").unwrap();
    let late = "start_s,src,dst,bytes,deadline_us\n0,a,b,1000,900\n0.1,a,b,1000000,100\n";
    fs::write(dir.path().join("late.csv"), late).unwrap();
    // A fabric that nobody has named is fast enough.
    assert!(says(dir.path(), "describe late.csv").contains("100Gbps"));
    fs::write(dir.path().join("x.pcap"), "").unwrap();
    fs::write(dir.path().join("no.toml"), "[workload]\n").unwrap();
    let before = fs::read_dir(dir.path()).unwrap().count();
    for (words, why) in [
        ("compare ring.csv --schemes pias,nosuch", "--schemes: unknown scheme \"nosuch\""),
        ("compare ring.csv --schemes pias", "--schemes: is pias alone: give two or more"),
        (
            "describe late.csv --fabric micro4",
            "late.csv:3: deadline: is 100.0 µs after the start, but 1MB alone take 800.0 µs on their hosts' links",
        ),
        ("compare ring.csv --schemes pias,pias", "--schemes: names pias twice"),
        ("compare none.csv", "none.csv: cannot be read"),
        ("compare empty.csv", "empty.csv:1: has a header only"),
        ("describe loop.csv", "loop.csv: has no flow that crosses the network"),
        ("describe x.pcap", "x.pcap: is no capture that can be read: it ends before the first packet does"),
        (
            "describe ring.csv --fabric rack17",
            "--fabric: unknown preset \"rack17\"; did you mean \"rack16\"?",
        ),
        ("describe ring.csv --fabric no.toml", "no.toml: fabric: is missing"),
        ("describe ring.csv --fabric micro4", "ring.csv: names 8 hosts, but the fabric has 4"),
        (
            "describe ring.csv --column size=byte",
            "--column: unknown column \"byte\"; did you mean \"bytes\"?",
        ),
        ("describe ring.csv --column begin=bytes", "unknown role \"begin\""),
    ] {
        let (status, said) = fails(dir.path(), words);
        assert!(status == 2 && said.contains(why), "{words}: {status} {said}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), before, "nothing is written");
}
