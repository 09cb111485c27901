//! Layouts that programs in the kernel share: bpf/shared.h has the same ones, and each side checks them as it is compiled.

use std::mem::offset_of;

/// What is said of a connection: `struct tr_event`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Event {
    pub start_ns: u64,
    pub at_ns: u64,
    pub sent: u64,
    pub received: u64,
    pub cgroup: u64,
    pub local: [u8; 16],
    pub remote: [u8; 16],
    pub local_port: u16,
    pub remote_port: u16,
    pub ifindex: u32,
    pub kind: u32,
    pub flags: u32,
}

pub(crate) const STARTED: u32 = 1;
pub(crate) const ENDED: u32 = 2;
pub(crate) const STILL_OPEN: u32 = 3;

pub(crate) const ACTIVE: u32 = 1;
pub(crate) const BEFORE: u32 = 2;

/// Its length.
pub(crate) const EVENT_BYTES: usize = size_of::<Event>();

const _: () = assert!(
    EVENT_BYTES == 88
        && offset_of!(Event, cgroup) == 32
        && offset_of!(Event, local) == 40
        && offset_of!(Event, remote) == 56
        && offset_of!(Event, local_port) == 72
        && offset_of!(Event, ifindex) == 76
        && offset_of!(Event, kind) == 80
        && offset_of!(Event, flags) == 84
);

/// Of which connections something is said: `struct tr_wanted`.
#[cfg(feature = "bpf")]
#[repr(C)]
pub(crate) struct Asked {
    pub cgroup: u64,
    pub level: u32,
    pub interface: u32,
    pub network: u32,
    pub unused: u32,
}

#[cfg(feature = "bpf")]
const _: () = assert!(
    size_of::<Asked>() == 24 && offset_of!(Asked, interface) == 12 && offset_of!(Asked, network) == 16
);

#[cfg(feature = "bpf")]
impl Asked {
    /// As the kernel has it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let numbers = [self.level, self.interface, self.network, self.unused];
        self.cgroup.to_ne_bytes().into_iter().chain(numbers.into_iter().flat_map(u32::to_ne_bytes)).collect()
    }
}

impl Event {
    /// Reads one from the beginning of `bytes`; `None` if they are too few.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.get(..EVENT_BYTES)?;
        let mut take = |count: usize| rest.split_off(..count).unwrap_or_default();
        let u64_of = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
        let u32_of = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
        let u16_of = |bytes: &[u8]| bytes.try_into().map_or(0, u16::from_ne_bytes);
        let address = |bytes: &[u8]| bytes.try_into().unwrap_or_default();
        // In the order of the fields, which have no gaps between them.
        Some(Event {
            start_ns: u64_of(take(8)),
            at_ns: u64_of(take(8)),
            sent: u64_of(take(8)),
            received: u64_of(take(8)),
            cgroup: u64_of(take(8)),
            local: address(take(16)),
            remote: address(take(16)),
            local_port: u16_of(take(2)),
            remote_port: u16_of(take(2)),
            ifindex: u32_of(take(4)),
            kind: u32_of(take(4)),
            flags: u32_of(take(4)),
        })
    }
}

/// What programs for packets cannot change: `struct tr_constants`.
#[cfg(feature = "bpf")]
pub(crate) struct Constants {
    /// By which places of flows are found, and in how many buckets; for programs that have such.
    pub seed: u64,
    pub buckets: u32,
    /// The network namespace whose sockets are meant.
    pub network: u32,
}

#[cfg(feature = "bpf")]
impl Constants {
    /// As the kernel has them.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let numbers = [self.buckets, self.network].into_iter().flat_map(u32::to_ne_bytes);
        self.seed.to_ne_bytes().into_iter().chain(numbers).collect()
    }
}

/// A place for a flow: `struct tr_place`.
#[cfg(feature = "bpf")]
pub(crate) struct Place {
    pub sent: u64,
    pub key: FlowKey,
    pub state: u32,
}

/// Places of a bucket, `TR_PLACES`, and the state of those whose flows go on.
#[cfg(feature = "bpf")]
pub(crate) const PLACES: u32 = 4;
#[cfg(feature = "bpf")]
pub(crate) const GOES_ON: u32 = 1;

#[cfg(feature = "bpf")]
impl Place {
    /// Its length.
    pub(crate) const BYTES: usize = 56;

    /// Reads one; `None` if these are not as many bytes.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        Some(Place {
            sent: u64::from_ne_bytes(*bytes.first_chunk()?),
            key: FlowKey::read(&bytes[16..52])?,
            state: u32::from_ne_bytes(*bytes[52..].first_chunk()?),
        })
    }
}

/// Which flow a packet is of: `struct tr_flow_key`, its ports in this machine's byte order.
#[cfg(feature = "bpf")]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FlowKey {
    pub source: [u8; 16],
    pub destination: [u8; 16],
    pub source_port: u16,
    pub destination_port: u16,
}

#[cfg(feature = "bpf")]
impl FlowKey {
    /// Its length.
    pub(crate) const BYTES: usize = 36;

    /// As the kernel has it.
    pub(crate) fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..16].copy_from_slice(&self.source);
        bytes[16..32].copy_from_slice(&self.destination);
        bytes[32..34].copy_from_slice(&self.source_port.to_be_bytes());
        bytes[34..].copy_from_slice(&self.destination_port.to_be_bytes());
        bytes
    }

    /// Reads one; `None` if these are not as many bytes.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        Some(FlowKey {
            source: *bytes.first_chunk()?,
            destination: *bytes[16..].first_chunk()?,
            source_port: port(32),
            destination_port: port(34),
        })
    }
}

/// What programs for laws cannot change: `struct tr_law_constants`.
#[cfg(feature = "bpf")]
pub(crate) struct LawConstants {
    /// The network namespace that is meant, by its number for programs.
    pub cookie: u64,
    /// Whether only connections to some networks are meant.
    pub networks: bool,
    /// The law's name.
    pub name: [u8; 16],
}

#[cfg(feature = "bpf")]
impl LawConstants {
    /// As the kernel has them.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let numbers = self.cookie.to_ne_bytes().into_iter().chain(u32::from(self.networks).to_ne_bytes());
        numbers.chain(self.name).chain([0; 4]).collect()
    }
}

/// What happens to a window on which a law is tried.
#[cfg(feature = "bpf")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialStep {
    /// The connection begins.
    Begins = 1,
    /// Something was acknowledged for the first time.
    Acknowledged,
    /// Something was lost, as duplicate acknowledgements say.
    Lost,
    /// A timer ran out.
    TimedOut,
}

/// A window and one step of a law on it: `struct tr_trial`. Sequence numbers count bytes.
#[cfg(feature = "bpf")]
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Trial {
    /// The window in segments of 2^-20, and where slow start ends.
    pub segments: u64,
    /// Where slow start ends, as that.
    pub threshold: u64,
    /// The marked share in parts of 2^-32.
    pub alpha: u64,
    sums: [u64; 2],
    /// What is acknowledged up to, and what has been sent up to.
    pub una: u32,
    /// What has been sent up to.
    pub next: u32,
    ends: [u32; 5],
    /// Bytes of a segment.
    pub mss: u32,
    step: u32,
    unused: u32,
    /// Bytes that are acknowledged now,
    pub acked: u64,
    /// and of these with marks.
    pub marked: u64,
    /// Bytes that the flow has sent.
    pub sent: u64,
    /// Bytes that it has left, where there is a deadline,
    pub left: u64,
    /// the time until that in microseconds,
    pub time_us: u64,
    /// and its round trip; 0 without a deadline.
    pub round_trip_us: u64,
}

#[cfg(feature = "bpf")]
const _: () = assert!(
    size_of::<Trial>() == 128
        && offset_of!(Trial, una) == 40
        && offset_of!(Trial, mss) == 68
        && offset_of!(Trial, step) == 72
        && offset_of!(Trial, acked) == 80
);

#[cfg(feature = "bpf")]
impl Trial {
    /// A window of a connection with segments of so many bytes, to begin with.
    pub fn new(mss: u32) -> Self {
        let [segments, threshold, alpha, acked, marked, sent, left, time_us, round_trip_us] = [0; 9];
        let (una, next, step, unused) = (0, 0, TrialStep::Begins as u32, 0);
        Trial {
            segments,
            threshold,
            alpha,
            sums: [0; 2],
            una,
            next,
            ends: [0; 5],
            mss,
            step,
            unused,
            acked,
            marked,
            sent,
            left,
            time_us,
            round_trip_us,
        }
    }

    /// What happens next.
    pub fn then(&mut self, step: TrialStep) -> &mut Self {
        self.step = step as u32;
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let longs = |values: &[u64]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>();
        let shorts = |values: &[u32]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>();
        let [a, b, c, d, e] = self.ends;
        [
            longs(&[self.segments, self.threshold, self.alpha, self.sums[0], self.sums[1]]),
            shorts(&[self.una, self.next, a, b, c, d, e, self.mss, self.step, self.unused]),
            longs(&[self.acked, self.marked, self.sent, self.left, self.time_us, self.round_trip_us]),
        ]
        .concat()
    }

    /// Reads what a program has written over [`bytes`](Self::bytes).
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let long =
            |at: usize| bytes.get(at..at + 8).and_then(|it| it.try_into().ok()).map_or(0, u64::from_ne_bytes);
        let short =
            |at: usize| bytes.get(at..at + 4).and_then(|it| it.try_into().ok()).map_or(0, u32::from_ne_bytes);
        Trial {
            segments: long(0),
            threshold: long(8),
            alpha: long(16),
            sums: [long(24), long(32)],
            una: short(40),
            next: short(44),
            ends: [48, 52, 56, 60, 64].map(short),
            mss: short(68),
            step: short(72),
            unused: 0,
            acked: long(80),
            marked: long(88),
            sent: long(96),
            left: long(104),
            time_us: long(112),
            round_trip_us: long(120),
        }
    }
}
