//! Packet captures for Wireshark: nanosecond pcap files with Ethernet, IPv4 and TCP headers.
//!
//! Hosts are 10.0.0.0 plus their number plus one; a flow's number chooses the sender's TCP port; sequence
//! numbers are byte offsets in the flow. Priority i is DSCP 7 − i, which `tailrace qos` tells switches of.
//! Payload is not stored.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, TsResolution};
use tailrace_config::ScenarioError;
use tailrace_core::{Ecn, HEADER_BYTES, HostId, Packet, PacketKind, Time, dscp_of};
use tailrace_run::Tap;
use tailrace_scenario::{Level, Scenario};

use crate::error::Error;

const ETHERNET: usize = 14;
const STORED: usize = ETHERNET + HEADER_BYTES as usize;
const RECEIVER_PORT: u16 = 5001;

/// What to capture, and where to.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Name of the port, such as `leaf0->host3`.
    pub port: String,
    /// The file.
    pub path: PathBuf,
}

/// A file below `dir` for each port, whose name is the port's, as far as files may be called so.
pub(crate) fn captures(ports: &[String], dir: &Path) -> Vec<Capture> {
    // Nodes of a graph may be called anything.
    let plain = |c: char| if c.is_alphanumeric() || "._#-".contains(c) { c } else { '_' };
    let mut taken = BTreeSet::new();
    let ports: BTreeSet<&String> = ports.iter().collect();
    let capture = |port: &String| {
        let name: String = port.replace("->", "-").chars().map(plain).collect();
        let names = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}-{number}")));
        let name = names.into_iter().find(|name| taken.insert(name.clone())).unwrap_or(name);
        Capture { port: port.clone(), path: dir.join(format!("{name}.pcap")) }
    };
    ports.into_iter().map(capture).collect()
}

/// A capture file being written. A failure to write shows when it is finished.
pub(crate) struct Writer {
    path: PathBuf,
    state: Arc<Mutex<State>>,
}

struct State {
    writer: Option<PcapWriter<BufWriter<File>>>,
    failure: Option<String>,
    mss: u32,
}

impl Writer {
    pub(crate) fn create(path: &Path, scenario: &Scenario) -> Result<Self, Error> {
        let file = File::create(path).map_err(|e| Error::storage(path, e))?;
        let header = PcapHeader {
            ts_resolution: TsResolution::NanoSecond,
            datalink: DataLink::ETHERNET,
            ..PcapHeader::default()
        };
        let writer = PcapWriter::with_header(BufWriter::new(file), header)
            .map_err(|e| Error::storage(path, std::io::Error::other(e.to_string())))?;
        let mss = u32::from(scenario.transport.mss);
        let state = State { writer: Some(writer), failure: None, mss };
        Ok(Writer { path: path.to_owned(), state: Arc::new(Mutex::new(state)) })
    }

    /// What the port is given to call.
    pub(crate) fn tap(&self) -> Tap {
        let state = Arc::clone(&self.state);
        Box::new(move |now, packet, src| {
            if let Ok(mut state) = state.lock() {
                state.write(now, packet, src);
            }
        })
    }

    /// Writes out what is buffered.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let failed = |what: String| Error::storage(&self.path, std::io::Error::other(what));
        let mut state = self.state.lock().map_err(|e| failed(e.to_string()))?;
        if let Some(failure) = state.failure.take() {
            return Err(failed(failure));
        }
        match state.writer.take() {
            Some(writer) => writer
                .into_writer()
                .into_inner()
                .map(drop)
                .map_err(|e| Error::storage(&self.path, e.into_error())),
            None => Ok(()),
        }
    }
}

impl State {
    fn write(&mut self, now: Time, packet: &Packet, src: HostId) {
        let frame = frame(packet, src, self.mss);
        let original = u32::from(packet.bytes) + ETHERNET as u32;
        let record = PcapPacket::new(Duration::from_nanos(now.as_ns()), original, &frame);
        if let Some(writer) = &mut self.writer
            && let Err(error) = writer.write_packet(&record)
        {
            self.failure.get_or_insert(error.to_string());
        }
    }
}

/// The headers of a packet from host `src` as bytes.
fn frame(packet: &Packet, src: HostId, mss: u32) -> [u8; STORED] {
    let mut frame = [0; STORED];
    let (ethernet, rest) = frame.split_at_mut(ETHERNET);
    let (ip, tcp) = rest.split_at_mut(20);
    let src = address(src);
    let dst = address(packet.dst.into());
    ethernet[2..6].copy_from_slice(&dst);
    ethernet[8..12].copy_from_slice(&src);
    ethernet[12..].copy_from_slice(&[0x08, 0x00]);

    let ecn = match packet.ecn() {
        Ecn::NotCapable => 0,
        Ecn::Capable => 2,
        Ecn::Marked => 3,
    };
    ip[0] = 0x45;
    ip[1] = dscp_of(usize::from(packet.priority)) << 2 | ecn;
    ip[2..4].copy_from_slice(&packet.bytes.to_be_bytes());
    ip[8] = 64;
    ip[9] = 6;
    ip[12..16].copy_from_slice(&src);
    ip[16..20].copy_from_slice(&dst);
    let checksum = checksum(ip);
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());

    let sender_port = 1024 + (packet.flow % 64_512) as u16;
    let offset = packet.seq.wrapping_mul(mss);
    const FIN: u8 = 0x01;
    const PUSH: u8 = 0x08;
    const ACK: u8 = 0x10;
    const ECE: u8 = 0x40;
    let (from, to, seq, ack, flags) = match packet.kind() {
        PacketKind::Data => (sender_port, RECEIVER_PORT, offset, 0, ACK),
        PacketKind::LastData => (sender_port, RECEIVER_PORT, offset, 0, ACK | PUSH | FIN),
        PacketKind::Ack => (RECEIVER_PORT, sender_port, 0, offset, ACK),
        PacketKind::AckMarked => (RECEIVER_PORT, sender_port, 0, offset, ACK | ECE),
        PacketKind::Probe => (sender_port, RECEIVER_PORT, offset, 0, PUSH),
        PacketKind::ProbeAck => (RECEIVER_PORT, sender_port, 0, offset, ACK | PUSH),
    };
    tcp[0..2].copy_from_slice(&from.to_be_bytes());
    tcp[2..4].copy_from_slice(&to.to_be_bytes());
    tcp[4..8].copy_from_slice(&seq.to_be_bytes());
    tcp[8..12].copy_from_slice(&ack.to_be_bytes());
    tcp[12] = 5 << 4;
    tcp[13] = flags;
    tcp[14..16].copy_from_slice(&u16::MAX.to_be_bytes());
    frame
}

fn address(host: HostId) -> [u8; 4] {
    (0x0A00_0000 + host + 1).to_be_bytes()
}

/// The Internet checksum (RFC 1071) of a header whose checksum field is zero.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    !((sum & 0xFFFF) + (sum >> 16)) as u16
}

/// The number of the port to capture.
pub(crate) fn port_number(scenario: &Scenario, name: &str) -> Result<u32, ScenarioError> {
    if scenario.level != Level::Packet {
        let message = match scenario.level {
            Level::Flow => format!("{name} carries no packets at flow level, so there is nothing to capture"),
            _ => "is for level = \"packet\"; of live hosts, tcpdump captures what they carry".to_owned(),
        };
        return Err(ScenarioError::new("--pcap", message));
    }
    let fabric = scenario.fabric.build();
    fabric.port_named(name).ok_or_else(|| {
        let last = fabric.port_name(fabric.ports.len() as u32 - 1);
        ScenarioError::new(
            "--pcap",
            format!(
                "there is no port \"{name}\"; ports are named like \"host0->{}\" or \"{last}\"",
                fabric.switch_names[0]
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_port_has_a_file_of_its_own() {
        let ports = ["a-b->c", "leaf0->host1", "a->b-c", "leaf0->host1", "x/y->z"].map(str::to_owned);
        let captures = captures(&ports, Path::new("runs"));
        let files: Vec<_> = captures.iter().map(|of| (of.port.as_str(), of.path.to_str().unwrap())).collect();
        assert_eq!(
            files,
            [
                ("a->b-c", "runs/a-b-c.pcap"),
                ("a-b->c", "runs/a-b-c-2.pcap"),
                ("leaf0->host1", "runs/leaf0-host1.pcap"),
                ("x/y->z", "runs/x_y-z.pcap"),
            ]
        );
    }

    #[test]
    fn priorities_are_the_code_points_that_switches_are_told_of() {
        for priority in 0..8u8 {
            let packet = Packet::<()> { priority, ..Packet::EMPTY };
            let planned = tailrace_core::PlannedQueue::new(usize::from(priority), "");
            assert_eq!(frame(&packet, 0, 1460)[15] >> 2, planned.dscp);
        }
    }

    #[test]
    fn headers_say_what_the_packet_says() {
        let mut packet =
            Packet::<()> { flow: 7, dst: 300, bytes: 1500, priority: 2, seq: 3, ..Packet::EMPTY };
        packet.set(PacketKind::LastData, Ecn::Marked);
        let frame = frame(&packet, 5, 1460);
        assert_eq!(&frame[12..14], [0x08, 0x00]);
        assert_eq!(frame[15], 5 << 2 | 3, "DSCP 5 and CE");
        assert_eq!(&frame[26..34], [10, 0, 0, 6, 10, 0, 1, 45]);
        assert_eq!(&frame[34..38], [0x04, 0x07, 0x13, 0x89], "ports 1031 and 5001");
        assert_eq!(&frame[38..42], (3u32 * 1460).to_be_bytes());
        assert_eq!(frame[47], 0x19, "ACK, PSH, FIN");
        // A header with its checksum in place sums to all ones.
        assert_eq!(checksum(&frame[14..34]), 0);
    }
}
