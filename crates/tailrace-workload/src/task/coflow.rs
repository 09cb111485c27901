//! Coflow traces in the format of the public Facebook benchmark (github.com/coflow/coflow-benchmark; Chowdhury et
//! al., Varys, SIGCOMM 2014): shuffles of MapReduce jobs, read as tasks of one stage.
//!
//! First line: `PORTS COFLOWS`. Then a line a coflow: its number, when it arrives in milliseconds, how many mappers and
//! their ports, how many reducers and for each its port and the megabytes (2²⁰ bytes) that it receives, as `PORT:MB`. All
//! mappers send a reducer equal parts, as CoflowSim reads it. Ports are hosts. What stays at a port needs no network and
//! is left out.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use tailrace_config::{ScenarioError, read_file};
use tailrace_core::{Bytes, Time};

use super::shape::{Chunk, Origin, Shape};
use super::workflow::MAX_FLOWS;
use crate::Setting;

/// Bytes of a megabyte of the format.
const MEGABYTE: f64 = 1_048_576.0;

/// A shuffle.
#[derive(Clone, Debug, PartialEq)]
pub struct Coflow {
    /// When it arrives.
    pub arrival: Time,
    /// Ports that send.
    pub mappers: Vec<u16>,
    /// Ports that receive, and the bytes that each receives.
    pub reducers: Vec<(u16, u64)>,
}

/// Reads a trace, ordered by arrival. Coflows that need no network are left out, and those that arrive at `end` or
/// later.
pub fn read_trace(path: &Path, setting: &Setting, end: Option<Time>) -> Result<Vec<Coflow>, ScenarioError> {
    let text = read_file(path)
        .map_err(|error| ScenarioError::new("", format!("cannot be read: {error}")).in_file(path))?;
    let mut coflows = parse(&String::from_utf8_lossy(&text), path, setting)?;
    coflows.sort_by_key(|coflow| coflow.arrival);
    coflows.retain(|coflow| coflow.needs_network() && end.is_none_or(|end| coflow.arrival < end));
    Ok(coflows)
}

impl Coflow {
    fn needs_network(&self) -> bool {
        self.mappers.iter().any(|mapper| self.reducers.iter().any(|(reducer, _)| reducer != mapper))
    }

    /// Its flows as a shape whose roles are ports, and the bytes of each.
    pub fn shape(&self) -> (Shape, Vec<u64>) {
        let n = self.mappers.len() as u32;
        let (mut hops, mut sizes) = (Vec::new(), Vec::new());
        for &(reducer, bytes) in &self.reducers {
            for (k, &mapper) in (0..).zip(&self.mappers).filter(|(_, mapper)| **mapper != reducer) {
                hops.push((mapper, reducer, Origin::Share));
                sizes.push(Chunk { k, n }.of(bytes));
            }
        }
        let mut shape = Shape::default();
        shape.stage(&[], hops);
        (shape, sizes)
    }

    /// One above its highest port.
    pub fn ports_end(&self) -> u16 {
        let ports = self.mappers.iter().chain(self.reducers.iter().map(|(port, _)| port));
        ports.copied().max().unwrap_or(0) + 1
    }
}

fn parse(text: &str, path: &Path, setting: &Setting) -> Result<Vec<Coflow>, ScenarioError> {
    // Some editors begin a file with a byte-order mark.
    let mut lines =
        text.trim_start_matches('\u{feff}').lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let wrong = |line: usize, message: String| ScenarioError::in_line(path, line + 1, message);
    let Some((first, head)) = lines.next() else {
        return Err(wrong(
            0,
            "is empty; the first line must be the numbers of ports and of coflows".to_owned(),
        ));
    };
    let (ports, count) = header(head, setting).map_err(|message| wrong(first, message))?;
    let mut coflows = Vec::new();
    let mut last = first;
    for (number, line) in lines {
        if coflows.len() as u64 == count {
            return Err(wrong(number, format!("is beyond the {count} coflows that the first line tells")));
        }
        coflows.push(coflow(line, ports, setting).map_err(|message| wrong(number, message))?);
        last = number;
    }
    if (coflows.len() as u64) < count {
        let message =
            format!("is the last line, with coflow {}, but the first line tells {count}", coflows.len());
        return Err(wrong(last, message));
    }
    Ok(coflows)
}

/// The numbers of ports and of coflows.
fn header(line: &str, setting: &Setting) -> Result<(u16, u64), String> {
    let mut words = Words::of(line);
    let ports: u64 = words.number("the number of ports")?;
    let count = words.number("the number of coflows")?;
    words.end()?;
    let hosts = setting.hosts;
    match u16::try_from(ports) {
        Ok(ports) if (1..=hosts).contains(&ports.into()) => Ok((ports, count)),
        Err(_) => Err(format!("has {ports} ports, but {} are the most", u16::MAX)),
        Ok(_) => Err(format!("has {ports} ports, but ports are hosts, and the fabric has {hosts}")),
    }
}

fn coflow(line: &str, ports: u16, setting: &Setting) -> Result<Coflow, String> {
    let mut words = Words::of(line);
    let _: u64 = words.number("the coflow's number")?;
    let milliseconds: u64 = words.number("the arrival in milliseconds")?;
    let arrival =
        milliseconds.checked_mul(1_000_000_000).map(Time::from_ps).filter(|at| *at <= Time::LONGEST);
    let arrival = arrival
        .ok_or_else(|| format!("arrives after {milliseconds} ms, but {} is the latest", Time::LONGEST))?;
    let mapper_count: u64 = words.number("the number of mappers")?;
    let mappers = words.several(mapper_count, "mapper", |word| port(word, ports))?;
    let reducer_count: u64 = words.number("the number of reducers")?;
    let largest = u64::from(setting.mss) * u64::from(u32::MAX);
    let reducers =
        words.several(reducer_count, "reducer", |word| reducer(word, ports, mapper_count, largest))?;
    words.end()?;
    twice("mapper", mappers.iter().copied())?;
    twice("reducer", reducers.iter().map(|(port, _)| *port))?;
    let flows = mappers.len() as u64 * reducers.len() as u64;
    if flows > MAX_FLOWS {
        return Err(format!("has {flows} flows, but {MAX_FLOWS} are the most"));
    }
    Ok(Coflow { arrival, mappers, reducers })
}

/// Each port is there once.
fn twice(what: &str, ports: impl Iterator<Item = u16>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    match ports.into_iter().find(|port| !seen.insert(*port)) {
        Some(port) => {
            Err(format!("has {what} {port} twice: a coflow has one flow from each mapper to each reducer"))
        }
        None => Ok(()),
    }
}

fn port(word: &str, ports: u16) -> Result<u16, String> {
    let port: u64 = word.parse().map_err(|_| format!("port \"{word}\" is not a whole number"))?;
    match u16::try_from(port) {
        Ok(port) if port < ports => Ok(port),
        _ => Err(format!("port {port} does not exist: the first line tells {ports}, counted from 0")),
    }
}

/// A reducer's port, and the bytes that it receives from so many mappers.
fn reducer(word: &str, ports: u16, mappers: u64, largest: u64) -> Result<(u16, u64), String> {
    let Some((place, size)) = word.split_once(':') else {
        return Err(format!("reducer \"{word}\" must be a port and megabytes, such as 3:1.5"));
    };
    let port = port(place, ports)?;
    let megabytes: f64 =
        size.parse().map_err(|_| format!("\"{size}\" in \"{word}\" is not a number of megabytes"))?;
    let bytes = (megabytes * MEGABYTE).round();
    // A flow of a task has at least one byte, and as many segments as their numbers have room for.
    if !(bytes >= 1.0 && bytes / mappers as f64 <= largest as f64) {
        let most = Bytes::new(largest);
        return Err(format!(
            "\"{word}\": a reducer receives a byte at least, and at most {most} of each mapper"
        ));
    }
    Ok((port, bytes as u64))
}

/// The words of a line, one after the other.
struct Words<'a>(std::str::SplitWhitespace<'a>);

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Self {
        Words(line.split_whitespace())
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        let word = self.0.next().ok_or_else(|| format!("ends before {what}"))?;
        word.parse().map_err(|_| format!("\"{word}\" must be {what}, a whole number"))
    }

    /// So many words, at least one, each read by `read`.
    fn several<T>(
        &mut self,
        count: u64,
        what: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        if count == 0 {
            return Err(format!("has no {what}, but must have at least one"));
        }
        let mut items = Vec::new();
        for k in 1..=count {
            let word = self.0.next().ok_or_else(|| format!("ends before {what} {k} of {count}"))?;
            items.push(read(word)?);
        }
        Ok(items)
    }

    fn end(&mut self) -> Result<(), String> {
        match self.0.next() {
            None => Ok(()),
            Some(word) => Err(format!("goes on with \"{word}\" where it should end")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tailrace_core::Rate;
    use tailrace_fabric::Racks;

    const SETTING: Setting = Setting {
        hosts: 6,
        speeds: Vec::new(),
        racks: Racks::bounded(&[0, 6]),
        racks_per_pod: 1,
        slices: 0,
        host_rate: Rate::from_gbps(1),
        mss: 1460,
        base_rtt: Time::ZERO,
    };

    fn read(text: &str) -> Result<Vec<Coflow>, String> {
        parse(text, Path::new("t.txt"), &SETTING).map_err(|error| error.to_string())
    }

    #[test]
    fn mappers_send_reducers_equal_parts() {
        let coflows = read("5 2\n1 0 3 0 1 4 2 2:1.0 1:2.0\n2 1500 1 3 1 4:3.0\n").unwrap();
        let (shape, sizes) = coflows[0].shape();
        // A third of a megabyte each, 349 525⅓ bytes; what stays at port 1 is left out.
        assert_eq!(sizes, [349_525, 349_525, 349_526, 699_050, 699_051]);
        let ends: Vec<_> = shape.flows.iter().map(|hop| (hop.src, hop.dst)).collect();
        assert_eq!(ends, [(0, 2), (1, 2), (4, 2), (0, 1), (4, 1)]);
        assert_eq!((coflows[1].arrival, coflows[1].shape().1), (Time::from_ms(1500), vec![3 << 20]));
        assert_eq!([coflows[0].ports_end(), coflows[1].ports_end()], [5, 5]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_number() {
        assert_eq!(read("\u{feff}5 1\n1 0 1 0 1 1:1"), read("5 1\n1 0 1 0 1 1:1"));
    }

    #[test]
    fn what_stays_at_its_port_needs_no_network() {
        assert!(!read("5 1\n1 0 1 2 1 2:1.0").unwrap()[0].needs_network());
        assert!(read("5 1\n1 0 2 2 3 1 2:1.0").unwrap()[0].needs_network());
    }

    #[test]
    fn errors_name_the_line() {
        for (text, expected) in [
            ("", "t.txt:1: is empty"),
            ("7 1\n1 0 1 0 1 1:1", "t.txt:1: has 7 ports, but ports are hosts, and the fabric has 6"),
            ("5\n", "t.txt:1: ends before the number of coflows"),
            ("5 2\n1 0 1 0 1 1:1\n", "t.txt:2: is the last line, with coflow 1, but the first line tells 2"),
            ("5 0\n1 0 1 0 1 1:1\n", "t.txt:2: is beyond the 0 coflows"),
            ("5 1\n1 0 3 0 1", "t.txt:2: ends before mapper 3 of 3"),
            ("5 1\n1 0 1 0 2 1:1", "t.txt:2: ends before reducer 2 of 2"),
            ("5 1\n1 0 1 5 1 1:1", "t.txt:2: port 5 does not exist: the first line tells 5"),
            ("5 1\n1 -4 1 0 1 1:1", "t.txt:2: \"-4\" must be the arrival in milliseconds, a whole number"),
            ("5 1\n1 0 0 1 1:1", "t.txt:2: has no mapper"),
            ("5 1\n1 0 1 0 1 1", "t.txt:2: reducer \"1\" must be a port and megabytes"),
            ("\n\n7 1\n1 0 1 0 1 1:1", "t.txt:3: has 7 ports"),
            ("5 1\n1 0 1 0 1 1:0", "t.txt:2: \"1:0\": a reducer receives a byte at least"),
            ("5 1\n1 0 1 0 1 1:nan", "t.txt:2: \"1:nan\": a reducer"),
            ("5 1\n1 0 1 0 1 1:1 9", "t.txt:2: goes on with \"9\" where it should end"),
            ("5 1\n1 18446744073709551615 1 0 1 1:1", "t.txt:2: arrives after"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9:. \n-]{0,200}") {
            let _ = read(&text);
            let _ = read(&format!("6 2\n{text}"));
        }
    }
}
