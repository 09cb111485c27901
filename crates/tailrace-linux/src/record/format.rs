//! The file: a header, and entries of one length. All numbers are big-endian.
//!
//! ```text
//! header: "TAILREC" and a version  8 length of the scheme's header  10 length of the description  14 the description
//! entry:  0 kind  1 time, in ps  9 host  11 DSCP and ECN  12 the packet as on a wire, its number as the time sent
//! ```
//!
//! A packet's number is its place among those that entered, from 0. An entry of kind [`END`] is the last one; a record
//! without it was cut short.

use std::io::{self, ErrorKind, Read};

use tailrace_core::{Header, HostId, Packet, Reason, Time};

use crate::frame::wire;

const MAGIC: &[u8; 8] = b"TAILREC\x01";
/// Descriptions are text for people and programs, not data.
const LONGEST_DESCRIPTION: u32 = 64 << 20;
const PACKET_AT: usize = 12;

/// Nothing comes after this time.
const END: u8 = 0;
const ENTERED: u8 = 1;
const LEFT: u8 = 2;
const DROPPED: [(u8, Reason); 3] = [(3, Reason::Buffer), (4, Reason::Evicted), (5, Reason::Failure)];

/// What is wrong with a record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("is no record: it must begin with TAILREC and version 1")]
    NoRecord,
    /// Its packets have other headers.
    #[error(
        "has packets with headers of {found} bytes, but the scheme's have {expected}: it is of another scheme"
    )]
    OtherHeader {
        /// Length of the headers in the record.
        found: u16,
        /// Length of the scheme's header.
        expected: u16,
    },
    /// An entry says what no recorder says.
    #[error("entry {0} (counted from 1) makes no sense: the record is damaged")]
    Damaged(u64),
}

/// What an entry tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    End,
    Entered,
    Left,
    Dropped(Reason),
}

impl What {
    fn number(self) -> u8 {
        match self {
            What::End => END,
            What::Entered => ENTERED,
            What::Left => LEFT,
            What::Dropped(Reason::Buffer) => DROPPED[0].0,
            What::Dropped(Reason::Evicted) => DROPPED[1].0,
            What::Dropped(Reason::Failure) => DROPPED[2].0,
        }
    }

    fn of(number: u8) -> Option<What> {
        match number {
            END => Some(What::End),
            ENTERED => Some(What::Entered),
            LEFT => Some(What::Left),
            _ => DROPPED.iter().find(|known| known.0 == number).map(|known| What::Dropped(known.1)),
        }
    }
}

/// An entry. Its packet's `sent_ps` is the packet's number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<H> {
    pub(super) what: What,
    pub(super) at: Time,
    /// Where it entered or left; 0 for what was dropped.
    pub(super) host: HostId,
    pub(super) packet: Packet<H>,
}

/// Length of an entry.
pub(super) fn entry_bytes<H: Header>() -> usize {
    PACKET_AT + wire::FIXED_BYTES + usize::from(H::WIRE_BYTES)
}

impl<H: Header> Entry<H> {
    /// Writes it into `out`, which is [`entry_bytes`] long.
    pub(super) fn encode(&self, out: &mut [u8]) {
        out[0] = self.what.number();
        out[1..9].copy_from_slice(&self.at.as_ps().to_be_bytes());
        out[9..11].copy_from_slice(&Packet::address(self.host).to_be_bytes());
        out[11] = wire::tos(&self.packet);
        // Two bytes of a packet are not used, and a header that says less than it may does not write the rest.
        out[PACKET_AT..].fill(0);
        wire::encode(&self.packet, &mut out[PACKET_AT..]);
    }

    fn decode(raw: &[u8]) -> Option<Self> {
        let (at, host) = (raw.get(1..)?.first_chunk()?, raw.get(9..)?.first_chunk()?);
        Some(Entry {
            what: What::of(*raw.first()?)?,
            at: Time::from_ps(u64::from_be_bytes(*at)),
            host: u16::from_be_bytes(*host).into(),
            packet: wire::decode(raw.get(PACKET_AT..)?, *raw.get(11)?)?,
        })
    }
}

/// The header of a file.
pub(super) fn head(header_bytes: u16, description: &str) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    head.extend(header_bytes.to_be_bytes());
    head.extend((description.len() as u32).to_be_bytes());
    head.extend(description.as_bytes());
    head
}

/// A record that is being read.
#[derive(Debug)]
pub struct Record<R> {
    input: R,
    header_bytes: u16,
    description: String,
    read: u64,
    raw: Vec<u8>,
}

impl<R: Read> Record<R> {
    /// Begins to read one. Reads in small pieces: `input` should have a buffer.
    pub fn open(mut input: R) -> Result<Self, RecordError> {
        let mut head = [0; 14];
        input.read_exact(&mut head).map_err(or_end)?;
        let [header_high, header_low, length @ ..] = &head[8..] else { return Err(RecordError::NoRecord) };
        let length = u32::from_be_bytes(*length.first_chunk().ok_or(RecordError::NoRecord)?);
        if &head[..8] != MAGIC || length > LONGEST_DESCRIPTION {
            return Err(RecordError::NoRecord);
        }
        let mut description = Vec::new();
        input.by_ref().take(u64::from(length)).read_to_end(&mut description)?;
        if description.len() < length as usize {
            return Err(RecordError::NoRecord);
        }
        let description = String::from_utf8(description).map_err(|_| RecordError::NoRecord)?;
        let header_bytes = u16::from_be_bytes([*header_high, *header_low]);
        Ok(Record { input, header_bytes, description, read: 0, raw: Vec::new() })
    }

    /// What the recorder's user wrote: which network this was.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// What to say of the entry that was read last.
    pub(super) fn damaged(&self) -> RecordError {
        RecordError::Damaged(self.read)
    }

    /// The next entry; `None` if the record ends here without saying so.
    pub(super) fn next<H: Header>(&mut self) -> Result<Option<Entry<H>>, RecordError> {
        if self.header_bytes != H::WIRE_BYTES {
            return Err(RecordError::OtherHeader { found: self.header_bytes, expected: H::WIRE_BYTES });
        }
        self.raw.resize(entry_bytes::<H>(), 0);
        match self.input.read_exact(&mut self.raw) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            done => done?,
        }
        self.read += 1;
        Entry::decode(&self.raw).map(Some).ok_or_else(|| self.damaged())
    }
}

fn or_end(error: io::Error) -> RecordError {
    if error.kind() == ErrorKind::UnexpectedEof { RecordError::NoRecord } else { RecordError::Io(error) }
}
