//! Layouts that programs in the kernel share: bpf/shared.h has the same ones, and each side checks them as it is compiled.

use std::mem::offset_of;
use std::net::{IpAddr, Ipv6Addr};

/// An address as the kernel has it: of IPv4 as IPv6 maps it.
pub(crate) fn address(bytes: [u8; 16]) -> IpAddr {
    Ipv6Addr::from(bytes).to_canonical()
}

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
#[cfg(feature = "programs")]
#[repr(C)]
pub(crate) struct Asked {
    pub cgroup: u64,
    pub level: u32,
    pub interface: u32,
    pub network: u32,
    pub unused: u32,
}

#[cfg(feature = "programs")]
const _: () = assert!(
    size_of::<Asked>() == 24 && offset_of!(Asked, interface) == 12 && offset_of!(Asked, network) == 16
);

#[cfg(feature = "programs")]
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
#[cfg(feature = "programs")]
pub(crate) struct Constants {
    /// By which places of flows are found, and in how many buckets; for programs that have such.
    pub seed: u64,
    pub buckets: u32,
    /// The network namespace whose sockets are meant.
    pub network: u32,
}

#[cfg(feature = "programs")]
impl Constants {
    /// As the kernel has them.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let numbers = [self.buckets, self.network].into_iter().flat_map(u32::to_ne_bytes);
        self.seed.to_ne_bytes().into_iter().chain(numbers).collect()
    }
}

/// A slot of the flow table: `struct tr_place`.
#[cfg(feature = "programs")]
pub(crate) struct FlowSlot {
    pub sent: u64,
    pub key: FlowKey,
    pub state: u32,
}

/// Places of a bucket, `TR_PLACES`, and the state of those whose flows go on.
#[cfg(feature = "programs")]
pub(crate) const PLACES: u32 = 4;
#[cfg(feature = "programs")]
pub(crate) const GOES_ON: u32 = 1;

#[cfg(feature = "programs")]
impl FlowSlot {
    /// Its length.
    pub(crate) const BYTES: usize = 56;

    /// Reads one; `None` if these are not as many bytes.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::BYTES] = bytes.try_into().ok()?;
        Some(FlowSlot {
            sent: u64::from_ne_bytes(*bytes.first_chunk()?),
            key: FlowKey::read(&bytes[16..52])?,
            state: u32::from_ne_bytes(*bytes[52..].first_chunk()?),
        })
    }
}

/// Which flow a packet is of: `struct tr_flow_key`, its ports in this machine's byte order.
#[cfg(feature = "programs")]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FlowKey {
    pub source: [u8; 16],
    pub destination: [u8; 16],
    pub source_port: u16,
    pub destination_port: u16,
}

#[cfg(feature = "programs")]
impl FlowKey {
    /// Its length.
    pub(crate) const BYTES: usize = 36;

    /// Where its packets come from and go: addresses and ports.
    pub(crate) fn ends(&self) -> [(IpAddr, u16); 2] {
        [(address(self.source), self.source_port), (address(self.destination), self.destination_port)]
    }

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
#[cfg(feature = "programs")]
pub(crate) struct LawConstants {
    /// The network namespace that is meant, by its number for programs.
    pub cookie: u64,
    /// Whether only connections to some networks are meant.
    pub networks: bool,
    /// The law's name.
    pub name: [u8; 16],
    /// Whether only connections of programs in some cgroups are meant.
    pub cgroups: bool,
}

#[cfg(feature = "programs")]
impl LawConstants {
    /// As the kernel has them.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let numbers = self.cookie.to_ne_bytes().into_iter().chain(u32::from(self.networks).to_ne_bytes());
        numbers.chain(self.name).chain(u32::from(self.cgroups).to_ne_bytes()).collect()
    }
}
