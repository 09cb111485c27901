//! `tailrace-bench --level linux`: what the host agent costs: a packet in the kernel, a new table of thresholds, and TCP's
//! throughput with and without it, in turn.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use crate::error::Error;
use cpu_time::ThreadTime;
use serde_json::json;
use tailrace_agent::{AgentConfig, for_agent};
use tailrace_bpf::{
    Capture, EgressTagger, Traffic, Wanted, WindowKeeper, interface_number, monotonic, verified_instructions,
};
use tailrace_console::complain;
use tailrace_core::{Bytes, Directive, Directives, LiveError, Reveals, TagTable, Time, WindowShim};
use tailrace_linux::Namespace;

use crate::{Report, args, median};

/// How often a program is given a frame in a round.
const TIMES: u32 = 1_000_000;
/// Flows that have ended, of which thresholds are made.
const ENDED: u64 = 100_000;
/// For how long a connection carries what it can.
const CARRIES: Duration = Duration::from_millis(1500);
/// Connections that are made and closed, one after the other, and how many new ones a second the share of a core is for.
const CONNECTIONS: u32 = 5_000;
const NEW_A_SECOND: f64 = 10_000.0;
/// How often the agent looks for what the kernel says.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const AWAFS: &str = "[agent]\ninterface = \"eth0\"\n[scheme]\nname = \"awafs\"\n\
                     params = { placement = \"host\", period = \"1s\", window = \"5s\" }\n";

fn failed(what: impl std::fmt::Display) -> Error {
    Error::Live(LiveError::SetUp(what.to_string()))
}

/// What packets and tables may take at most, user space of a core, and the least that TCP must carry beside what it does without.
const MAX_TAGGER_NS: f64 = 60.0;
const MAX_WINDOW_NS: f64 = 80.0;
const MAX_TABLE_MS: f64 = 5.0;
const MAX_SHARE: f64 = 0.01;
const MIN_TCP: f64 = 0.97;

/// Measures, and says what misses its goal, a line each.
pub fn measure(options: &args::Bench) -> Result<(Report, Vec<String>), Error> {
    let limits: Vec<Bytes> = (0..7).map(|queue| Bytes::new(10_000 << queue)).collect();
    let tags = Directives::same(Directive::tagged(TagTable::with_limits(&limits)));
    let (near, far) = cable()?;
    let (mut data, mut acks, mut tables) = (Vec::new(), Vec::new(), Vec::new());
    let (mut with, mut without, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut instructions, mut shares) = ([0; 3], Vec::new());
    let (mut leaving, mut coming) = (Vec::new(), Vec::new());
    for round in 1..=options.rounds {
        complain!("round {round} of {}", options.rounds);
        let mut tagger = EgressTagger::new(1 << 16, &tags, &[]).map_err(failed)?;
        instructions[0] = verified_instructions("tag").unwrap_or(0);
        let mut cost = |payload| tagger.try_on(&frame(payload), TIMES).map_err(failed);
        data.push(f64::from(cost(1_448)?.1));
        acks.push(f64::from(cost(0)?.1));
        let [leaves, comes] = windows(&tags, &mut instructions[1..])?;
        leaving.push(leaves);
        coming.push(comes);
        tables.push(thresholds()?);
        shares.push(share(&near, &far)?);
        // Each is the first one in turn: machines slow down.
        let [tagged, bare] = throughputs(&near, &far, tagger, round % 2 == 1)?;
        ratios.push(tagged / bare);
        with.push(tagged);
        without.push(bare);
    }
    let [data, acks, tables, share] = [data, acks, tables, shares].map(median);
    let [leaving, coming] = [leaving, coming].map(median);
    let [with, without, ratio] = [with, without, ratios].map(median);
    let report = json!({
        "tagger_ns_per_data_packet": data,
        "tagger_ns_per_acknowledgement": acks,
        "tagger_verified_instructions": instructions[0],
        "window_verified_instructions": instructions[1..],
        "window_ns_per_data_packet": leaving,
        "window_ns_per_acknowledgement": coming,
        "thresholds_ms": tables,
        "user_space_share_of_a_core": share,
        "tcp_gbps_with_agent": with,
        "tcp_gbps_without_agent": without,
        "tcp_ratio": ratio,
    });
    let text = format!(
        "tagger      {data:.0} ns a packet with data, {acks:.0} ns a pure acknowledgement (BPF_PROG_TEST_RUN, {TIMES} times)\n\
         windows     {leaving:.0} ns a packet with data that leaves, {coming:.0} ns an acknowledgement that comes\n\
         verifier    {} instructions looked at for tags, {} for what leaves with windows, {} for what comes\n\
         thresholds  {tables:.2} ms of CPU from {ENDED} flows that have ended (awafs)\n\
         user space  {:.2} % of a core at {NEW_A_SECOND} new flows a second\n\
         TCP         {with:.2} Gbps with the tagger, {without:.2} Gbps without; ratio {ratio:.3}\n",
        instructions[0],
        instructions[1],
        instructions[2],
        share * 100.0
    );
    Ok(((report, text), missed([data, leaving, coming, tables, share], ratio)))
}

/// The limits that these medians miss, a line each.
fn missed([data, leaving, coming, tables, share]: [f64; 5], ratio: f64) -> Vec<String> {
    let most = [
        ("a tagged packet takes", data, MAX_TAGGER_NS, "ns"),
        ("a packet that leaves with windows takes", leaving, MAX_WINDOW_NS, "ns"),
        ("an acknowledgement that comes with windows takes", coming, MAX_WINDOW_NS, "ns"),
        ("a table takes", tables, MAX_TABLE_MS, "ms"),
        ("user space takes", share * 100.0, MAX_SHARE * 100.0, "% of a core"),
    ];
    shortfalls(&most, ratio)
}

/// TCP's throughput in Gbps with the tagger at the near end, and without it.
fn throughputs(
    near: &Namespace,
    far: &Namespace,
    mut tagger: EgressTagger,
    is_bare_first: bool,
) -> Result<[f64; 2], Error> {
    let attach = || {
        let own = interface_number("eth0").ok_or_else(|| std::io::Error::other("eth0 is gone"))?;
        tagger.attach(own).map_err(std::io::Error::other)
    };
    let before = if is_bare_first { throughput(near, far)? } else { 0.0 };
    near.inside(attach).map_err(failed)?;
    let tagged = throughput(near, far)?;
    drop(tagger);
    let bare = if is_bare_first { before } else { throughput(near, far)? };
    Ok([tagged, bare])
}

/// What takes more than it may, and whether TCP carries less than it must.
fn shortfalls(most: &[(&str, f64, f64, &str)], tcp: f64) -> Vec<String> {
    let over = most.iter().filter(|(_, found, most, _)| found > most);
    let over =
        over.map(|(what, found, most, unit)| format!("{what} {found:.2} {unit}, and may take {most:.0}"));
    let tcp = (tcp < MIN_TCP)
        .then(|| format!("TCP carries {tcp:.3} of what it does without the agent, and must carry {MIN_TCP}"));
    over.chain(tcp).collect()
}

const SYN: u8 = 2;
const ACK: u8 = 16;
/// Beside the length of the TCP header: the other end keeps windows, too.
const KEEPER: u8 = 2;

/// A segment of IPv4 over Ethernet.
fn frame(payload: u16) -> Vec<u8> {
    segment(true, 1, ACK, 0, payload)
}

/// One of the same connection, from its one end or the other.
fn segment(leaves: bool, sequence: u8, flags: u8, keeper: u8, payload: u16) -> Vec<u8> {
    let [high, low] = (52 + payload).to_be_bytes();
    let (source, destination) = if leaves { (1, 2) } else { (2, 1) };
    let ports = if leaves { [0x9c, 0x40, 0, 80] } else { [0, 80, 0x9c, 0x40] };
    let mut frame = vec![2; 12];
    frame.extend([
        8,
        0,
        0x45,
        0,
        high,
        low,
        0,
        1,
        0x40,
        0,
        64,
        6,
        0,
        0,
        10,
        0,
        0,
        source,
        10,
        0,
        0,
        destination,
    ]);
    frame.extend(ports);
    frame.extend([0, 0, 0, sequence, 0, 0, 0, 1, 0x80 | keeper, flags, 1, 0, 0, 0, 0, 0]);
    // Twelve bytes of options that do nothing.
    frame.resize(frame.len() + 12 + usize::from(payload), 1);
    frame
}

/// Nanoseconds of windows for what leaves and what comes, of a connection whose both ends have a keeper.
/// `instructions` are those that the kernel's verifier looked at for either.
fn windows(directives: &Directives, instructions: &mut [u32]) -> Result<[f64; 2], Error> {
    let law = WindowShim {
        gain: 1.0 / 16.0,
        initial_alpha: 1.0,
        settle: true,
        initial_window: 10,
        min_window: 1,
        max_window: 1_000,
        least_threshold: 1,
    };
    let mut keeper = WindowKeeper::new(1 << 16, 0, directives, &[], &law).map_err(failed)?;
    for (name, found) in ["leaves", "comes"].into_iter().zip(instructions) {
        *found = verified_instructions(name).unwrap_or(0);
    }
    let mut cost = |leaves, frame: &[u8], times| keeper.try_on(leaves, frame, times).map_err(failed);
    cost(true, &segment(true, 0, SYN, 0, 0), 1)?;
    cost(false, &segment(false, 0, SYN | ACK, KEEPER, 0), 1)?;
    let leaves = f64::from(cost(true, &segment(true, 1, ACK, 0, 1_448), TIMES)?.1);
    let comes = f64::from(cost(false, &segment(false, 1, ACK, KEEPER, 0), TIMES)?.1);
    let kept = keeper.kept().map_err(failed)?;
    if kept.flows != 1 {
        return Err(failed("the program keeps no window for the connection that it is tried on"));
    }
    Ok([leaves, comes])
}

/// Milliseconds of CPU that a new table takes.
fn thresholds() -> Result<f64, Error> {
    let mut part = for_agent(&AgentConfig::parse(AWAFS)?)?;
    // Sizes of all kinds, each once: the steps are coprime with the range.
    let sizes = (0..ENDED).map(|n| Bytes::new(1 + n * 7_919 % 1_000_003));
    sizes.for_each(|size| part.ended(Time::from_ms(500), size, Reveals::Nothing, 0));
    let start = ThreadTime::now();
    if !part.wake(Time::from_ms(1_200)) {
        return Err(failed("awafs makes no table of the flows that have ended"));
    }
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// The share of a core that hearing of new connections takes, all that the agent does with them included.
#[expect(clippy::disallowed_methods, reason = "connections are made meanwhile")]
fn share(near: &Namespace, far: &Namespace) -> Result<f64, Error> {
    let listener = far.inside(|| TcpListener::bind("10.9.0.2:81")).map_err(failed)?;
    let config = AgentConfig::parse(AWAFS)?;
    // On a thread that is in the namespace of who starts it.
    let connect = || {
        for _ in 0..CONNECTIONS {
            let mut stream = TcpStream::connect("10.9.0.2:81")?;
            stream.write_all(b"x")?;
            drop(stream);
            listener.accept()?;
        }
        Ok::<_, std::io::Error>(())
    };
    let hear = || {
        let mut part = for_agent(&config).map_err(std::io::Error::other)?;
        let own = interface_number("eth0");
        let mut capture =
            Capture::new(&Wanted { interface: own, ..Wanted::default() }).map_err(std::io::Error::other)?;
        let (mut traffic, mut cpu) = (Traffic::default(), Duration::ZERO);
        std::thread::scope(|scope| {
            let makes = scope.spawn(connect);
            while !makes.is_finished() {
                let start = ThreadTime::now();
                for connection in capture.look(LOOK_EVERY).map_err(std::io::Error::other)? {
                    traffic.add(&connection);
                    if connection.whole().is_some() {
                        let size = Bytes::new(connection.sent);
                        part.ended(Time::from_ms(500), size, Reveals::Nothing, 0);
                    }
                }
                cpu += start.elapsed();
            }
            makes.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok((traffic, cpu))
        })
    };
    let (traffic, cpu) = near.inside(hear).map_err(failed)?;
    Ok(cpu.as_secs_f64() / traffic.whole as f64 * NEW_A_SECOND)
}

/// Two machines with a cable between them.
fn cable() -> Result<(Namespace, Namespace), Error> {
    let (near, far) =
        (Namespace::unnamed().map_err(Error::Live)?, Namespace::unnamed().map_err(Error::Live)?);
    let ip = |arguments: String| match Command::new("ip").args(arguments.split(' ')).status()?.success() {
        true => Ok(()),
        false => Err(std::io::Error::other(format!("ip {arguments}"))),
    };
    let up = |address: &str| {
        ip(format!("addr add {address}/24 dev eth0"))?;
        ip("link set eth0 up".to_owned())
    };
    let set_up = || {
        ip(format!("link add eth0 type veth peer name eth0 netns {}", far.path().display()))?;
        up("10.9.0.1")
    };
    near.inside(set_up).and_then(|()| far.inside(|| up("10.9.0.2"))).map_err(failed)?;
    Ok((near, far))
}

/// What one connection carries (Gbps).
#[expect(clippy::disallowed_methods, reason = "both ends of a connection")]
fn throughput(near: &Namespace, far: &Namespace) -> Result<f64, Error> {
    let carry = || {
        let listener = far.inside(|| TcpListener::bind("10.9.0.2:80"))?;
        let mut sender = near.inside(|| TcpStream::connect("10.9.0.2:80"))?;
        let mut receiver = listener.accept()?.0;
        let begun = monotonic();
        let until = begun + CARRIES.as_nanos() as u64;
        let bytes = std::thread::scope(|scope| {
            let taken = scope.spawn(move || {
                let (mut bytes, mut buffer) = (0, vec![0; 1 << 18]);
                loop {
                    match receiver.read(&mut buffer)? {
                        0 => return Ok::<_, std::io::Error>(bytes),
                        count => bytes += count,
                    }
                }
            });
            let some = vec![7; 1 << 18];
            while monotonic() < until {
                sender.write_all(&some)?;
            }
            drop(sender);
            taken.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        Ok::<_, std::io::Error>(bytes as f64 * 8.0 / (monotonic() - begun) as f64)
    };
    carry().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_made_of_all_flows_that_have_ended() {
        assert!(thresholds().unwrap() > 0.0);
    }

    #[test]
    fn what_misses_its_goal_is_said() {
        let most = [("a packet takes", 61.0, 60.0, "ns"), ("a table takes", 5.0, 5.0, "ms")];
        assert_eq!(shortfalls(&most, 0.97), ["a packet takes 61.00 ns, and may take 60"]);
        assert_eq!(shortfalls(&most[1..], 0.96).len(), 1);
        assert!(shortfalls(&most[1..], 1.0).is_empty());
    }
}
