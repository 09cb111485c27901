//! `tailrace measure` and `tailrace agent`, as commands.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "both ends of a connection, in real time")]

#[cfg(not(feature = "agent"))]
#[test]
fn a_build_without_the_agent_says_how_to_get_one() {
    use std::process::Command;
    tailrace_linux::skip_test(
        "this build has no host agent (cargo test -p tailrace-cli --features agent; needs clang): its commands only say so",
    );
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("agent.toml");
    std::fs::write(&file, "[agent]\ninterface = \"eth0\"\n[scheme]\nname = \"mlfq\"\n").unwrap();
    let said = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tailrace")).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let file = file.to_str().unwrap();
    for (code, text) in [said(&["measure"]), said(&["agent", file])] {
        assert_eq!((code, text.lines().count()), (Some(1), 1), "{text}");
        assert!(text.contains("has no host agent: apt-get install clang-19"), "{text}");
    }
    assert_eq!(said(&["agent", file, "--dry-run"]).0, Some(0));
}

#[cfg(feature = "agent")]
mod with_agent {
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::net::{TcpListener, TcpStream};
    use std::process::Command;
    use std::thread;
    use std::time::{Duration, Instant};

    use nix::sys::signal::Signal;

    use crate::agents::*;
    use crate::common::*;
    use crate::frames::Tap;

    #[test]
    fn what_is_measured_runs_as_a_scenario() {
        let Some(Pair { a, b }) = pair() else { return };
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("monday");
        let arguments =
            ["measure", "--interface", "eth0", "--rate", "1Gbps", "--by", "port", "--out", text(&folder)];
        let child = start(&a, &arguments, "from now on");
        let exchanges: Vec<Exchange> = (0..40)
            .map(|number| Exchange { asked: 100 + number, answered: 10_000 * number, server_closes: true })
            .collect();
        for (to, port) in [(B4, 80), (B6, 81)] {
            let listener = b.inside(|| TcpListener::bind(address(to, port))).unwrap();
            thread::scope(|scope| {
                scope.spawn(|| serve(&listener, exchanges.len()));
                on(&a, || exchanges.iter().for_each(|exchange| ask(address(to, port), exchange)));
            });
        }
        thread::sleep(Duration::from_millis(300));
        signal(&child, Signal::SIGTERM);
        let output = child.wait_with_output().unwrap();
        let report = said(&output);
        assert!(output.status.success(), "{report}");
        // 40 there and, but for the one of 0 bytes, back again.
        assert!(report.lines().any(|line| line.contains("all") && line.contains("158")), "{report}");
        assert!(report.contains("% of the link (--rate)"), "{report}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing is beside the folder");
        let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
        let sizes_of = |v6: bool| {
            let other = if v6 { "2" } else { "1" };
            let mut sizes: Vec<(bool, u64)> = read("flows.csv")
                .lines()
                .skip(1)
                .map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>())
                .filter(|fields| fields[0] == other || fields[1] == other)
                .map(|fields| (fields[0] == "0", fields[2].parse().unwrap()))
                .collect();
            sizes.sort_unstable();
            sizes
        };
        let mut expected: Vec<(bool, u64)> = exchanges
            .iter()
            .flat_map(|of| [(true, of.asked), (false, of.answered)])
            .filter(|of| of.1 > 0)
            .collect();
        expected.sort_unstable();
        assert_eq!((sizes_of(false), sizes_of(true)), (expected.clone(), expected));
        assert_eq!(read("hosts.csv").lines().count(), 5, "{}", read("hosts.csv"));
        assert!(folder.join("sizes-80.cdf").exists() && folder.join("sizes-81.cdf").exists());

        let experiment = place.path().join("x.toml");
        for workload in [
            "workload = { flow_list = \"monday/flows.csv\" }",
            "workload = { sizes = { file = \"monday/sizes.cdf\" }, load = 0.4, flows = 50 }",
        ] {
            let file = format!(
                "fabric = {{ kind = \"star\", hosts = 3, host_rate = \"1Gbps\" }}\n{workload}\n[[scheme]]\nname = \"pias\"\n\
                 params = {{ thresholds = [\"10KB\"], port = {{ queues = 2 }} }}\n"
            );
            fs::write(&experiment, file).unwrap();
            let out = place.path().join("out");
            let (code, said) = run(&["run", text(&experiment), "--out", text(&out), "--fresh"]);
            assert_eq!(code, 0, "{said}");
            fs::remove_dir_all(out).unwrap();
        }
        let sizes = folder.join("sizes.cdf");
        assert_eq!(run(&["thresholds", "--sizes", text(&sizes), "--load", "0.6"]).0, 0);
        let again = run(&["measure", "--out", text(&folder), "--for", "1s"]);
        assert!(
            again.0 == 2 && again.1.contains("--out: ") && again.1.contains("is there already"),
            "{again:?}"
        );
    }

    #[test]
    fn mistakes_are_one_line_and_leave_nothing() {
        let Some(Pair { a, b: _b }) = pair() else { return };
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("x");
        let out = text(&folder);
        for (arguments, code, expected) in [
            (
                vec!["--interface", "eth9"],
                2,
                "--interface: unknown interface \"eth9\"; did you mean \"eth0\"?",
            ),
            (vec!["--cgroup", "/no/such"], 2, "--cgroup: there is no cgroup"),
            (vec!["--for", "200ms"], 1, "no TCP connection has begun"),
        ] {
            let all = [&["measure", "--out", out], &arguments[..]].concat();
            let output = a.inside(|| tailrace(&all).output()).unwrap();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(code), "{errors}");
            assert!(errors.lines().last().unwrap().contains(expected), "{errors}");
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        }
        // An interface of IP packets without frames, where the machine has such.
        let tun = || Command::new("ip").args(["tuntap", "add", "tun0", "mode", "tun"]).status();
        let has_tun = a.inside(tun).unwrap().success();
        let file = place.path().join("agent.toml");
        for (config, expected) in [
            (
                "[agent]\ninterface = \"tun0\"\n[scheme]\nname = \"mlfq\"\n",
                "agent.interface: is \"tun0\", which carries no Ethernet frames",
            ),
            (
                "[agent]\ninterface = \"eth9\"\n[scheme]\nname = \"mlfq\"\n",
                "agent.interface: unknown interface \"eth9\"",
            ),
            (
                "[agent]\ninterface = \"eth0\"\n[scheme]\nname = \"dctcp\"\n",
                "scheme.name: is dctcp, whose hosts give all",
            ),
            (
                "[agent]\ninterface = \"eth0\"\n[scheme]\nname = \"pias\"\nparams = { thresholds = [\"1KB\"] }\n",
                "one fewer than queues",
            ),
            (
                "[agent]\ninterface = \"eth0\"\n[scheme]\nname = \"mlfq\"\n[[rule]]\ncgroup = \"/no/such\"\n",
                "rule[0].cgroup: there is no cgroup",
            ),
            (
                "[agent]\ninterface = \"eth0\"\n[scheme]\nname = \"karuna\"\nparams = { thresholds = { splitting = [\"1KB\"], sieving = [\"1KB\"] }, port = { queues = 3 } }\n\
                 [[rule]]\nport = 80\nsize = \"1KB\"\n[[rule]]\nport = 80\nsize = \"2KB\"\n",
                "rule[1]: is for the same sockets as rule[0]",
            ),
        ] {
            if config.contains("tun0") && !has_tun {
                continue;
            }
            fs::write(&file, config).unwrap();
            let output = a.inside(|| tailrace(&["agent", text(&file)]).output()).unwrap();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!((output.status.code(), errors.lines().count()), (Some(2), 1), "{errors}");
            assert!(errors.contains(expected), "{errors}");
        }
    }

    #[test]
    fn an_agent_tags_by_its_file_reads_it_again_and_is_gone_when_killed() {
        let Some(Pair { a, b }) = pair() else { return };
        on(&a, || ip("link set eth0 gso_max_segs 1"));
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("agent.toml");
        let write = |scheme: &str| {
            fs::write(&file, format!("[agent]\ninterface = \"eth0\"\n[scheme]\n{scheme}\n")).unwrap()
        };
        write("name = \"mlfq\"\nparams = { thresholds = [\"10KB\", \"50KB\"], port = { queues = 3 } }");
        let (tap, listener) =
            (b.inside(|| Ok(Tap::new())).unwrap(), b.inside(|| TcpListener::bind(address(B4, 80))).unwrap());
        let mut agent = start(&a, &["agent", text(&file)], "read its file again");
        let mut near = a.inside(|| TcpStream::connect(address(B4, 80))).unwrap();
        let mut far = listener.accept().unwrap().0;
        carry(&mut near, &mut far, 100_000);
        // A file with a mistake changes nothing.
        write("name = \"mlfq\"\nparams = { thresholds = [\"10KB\"] }");
        signal(&agent, Signal::SIGHUP);
        wait_for(&mut agent, "the agent goes on as before");
        carry(&mut near, &mut far, 100_000);
        let karuna = "name = \"karuna\"\nparams = { thresholds = { splitting = [\"1KB\"], sieving = [\"250KB\"] }, \
                      port = { queues = 3 } }";
        let size = "\n[[rule]]\nport = 80\nsize = ";
        for rules in ["", &format!("{size}\"1KB\""), &format!("{size}\"1KB\"\ndeadline = \"60s\"")] {
            write(&format!("{karuna}{rules}"));
            signal(&agent, Signal::SIGHUP);
            wait_for(&mut agent, "read again; flows go on");
            carry(&mut near, &mut far, 100_000);
        }
        signal(&agent, Signal::SIGKILL);
        agent.wait().unwrap();
        carry(&mut near, &mut far, 100_000);
        let seen: Vec<(u64, u8)> =
            tap.segments(80).into_iter().map(|(before, class)| (before, class >> 2)).collect();
        assert!(seen.len() > 400, "{}", seen.len());
        for (before, dscp) in seen {
            let expected = match before {
                ..10_000 => 7,
                10_000..50_000 => 6,
                50_000..200_000 => 5,
                // The same flow goes on, with as many bytes before it.
                200_000..=250_000 => 6,
                250_001..300_000 => 5,
                // A small size is known; and then a deadline.
                300_000..400_000 => 6,
                400_000..500_000 => 7,
                _ => 0,
            };
            assert_eq!(dscp, expected, "{before}");
        }
    }

    #[test]
    fn what_is_measured_is_grouped_by_the_slices_of_an_agents_rules() {
        let Some(Pair { a, b }) = pair() else { return };
        let place = tempfile::tempdir().unwrap();
        let (folder, rules) = (place.path().join("monday"), place.path().join("agent.toml"));
        let slices = "[[slice]]\nweight = 1\n[[slice]]\nweight = 2\n";
        let ports = "[[rule]]\nport = 80\nslice = 2\n[[rule]]\nport = 81\nslice = 1\n";
        let file = format!("[agent]\ninterface = \"eth0\"\n[scheme]\nname = \"wvcc\"\n{slices}{ports}");
        fs::write(&rules, file).unwrap();
        let by_slice = ["measure", "--interface", "eth0", "--by", "slice", "--out", text(&folder)];
        let refused = a.inside(|| tailrace(&by_slice).output()).unwrap();
        assert_eq!(refused.status.code(), Some(2));
        assert!(said(&refused).contains("--rules: is needed by --by slice"), "{}", said(&refused));
        let child = start(&a, &[&by_slice[..], &["--rules", text(&rules)]].concat(), "from now on");
        for (port, count) in [(80, 3), (81, 2), (82, 4)] {
            let exchanges: Vec<Exchange> =
                (0..count).map(|_| Exchange { asked: 1_000, answered: 0, server_closes: false }).collect();
            let listener = b.inside(|| TcpListener::bind(address(B4, port))).unwrap();
            thread::scope(|scope| {
                scope.spawn(|| serve(&listener, exchanges.len()));
                on(&a, || exchanges.iter().for_each(|exchange| ask(address(B4, port), exchange)));
            });
        }
        thread::sleep(Duration::from_millis(300));
        signal(&child, Signal::SIGTERM);
        let output = child.wait_with_output().unwrap();
        let report = said(&output);
        assert!(output.status.success(), "{report}");
        for (name, flows) in [("slice 2", "3"), ("slice 1", "2"), ("no slice", "4")] {
            let line = report.lines().find(|line| line.contains(name));
            assert_eq!(
                line.and_then(|line| line.split(name).nth(1)?.split_whitespace().next()),
                Some(flows),
                "{report}"
            );
        }
        for group in 0..3 {
            assert!(folder.join(format!("sizes-{group}.cdf")).exists(), "{group}");
        }
        assert!(fs::read_to_string(folder.join("summary.toml")).unwrap().contains("slice 2"));
    }

    #[test]
    fn an_agent_whose_interface_goes_says_so() {
        let Some(Pair { a, b: _b }) = pair() else { return };
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("agent.toml");
        fs::write(&file, "[agent]\ninterface = \"eth0\"\n[scheme]\nname = \"mlfq\"\n").unwrap();
        let agent = start(&a, &["agent", text(&file)], "read its file again");
        on(&a, || ip("link del eth0"));
        let output = agent.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(said(&output).contains("error: interface eth0 is gone"), "{}", said(&output));
    }

    #[test]
    fn awafs_thresholds_follow_flows_that_end() {
        let Some(Pair { a, b }) = pair() else { return };
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("agent.toml");
        let scheme = "name = \"awafs\"\nparams = { placement = \"host\", period = \"200ms\", window = \"10s\", \
                      percentiles = [0.5], port = { queues = 2 } }";
        fs::write(&file, format!("[agent]\ninterface = \"eth0\"\n[scheme]\n{scheme}\n")).unwrap();
        on(&a, || ip("link set eth0 gso_max_segs 1"));
        let mut agent = start(&a, &["agent", text(&file)], "read its file again");
        let listener = b.inside(|| TcpListener::bind(address(B4, 80))).unwrap();
        let exchanges: Vec<Exchange> =
            (1..=40).map(|n| Exchange { asked: n * 1_000, answered: 0, server_closes: false }).collect();
        thread::scope(|scope| {
            scope.spawn(|| serve(&listener, exchanges.len()));
            on(&a, || exchanges.iter().for_each(|of| ask(address(B4, 80), of)));
        });
        // An adjustment later the threshold is the median, 20 KB.
        thread::sleep(Duration::from_millis(600));
        let tap = b.inside(|| Ok(Tap::new())).unwrap();
        let mut near = a.inside(|| TcpStream::connect(address(B4, 80))).unwrap();
        let mut far = listener.accept().unwrap().0;
        carry(&mut near, &mut far, 60_000);
        signal(&agent, Signal::SIGTERM);
        let status = agent.wait().unwrap();
        let rest: Vec<String> =
            BufReader::new(agent.stderr.take().unwrap()).lines().map_while(Result::ok).collect();
        assert!(status.success() && rest.last().unwrap().contains("packets tagged"), "{rest:?}");
        let seen = tap.segments(80);
        let first_low = seen.iter().find(|(_, class)| class >> 2 == 6).map(|(before, _)| *before);
        assert!(first_low.is_some_and(|at| (18_000..24_000).contains(&at)), "{first_low:?}");
        assert!(seen.iter().all(|(before, class)| (class >> 2 == 7) == (*before < first_low.unwrap())));
    }

    /// Flows of these sizes, one after another.
    fn flows(pair: &Pair, sizes: impl Iterator<Item = u64>) {
        let listener = pair.b.inside(|| TcpListener::bind(address(B4, 80))).unwrap();
        let exchanges: Vec<Exchange> =
            sizes.map(|asked| Exchange { asked, answered: 0, server_closes: false }).collect();
        thread::scope(|scope| {
            scope.spawn(|| serve(&listener, exchanges.len()));
            on(&pair.a, || exchanges.iter().for_each(|of| ask(address(B4, 80), of)));
        });
    }

    #[test]
    fn awafs_thresholds_follow_another_workload_within_a_window() {
        let Some(pair) = pair() else { return };
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("agent.toml");
        let scheme = "name = \"awafs\"\nparams = { placement = \"host\", period = \"200ms\", window = \"2s\", \
                      percentiles = [0.5], port = { queues = 2 } }";
        fs::write(&file, format!("[agent]\ninterface = \"eth0\"\n[scheme]\n{scheme}\n")).unwrap();
        let _agent = Running(start(&pair.a, &["agent", text(&file)], "read its file again"));
        let becomes = |expected: u64, within: Duration| {
            let threshold = || {
                let output = pair.a.inside(|| tailrace(&["agent", "status", "--json"]).output()).unwrap();
                let status: serde_json::Value = serde_json::from_str(&said(&output)).unwrap();
                status[0]["queues"][0]["to_below_bytes"].as_u64().unwrap_or(u64::MAX)
            };
            until(&format!("a threshold of {expected}"), within, || {
                threshold().abs_diff(expected) < expected / 50
            })
        };
        flows(&pair, (1..=40).map(|kb| kb * 1_000));
        let last_of_these = Instant::now();
        becomes(20_000, Duration::from_secs(1));
        flows(&pair, (101..=140).map(|kb| kb * 1_000));
        // Of both, and when the first are a window ago, of the second alone.
        becomes(40_000, Duration::from_secs(1));
        let left = Duration::from_millis(2_700).saturating_sub(last_of_these.elapsed());
        becomes(120_000, left);
    }
}
