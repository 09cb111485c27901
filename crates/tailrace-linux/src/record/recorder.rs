//! Writes a record while a network runs.

use std::io::{self, BufWriter, Write};
use std::marker::PhantomData;

use tailrace_core::{Header, HostId, Packet, Time};
use tailrace_packet::Lost;

use super::format::{Entry, What, entry_bytes, head};

/// Bytes that are written at once.
const BUFFER: usize = 1 << 18;

/// Writes down what happens at a network whose packets carry the number of their frame's slot as the time sent. Memory
/// does not grow with what is written.
pub struct Recorder<H> {
    out: BufWriter<Box<dyn Write + Send>>,
    /// The number of the packet in each slot, among all that have entered.
    numbers: Vec<u64>,
    entered: u64,
    raw: Vec<u8>,
    /// The first thing that went wrong. What comes after it is not written.
    failed: Option<io::Error>,
    header: PhantomData<H>,
}

impl<H: Header> Recorder<H> {
    /// Begins a record. `description` should tell how to build the same network again.
    pub fn new(out: Box<dyn Write + Send>, description: &str) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(BUFFER, out);
        out.write_all(&head(H::WIRE_BYTES, description))?;
        // What is killed before much has entered leaves a record, if one of nothing.
        out.flush()?;
        Ok(Recorder {
            out,
            numbers: Vec::new(),
            entered: 0,
            raw: vec![0; entry_bytes::<H>()],
            failed: None,
            header: PhantomData,
        })
    }

    /// A packet of `host` enters at `at`.
    pub fn entered(&mut self, at: Time, host: HostId, packet: &Packet<H>) {
        let slot = packet.sent_ps as usize;
        if slot >= self.numbers.len() {
            self.numbers.resize(slot + 1, 0);
        }
        self.numbers[slot] = self.entered;
        self.entered += 1;
        self.write(What::Entered, at, host, packet);
    }

    /// A packet leaves for `host`, and was due at `at`.
    pub fn left(&mut self, at: Time, host: HostId, packet: &Packet<H>) {
        self.write(What::Left, at, host, packet);
    }

    /// A packet was dropped.
    pub fn dropped(&mut self, lost: &Lost<H>) {
        self.write(What::Dropped(lost.reason), lost.at, 0, &lost.packet);
    }

    fn write(&mut self, what: What, at: Time, host: HostId, packet: &Packet<H>) {
        let sent_ps = self.numbers.get(packet.sent_ps as usize).copied().unwrap_or(u64::MAX);
        Entry { what, at, host, packet: Packet { sent_ps, ..*packet } }.encode(&mut self.raw);
        if self.failed.is_none() {
            self.failed = self.out.write_all(&self.raw).err();
        }
    }

    /// Ends the record: the network has run up to `at`. Tells how many packets have entered, or what went wrong first.
    pub fn finish(mut self, at: Time) -> io::Result<u64> {
        self.write(What::End, at, 0, &Packet::EMPTY);
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.entered),
        }
    }
}
