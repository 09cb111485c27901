//! What an agent that runs says of itself: `status`, `flows`, `top`, and metrics.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::agents::*;
use crate::common::*;

#[test]
fn it_is_asked_for_status_flows_top_and_metrics() {
    let Some(Pair { a, b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("agent.toml");
    let scheme = "name = \"mlfq\"\nparams = { thresholds = [\"10KB\", \"50KB\"], port = { queues = 3 } }";
    fs::write(&file, format!("[agent]\ninterface = \"eth0\"\n[scheme]\n{scheme}\n")).unwrap();
    let ask = |arguments: &[&str]| {
        let all = [&["agent"], arguments].concat();
        let output = a.inside(|| tailrace(&all).output()).unwrap();
        (output.status.code().unwrap(), said(&output))
    };
    for question in ["status", "flows", "top"] {
        let (code, text) = ask(&[question]);
        assert_eq!((code, text.lines().count()), (1, 1), "{text}");
        assert!(text.contains("no agent runs in this network namespace: tailrace agent FILE"), "{text}");
    }
    // The metrics' port is one of the namespace.
    let arguments = ["agent", text(&file), "--metrics", "127.0.0.1:9400"];
    let mut agent = start(&a, &arguments, "metrics: http://127.0.0.1:9400/metrics");
    let listener = b.inside(|| TcpListener::bind(address(B4, 80))).unwrap();
    let exchange = Exchange { asked: 20_000, answered: 700, server_closes: false };
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&listener, 1));
        on(&a, || ask_once(&exchange));
    });
    let mut near = a.inside(|| TcpStream::connect(address(B4, 80))).unwrap();
    let mut far = listener.accept().unwrap().0;
    let source = near.local_addr().unwrap().to_string();
    carry(&mut near, &mut far, 30_000);
    std::thread::sleep(Duration::from_millis(200));

    let (code, json) = ask(&["status", "--json"]);
    assert_eq!(code, 0, "{json}");
    let status = &serde_json::from_str::<serde_json::Value>(&json).unwrap()[0];
    assert_eq!((&status["interface"], &status["user"]), (&"eth0".into(), &"nobody".into()));
    assert_eq!((&status["process"], &status["flows"]), (&agent.id().into(), &2.into()));
    assert_eq!(status["connections"]["bytes_sent"], 20_000);
    assert_eq!(status["connections"]["bytes_received"], 700);
    let queue = serde_json::json!({ "queue": 2, "dscp": 6, "from_bytes": 10_000, "to_below_bytes": 50_000 });
    assert_eq!(status["queues"][1], queue);
    let (_, shown) = ask(&["status"]);
    assert!(shown.contains("connections  1 ended, 20KB sent, 700B received"), "{shown}");
    assert!(shown.contains("queue 3      DSCP 5: 50KB or more"), "{shown}");

    let (_, json) = ask(&["flows", "--json", "--interface", "eth0"]);
    let flows: serde_json::Value = serde_json::from_str(&json).unwrap();
    let largest = &flows["flows"][0];
    assert_eq!((&flows["remembered"], &largest["bytes_sent"]), (&1.into(), &30_000.into()), "{flows}");
    assert_eq!((largest["source"].as_str(), largest["queue"].as_u64()), (Some(source.as_str()), Some(2)));
    let (_, shown) = ask(&["flows", "--most", "1"]);
    assert!(shown.contains(&source) && shown.contains("1 of 1 that are remembered"), "{shown}");
    let (code, wrong) = ask(&["flows", "--interface", "eth9"]);
    assert!(code == 2 && wrong.contains("unknown interface with an agent \"eth9\""), "{wrong}");

    let (_, shown) = std::thread::scope(|scope| {
        let top = scope.spawn(|| ask(&["top", "--for", "2.5s"]));
        for _ in 0..20 {
            carry(&mut near, &mut far, 10_000);
        }
        top.join().unwrap()
    });
    assert!(shown.lines().any(|line| line.starts_with(&source) && line.contains("bps")), "{shown}");

    let page = metrics(&a);
    for line in [
        "tailrace_agent_flows_total{interface=\"eth0\"} 2",
        "tailrace_agent_connections_total{interface=\"eth0\"} 1",
        "tailrace_agent_threshold_bytes{interface=\"eth0\",priority=\"0\"} 10000",
    ] {
        assert!(page.lines().any(|other| other == line), "{line}: {page}");
    }
    // A port that is taken is one line, and another interface's agent another agent.
    fs::write(&file, format!("[agent]\ninterface = \"lo\"\n[scheme]\n{scheme}\n")).unwrap();
    let (code, taken) = {
        let output = a.inside(|| tailrace(&arguments).output()).unwrap();
        (output.status.code(), said(&output))
    };
    assert_eq!((code, taken.lines().count()), (Some(2), 1), "{taken}");
    assert!(taken.contains("--metrics: 127.0.0.1:9400 is taken by another program"), "{taken}");
    let mut second = start(&a, &["agent", text(&file)], "read its file again");
    let (code, several) = ask(&["flows"]);
    assert!(code == 2 && several.contains("there are several agents: at eth0, lo"), "{several}");
    for agent in [&mut agent, &mut second] {
        signal(agent, Signal::SIGTERM);
        assert!(agent.wait().unwrap().success());
    }
}

#[test]
fn an_agent_that_keeps_windows_says_of_how_many_connections() {
    let Some(Pair { a, b }) = pair() else { return };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("agent.toml");
    let scheme = "name = \"wvcc\"\n[[slice]]\nweight = 2\n[[rule]]\nport = 80\nslice = 1\n";
    fs::write(&file, format!("[agent]\ninterface = \"eth0\"\n[scheme]\n{scheme}")).unwrap();
    let mut far_agent = start(&b, &["agent", text(&file)], "read its file again");
    let arguments = ["agent", text(&file), "--metrics", "127.0.0.1:9400"];
    let mut agent = start(&a, &arguments, "read its file again");
    let listener = b.inside(|| TcpListener::bind(address(B4, 80))).unwrap();
    let mut near = a.inside(|| TcpStream::connect(address(B4, 80))).unwrap();
    let mut far = listener.accept().unwrap().0;
    carry(&mut near, &mut far, 30_000);
    std::thread::sleep(Duration::from_millis(200));
    let ask = |question: &[&str]| {
        let output = a.inside(|| tailrace(&[&["agent"], question].concat()).output()).unwrap();
        (output.status.code().unwrap(), said(&output))
    };
    let (_, json) = ask(&["status", "--json"]);
    let status = &serde_json::from_str::<serde_json::Value>(&json).unwrap()[0];
    assert_eq!((&status["connections_with_windows"], &status["packets_tagged"]), (&1.into(), &().into()));
    assert!(status["memory_bytes"].as_u64().unwrap() > 1_000_000, "{json}");
    let (_, shown) = ask(&["status"]);
    assert!(shown.contains("  windows      of 1 connections; "), "{shown}");
    let (code, flows) = ask(&["flows"]);
    let line = flows.lines().find(|line| line.contains(&format!("{B4}:80"))).unwrap_or_default();
    assert!(code == 0 && line.contains("30KB") && line.trim_end().ends_with(" 1.000"), "{flows}");
    assert!(flows.ends_with("1 of 1 that are remembered\n"), "only one way has bytes: {flows}");
    let page = metrics(&a);
    assert!(page.contains("tailrace_agent_window_connections_total{interface=\"eth0\"} 1\n"), "{page}");
    for agent in [&mut agent, &mut far_agent] {
        signal(agent, Signal::SIGTERM);
        assert!(agent.wait().unwrap().success());
    }
}

fn ask_once(exchange: &Exchange) {
    ask(address(B4, 80), exchange);
}

fn metrics(namespace: &tailrace_linux::Namespace) -> String {
    let get = || {
        let mut stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, 9400)))?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        Ok(page)
    };
    namespace.inside(get).unwrap()
}
