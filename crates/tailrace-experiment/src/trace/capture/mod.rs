//! A capture of packets (pcap, pcapng) as a table of the TCP flows in it.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::net::IpAddr;
use std::path::Path;

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError, TsResolution};
use tailrace_config::ScenarioError;

use crate::trace::connections::{Connections, Segment};
use crate::trace::table::{Column, Table};

/// A second, in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Reads a capture. Of a file that ends in the midst of a packet what comes before counts.
pub fn of_capture(path: &Path) -> Result<Table, ScenarioError> {
    let wrong = |message: String| ScenarioError::new("", message).in_file(path);
    let unreadable = |error: std::io::Error| wrong(format!("cannot be read: {error}"));
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(wrong("is no regular file".to_owned()));
    }
    let mut file = File::open(path).map_err(unreadable)?;
    let mut capture = Capture::default();
    // Many tools write the newer form under the older one's name.
    let ended = match is_newer_form(&mut file).map_err(unreadable)? {
        true => capture.read_pcapng(file),
        false => capture.read_pcap(file),
    };
    match ended {
        Ok(()) => {}
        Err(PcapError::IoError(error)) if error.kind() == ErrorKind::UnexpectedEof && capture.packets > 0 => {
            let after = capture.packets;
            capture
                .notes
                .push(format!("the file ends in the midst of a packet: the {after} before it count"));
        }
        Err(error) => {
            let why = match error {
                PcapError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    "it ends before the first packet does".to_owned()
                }
                PcapError::IoError(error) => error.to_string(),
                error => error.to_string(),
            };
            return Err(wrong(format!(
                "is no capture that can be read: {why}, after {} packets",
                capture.packets
            )));
        }
    }
    capture.table().map_err(wrong)
}

/// Whether a file begins as pcapng does.
fn is_newer_form(file: &mut File) -> std::io::Result<bool> {
    let mut magic = Vec::new();
    file.by_ref().take(4).read_to_end(&mut magic)?;
    file.rewind()?;
    Ok(magic == [0x0a, 0x0d, 0x0d, 0x0a])
}

/// What has been read.
#[derive(Default)]
struct Capture {
    packets: u64,
    tcp: u64,
    connections: Connections,
    /// Link types that nothing is known of.
    unknown: Option<DataLink>,
    notes: Vec<String>,
}

impl Capture {
    fn read_pcap(&mut self, from: impl Read) -> Result<(), PcapError> {
        let mut reader = PcapReader::new(from)?;
        let header = reader.header();
        let fraction = match header.ts_resolution {
            TsResolution::MicroSecond => 1_000,
            TsResolution::NanoSecond => 1,
        };
        while let Some(packet) = reader.next_raw_packet() {
            let packet = packet?;
            let at = u64::from(packet.ts_sec) * SECOND + u64::from(packet.ts_frac) * fraction;
            self.packet(header.datalink, at, &packet.data, packet.orig_len);
        }
        Ok(())
    }

    fn read_pcapng(&mut self, from: impl Read) -> Result<(), PcapError> {
        let mut reader = PcapNgReader::new(from)?;
        let mut interfaces: Vec<(DataLink, u8)> = Vec::new();
        while let Some(block) = reader.next_block() {
            match block? {
                Block::SectionHeader(_) => interfaces.clear(),
                Block::InterfaceDescription(interface) => {
                    interfaces.push((interface.linktype, resolution(&interface)))
                }
                Block::EnhancedPacket(packet) => {
                    let id = packet.interface_id;
                    let interface = interfaces.get(id as usize).copied();
                    let (link, resolution) = interface.ok_or(PcapError::InvalidInterfaceId(id))?;
                    // The reader takes all times for nanoseconds.
                    let at = nanoseconds(packet.timestamp.as_nanos() as u64, resolution);
                    self.packet(link, at, &packet.data, packet.original_len);
                }
                // The other kinds of packets have no time, or are of no tool that is in use.
                _ => {}
            }
        }
        Ok(())
    }

    fn packet(&mut self, link: DataLink, at: u64, data: &[u8], length: u32) {
        self.packets += 1;
        let Some(sliced) = sliced(link, data) else {
            self.unknown.get_or_insert(link);
            return;
        };
        if let Some(segment) = segment(&sliced, at, data.len(), length) {
            self.tcp += 1;
            self.connections.take(&segment);
        }
    }

    fn table(mut self) -> Result<Table, String> {
        if let Some(link) = self.unknown.filter(|_| self.tcp == 0) {
            return Err(format!(
                "holds packets of link type {link:?}, but must be of Ethernet, IP or Linux' cooked ones"
            ));
        }
        let flows = self.connections.finish();
        if flows.is_empty() {
            let Capture { packets, tcp, .. } = self;
            return Err(format!("has no TCP flow with data: of its {packets} packets {tcp} are TCP"));
        }
        if self.tcp < self.packets {
            self.notes.push(format!(
                "{} of {} packets are no TCP: they were left out",
                self.packets - self.tcp,
                self.packets
            ));
        }
        let paused = flows.iter().filter(|flow| flow.paused).count();
        if paused > 0 {
            self.notes.push(format!(
                "{paused} of {} flows pause for a second or more: such connections may carry several messages, which count as one \
                 flow each way",
                flows.len()
            ));
        }
        self.notes.push(
            "a flow is what a connection sends in one direction, without what was sent again".to_owned(),
        );
        let column = Column::of_texts;
        let columns = vec![
            column("src", flows.iter().map(|flow| flow.from.ip().to_string()).collect()),
            column("dst", flows.iter().map(|flow| flow.to.ip().to_string()).collect()),
            column("size_bytes", flows.iter().map(|flow| flow.bytes.to_string()).collect()),
            column("start_ns", flows.iter().map(|flow| flow.start_ns.to_string()).collect()),
        ];
        Ok(Table::of_columns(columns, self.notes))
    }
}

/// The unit of an interface's times: a power of ten or, with the highest bit, of two (pcapng, §4.2); microseconds by default.
fn resolution(interface: &InterfaceDescriptionBlock) -> u8 {
    let given = interface.options.iter().find_map(|option| match option {
        InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
        _ => None,
    });
    given.unwrap_or(6)
}

fn nanoseconds(ticks: u64, resolution: u8) -> u64 {
    let power = u32::from(resolution & 0x7f);
    let per_second = match resolution & 0x80 {
        0 => 10_u128.checked_pow(power),
        _ => 1_u128.checked_shl(power),
    };
    let per_second = per_second.unwrap_or(u128::MAX).max(1);
    u64::try_from(u128::from(ticks) * u128::from(SECOND) / per_second).unwrap_or(u64::MAX)
}

/// The layers of a packet; `None` of a link type that nothing is known of.
fn sliced(link: DataLink, data: &[u8]) -> Option<LaxSlicedPacket<'_>> {
    let nothing = || LaxSlicedPacket::from_ether_type(EtherType(0), &[]);
    let after = |at: usize, length: usize| {
        let ether_type = data.get(at..at + 2).map(|raw| EtherType(u16::from_be_bytes([raw[0], raw[1]])));
        ether_type
            .zip(data.get(length..))
            .map_or_else(nothing, |(kind, rest)| LaxSlicedPacket::from_ether_type(kind, rest))
    };
    Some(match link {
        DataLink::ETHERNET => LaxSlicedPacket::from_ethernet(data).unwrap_or_else(|_| nothing()),
        DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => {
            LaxSlicedPacket::from_ip(data).unwrap_or_else(|_| nothing())
        }
        DataLink::NULL | DataLink::LOOP => {
            data.get(4..).and_then(|rest| LaxSlicedPacket::from_ip(rest).ok()).unwrap_or_else(nothing)
        }
        DataLink::LINUX_SLL => after(14, 16),
        DataLink::LINUX_SLL2 => after(0, 20),
        _ => return None,
    })
}

/// The TCP segment in a packet of which `stored` bytes are there and which had `length`; `None` if there is none.
fn segment(packet: &LaxSlicedPacket, at_ns: u64, stored: usize, length: u32) -> Option<Segment> {
    let Some(TransportSlice::Tcp(tcp)) = &packet.transport else { return None };
    // Bytes of IP's payload, headers of extensions included, and what of them comes before TCP.
    let (from, to, told, before, there): (IpAddr, IpAddr, _, _, _) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let told = usize::from(header.total_len()).saturating_sub(header.slice().len());
            let before = ip.extensions().auth.as_ref().map_or(0, |auth| auth.slice().len());
            (
                header.source_addr().into(),
                header.destination_addr().into(),
                told,
                before,
                ip.payload().payload.len(),
            )
        }
        LaxNetSlice::Ipv6(ip) => {
            let (header, before) = (ip.header(), ip.extensions().slice().len());
            let told = usize::from(header.payload_length());
            (
                header.source_addr().into(),
                header.destination_addr().into(),
                told,
                before,
                ip.payload().payload.len(),
            )
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let header = tcp.header_slice().len();
    // A packet too long for IP's field (which is then 0), as a network card was given it.
    let cut = (length as usize).saturating_sub(stored);
    let payload =
        if told == 0 { (there + cut).saturating_sub(header) } else { told.saturating_sub(before + header) };
    Some(Segment {
        from: (from, tcp.source_port()).into(),
        to: (to, tcp.destination_port()).into(),
        at_ns,
        number: tcp.sequence_number(),
        payload: payload as u64,
        opens: tcp.syn(),
    })
}

#[cfg(test)]
mod tests;
