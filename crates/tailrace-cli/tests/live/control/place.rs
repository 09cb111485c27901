//! Two hosts with a cable between them, and a third that both reach over cables of their own: there are etcd and controllers.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;

use tailrace_linux::Namespace;

use crate::agents::*;
use crate::common::*;

/// The third host's address, for each of the two.
pub const ENDPOINTS: [&str; 2] = ["10.8.1.2", "10.8.2.2"];

pub struct World {
    pub pair: Pair,
    pub third: Namespace,
    pub folder: tempfile::TempDir,
}

/// `None`, and that is said, where this machine cannot.
pub fn world() -> Option<World> {
    let pair = pair().filter(|_| crate::control::etcd::is_there())?;
    let third = Namespace::unnamed().unwrap();
    on(&third, || ip("link set lo up"));
    for (number, host) in [&pair.a, &pair.b].into_iter().enumerate() {
        let (link, far, near) = (format!("to{number}"), ENDPOINTS[number], format!("10.8.{}.1", number + 1));
        let path = host.path();
        on(&third, || {
            ip(&format!("link add {link} type veth peer name eth1 netns {}", path.display()));
            ip(&format!("addr add {far}/24 dev {link}"));
            ip(&format!("link set {link} up"));
        });
        on(host, || {
            ip(&format!("addr add {near}/24 dev eth1"));
            ip("link set eth1 up");
        });
    }
    let folder = tempfile::tempdir().unwrap();
    Some(World { pair, third, folder })
}

impl World {
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.path().join(name);
        fs::write(&file, text).unwrap();
        file
    }

    pub fn host(&self, number: usize) -> &Namespace {
        [&self.pair.a, &self.pair.b][number]
    }

    /// Starts the agent of a host, whose file has these sections beside its own.
    pub fn agent(&self, number: usize, control: &str, rest: &str) -> Running {
        let text = format!("[agent]\ninterface = \"eth0\"\n{control}host = \"h{number}\"\n{rest}");
        let file = self.write(&format!("agent{number}.toml"), &text);
        let arguments = ["agent", self::text(&file), "--metrics", "127.0.0.1:9400"];
        Running(start(self.host(number), &arguments, "read its file again"))
    }

    /// Starts a controller, whose metrics are at this port.
    pub fn control(&self, name: &str, port: u16, control: &str, rest: &str) -> Running {
        let file = self.write(&format!("{name}.toml"), &format!("{control}host = \"{name}\"\n{rest}"));
        let metrics = format!("127.0.0.1:{port}");
        let arguments = ["control", self::text(&file), "--metrics", &metrics];
        Running(start(&self.third, &arguments, "metrics: "))
    }

    pub fn status(&self, number: usize) -> serde_json::Value {
        let ask = || tailrace(&["agent", "status", "--json"]).output();
        let output = self.host(number).inside(ask).unwrap();
        let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        all[0].clone()
    }

    /// Where the first queue of a host's flows ends.
    pub fn threshold(&self, number: usize) -> u64 {
        self.status(number)["queues"][0]["to_below_bytes"].as_u64().unwrap_or(u64::MAX)
    }

    /// Flows of these sizes from one host to the other, one after another.
    pub fn flows(&self, from: usize, sizes: impl Iterator<Item = u64>) {
        let to = address([B4, A4][from], 80);
        let listener = self.host(1 - from).inside(|| TcpListener::bind(to)).unwrap();
        let exchanges: Vec<Exchange> =
            sizes.map(|asked| Exchange { asked, answered: 0, server_closes: false }).collect();
        thread::scope(|scope| {
            scope.spawn(|| serve(&listener, exchanges.len()));
            on(self.host(from), || exchanges.iter().for_each(|of| ask(to, of)));
        });
    }
}

/// The page of metrics at a port of a namespace.
pub fn metrics(at: &Namespace, port: u16) -> String {
    let get = || {
        let mut stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        Ok(page)
    };
    at.inside(get).unwrap()
}

/// Whether a page has a line.
pub fn has(page: &str, line: &str) -> bool {
    page.lines().any(|other| other == line)
}
