//! Two machines with a cable between them, each a network namespace, and programs on them that talk.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;

use tailrace_linux::{Namespace, check_rights, skip_test};

pub struct Pair {
    pub a: Namespace,
    pub b: Namespace,
}

pub const A4: &str = "10.9.0.1";
pub const B4: &str = "10.9.0.2";
pub const A6: &str = "fd09::1";
pub const B6: &str = "fd09::2";

pub fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Does something in a namespace.
pub fn on(namespace: &Namespace, act: impl FnOnce() + Send) {
    let act = || {
        act();
        Ok(())
    };
    namespace.inside(act).unwrap();
}

/// `None`, and that is said, where this machine cannot.
pub fn pair() -> Option<Pair> {
    if let Err(error) = check_rights("this test") {
        skip_test(error);
        return None;
    }
    let pair = Pair { a: Namespace::unnamed().unwrap(), b: Namespace::unnamed().unwrap() };
    let far = pair.b.path();
    let set_up = |v4: &str, v6: &str| {
        ip("link set lo up");
        ip(&format!("addr add {v4}/24 dev eth0"));
        ip(&format!("addr add {v6}/64 dev eth0 nodad"));
        ip("link set eth0 up");
    };
    let near = || {
        ip(&format!("link add eth0 type veth peer name eth0 netns {}", far.display()));
        set_up(A4, A6);
        Ok(())
    };
    pair.a.inside(near).unwrap();
    on(&pair.b, || set_up(B4, B6));
    Some(pair)
}

/// What goes over a connection.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// Bytes from who asks, and the answer's; the first at least 17.
    pub asked: u64,
    pub answered: u64,
    /// Who closes first.
    pub server_closes: bool,
}

/// Answers on its port as it is asked, until so many connections have ended.
pub fn serve(listener: &TcpListener, connections: usize) {
    for _ in 0..connections {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 17];
        stream.read_exact(&mut head).unwrap();
        let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap());
        let (asked, answered) = (number(0), number(8));
        take(&mut stream, asked - 17);
        give(&mut stream, answered);
        if head[16] == 0 {
            assert_eq!(stream.read(&mut head).unwrap(), 0);
        } else {
            stream.shutdown(Shutdown::Write).unwrap();
            let _ = stream.read(&mut head);
        }
    }
}

pub fn ask(to: SocketAddr, exchange: &Exchange) {
    let mut stream = TcpStream::connect(to).unwrap();
    let mut head = exchange.asked.to_le_bytes().to_vec();
    head.extend(exchange.answered.to_le_bytes());
    head.push(exchange.server_closes.into());
    stream.write_all(&head).unwrap();
    give(&mut stream, exchange.asked - 17);
    take(&mut stream, exchange.answered);
    if exchange.server_closes {
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
}

fn give(stream: &mut TcpStream, mut bytes: u64) {
    let some = [7; 65_536];
    while bytes > 0 {
        let now = bytes.min(some.len() as u64);
        stream.write_all(&some[..now as usize]).unwrap();
        bytes -= now;
    }
}

fn take(stream: &mut TcpStream, bytes: u64) {
    let taken = std::io::copy(&mut stream.take(bytes), &mut std::io::sink()).unwrap();
    assert_eq!(taken, bytes);
}

pub fn address(text: &str, port: u16) -> SocketAddr {
    SocketAddr::new(text.parse::<IpAddr>().unwrap(), port)
}

/// Takes in all that one connection brings.
pub struct Sink(std::thread::JoinHandle<u64>);

impl Sink {
    pub fn start(on: &Namespace, at: SocketAddr) -> Self {
        let listener = on.inside(|| TcpListener::bind(at)).unwrap();
        Sink(std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            std::io::copy(&mut stream, &mut std::io::sink()).unwrap()
        }))
    }

    /// Waits for its end; so much has come.
    pub fn ended(self, bytes: u64) {
        assert_eq!(self.0.join().unwrap(), bytes);
    }
}
