//! What a workload must know of where it runs.

use tailrace_core::{Bytes, HEADER_BYTES, HostId, Rate, Time};
use tailrace_fabric::Racks;

/// What a workload must know of the rest of the scenario.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Number of hosts.
    pub hosts: u32,
    /// Which of them share a rack.
    pub racks: Racks,
    /// Racks in a pod; all where the fabric has no pods.
    pub racks_per_pod: u16,
    /// Number of slices; 0 where flows may name any, since none is described.
    pub slices: usize,
    /// Rate of the hosts' links; of the fastest where they differ.
    pub host_rate: Rate,
    /// The rate of each host's link as a share of it; empty where all are alike.
    pub speeds: Vec<f64>,
    /// Payload bytes of a full segment.
    pub mss: u16,
    /// Round trip of a full packet and its ACK between the farthest hosts of an idle fabric.
    pub base_rtt: Time,
}

/// Checks that a slice is one of so many. Where none is described, the number is for statistics only.
pub fn check_slice(slice: u16, count: usize) -> Result<(), String> {
    let there = match count {
        0 => return Ok(()),
        1 => "is 1 slice: 1".to_owned(),
        _ => format!("are {count} slices: 1 to {count}"),
    };
    if usize::from(slice) <= count {
        return Ok(());
    }
    Err(format!("is {slice}, but there {there}, or 0 for flows of no slice"))
}

impl Setting {
    /// All hosts.
    pub fn host_ids(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..self.hosts).map(|host| host as HostId)
    }

    /// The rate of a host's link as a share of the fastest one's.
    pub(super) fn speed(&self, host: usize) -> f64 {
        self.speeds.get(host).copied().unwrap_or(1.0)
    }

    /// The other racks of a rack's pod.
    pub(super) fn other_racks_of_pod(&self, rack: u16) -> impl Iterator<Item = u16> {
        let first = rack - rack % self.racks_per_pod;
        (first..first + self.racks_per_pod).filter(move |&other| other != rack)
    }

    /// The rate of the slowest host's link.
    pub(super) fn slowest(&self) -> Rate {
        self.share_of_rate(self.speeds.iter().copied().fold(1.0, f64::min))
    }

    /// The rate of the slower of two hosts' links.
    pub(super) fn rate_between(&self, src: HostId, dst: HostId) -> Rate {
        self.share_of_rate(self.speed(src as usize).min(self.speed(dst as usize)))
    }

    fn share_of_rate(&self, share: f64) -> Rate {
        Rate::from_bps((self.host_rate.as_bps() as f64 * share).round() as u64)
    }

    /// What a flow takes alone between the farthest hosts, to within a packet: half a round trip, and its
    /// bytes with their headers on the slowest host's link. Deadlines are generated in multiples of it.
    pub fn ideal(&self, size: Bytes) -> Time {
        let headers = size.get().div_ceil(u64::from(self.mss)) * u64::from(HEADER_BYTES);
        let wire = self.slowest().time_for(size + Bytes::new(headers));
        Time::from_ps(self.base_rtt.as_ps() / 2).saturating_add(wire)
    }
}
