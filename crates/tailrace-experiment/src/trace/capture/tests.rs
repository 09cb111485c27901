use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use etherparse::PacketBuilder;
use pcap_file::Endianness;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;

use super::*;

/// A packet of 10.0.0.`from` or, in IPv6, fd00::`from`.
fn packet(from: u8, to: u8, number: u32, payload: usize, v4: bool) -> Vec<u8> {
    let ethernet = PacketBuilder::ethernet2([0; 6], [1; 6]).single_vlan(7.try_into().unwrap());
    let six = |host: u8| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host];
    let ip = match v4 {
        true => ethernet.ipv4([10, 0, 0, from], [10, 0, 0, to], 64),
        false => ethernet.ipv6(six(from), six(to), 64),
    };
    let mut bytes = Vec::new();
    let with_options = ip.tcp(4_000, 80, number, 500).options_raw(&[1; 12]).unwrap();
    with_options.write(&mut bytes, &vec![0; payload]).unwrap();
    bytes
}

struct TempFolder(tempfile::TempDir);

impl TempFolder {
    fn new() -> Self {
        TempFolder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A pcap file of packets, at 1 ms and every millisecond from there, of which at most so many bytes are kept.
    fn pcap(&self, link: DataLink, packets: &[Vec<u8>], keep: usize) -> PathBuf {
        let path = self.path("x.pcap");
        let header = PcapHeader { datalink: link, endianness: Endianness::Little, ..PcapHeader::default() };
        let mut writer = PcapWriter::with_header(File::create(&path).unwrap(), header).unwrap();
        for (number, packet) in (1..).zip(packets) {
            let kept = &packet[..packet.len().min(keep)];
            let stored = PcapPacket::new(Duration::from_millis(number), packet.len() as u32, kept);
            writer.write_packet(&stored).unwrap();
        }
        path
    }
}

/// Source, destination, bytes and start of each flow.
fn rows(table: &Table) -> Vec<[String; 4]> {
    let cell = |column: usize, row: usize| table.columns[column].cells[row].clone();
    (0..table.rows).map(|row| [0, 1, 2, 3].map(|column| cell(column, row))).collect()
}

fn row(from: &str, to: &str, bytes: u64, start_ns: u64) -> [String; 4] {
    [from.to_owned(), to.to_owned(), bytes.to_string(), start_ns.to_string()]
}

#[test]
fn flows_are_those_of_the_packets_with_little_of_each_kept() {
    let place = TempFolder::new();
    let packets = [
        packet(1, 2, 1_000, 1_448, true),
        packet(3, 4, u32::MAX - 99, 200, false),
        packet(1, 2, 2_448, 552, true),
        // Sent again.
        packet(1, 2, 1_000, 1_448, true),
        packet(2, 1, 7, 0, true),
        // Where sequence numbers go round.
        packet(3, 4, 100, 300, false),
    ];
    let expected = [row("10.0.0.1", "10.0.0.2", 2_000, 1_000_000), row("fd00::3", "fd00::4", 500, 2_000_000)];
    for keep in [usize::MAX, 96, 90] {
        let table = of_capture(&place.pcap(DataLink::ETHERNET, &packets, keep)).unwrap();
        assert_eq!(rows(&table), expected, "{keep}");
        assert_eq!(table.notes.len(), 1, "{:?}", table.notes);
    }
}

#[test]
fn link_types_are_told_apart() {
    let place = TempFolder::new();
    let whole = packet(1, 2, 0, 100, true);
    // Ethernet's 14 bytes and the tag's 4.
    let ip = &whole[18..];
    let cooked = [&[0; 14][..], &[8, 0], ip].concat();
    let cooked2 = [&[8, 0][..], &[0; 18], ip].concat();
    let null = [&[2, 0, 0, 0][..], ip].concat();
    for (link, data) in [
        (DataLink::RAW, ip.to_vec()),
        (DataLink::LINUX_SLL, cooked),
        (DataLink::LINUX_SLL2, cooked2),
        (DataLink::NULL, null),
    ] {
        let table = of_capture(&place.pcap(link, &[data], usize::MAX)).unwrap();
        assert_eq!(rows(&table), [row("10.0.0.1", "10.0.0.2", 100, 1_000_000)], "{link:?}");
    }
    let error = of_capture(&place.pcap(DataLink::USB_LINUX, &[whole], usize::MAX)).unwrap_err();
    assert!(
        error.to_string().contains("x.pcap: holds packets of link type USB_LINUX, but must be of"),
        "{error}"
    );
}

#[test]
fn the_newer_form_has_times_in_units_of_its_interfaces() {
    let place = TempFolder::new();
    // Whatever its name says.
    let path = place.path("x.pcap");
    let mut writer = PcapNgWriter::new(File::create(&path).unwrap()).unwrap();
    let interface = |options| InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
    // Microseconds unless told otherwise; nanoseconds; 1/1024 of a second.
    for resolution in [None, Some(9), Some(0x80 | 10)] {
        let options = resolution.map(InterfaceDescriptionOption::IfTsResol).into_iter().collect();
        writer.write_pcapng_block(interface(options)).unwrap();
    }
    for (interface_id, ticks, host) in [(0, 5, 1), (1, 7, 2), (2, 512, 3)] {
        let data = packet(host, 9, 0, 10, true);
        let block = EnhancedPacketBlock {
            interface_id,
            // The writer takes times for nanoseconds, as the reader does.
            timestamp: Duration::from_nanos(ticks),
            original_len: data.len() as u32,
            data: Cow::Owned(data),
            options: vec![],
        };
        writer.write_pcapng_block(block).unwrap();
    }
    let starts: Vec<String> =
        rows(&of_capture(&path).unwrap()).into_iter().map(|row| row[3].clone()).collect();
    assert_eq!(starts, ["7", "5000", "500000000"]);
}

#[test]
fn a_file_that_is_cut_short_counts_up_to_there() {
    let place = TempFolder::new();
    let path =
        place.pcap(DataLink::ETHERNET, &[packet(1, 2, 0, 100, true), packet(1, 2, 100, 100, true)], 96);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 10]).unwrap();
    let table = of_capture(&path).unwrap();
    assert_eq!(rows(&table)[0][2], "100");
    assert!(
        table.notes[0].contains("the file ends in the midst of a packet: the 1 before it count"),
        "{:?}",
        table.notes
    );
}

#[test]
fn what_is_no_capture_or_has_no_flows_is_one_message() {
    let place = TempFolder::new();
    let error = |path: &Path| of_capture(path).unwrap_err().to_string();
    let empty = place.pcap(DataLink::ETHERNET, &[packet(1, 2, 0, 0, true), vec![0; 60]], 96);
    assert!(
        error(&empty).contains("x.pcap: has no TCP flow with data: of its 2 packets 1 are TCP"),
        "{}",
        error(&empty)
    );
    for text in [&b""[..], b"src,dst,bytes\n", &[0x0a, 0x0d, 0x0d, 0x0a, 1, 2], &[0xd4, 0xc3, 0xb2, 0xa1, 2]]
    {
        std::fs::write(&empty, text).unwrap();
        assert!(error(&empty).contains("x.pcap: is no capture that can be read: "), "{}", error(&empty));
    }
    assert!(error(&place.path("none.pcap")).contains("none.pcap: cannot be read"));
    assert!(error(place.0.path()).contains("is no regular file"));
}
