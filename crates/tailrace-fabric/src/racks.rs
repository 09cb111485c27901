//! Which hosts share a rack.

use std::borrow::Cow;
use std::ops::Range;

use tailrace_core::HostId;

/// The racks of a fabric: hosts below one edge switch. Hosts are numbered rack by rack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Racks {
    /// The first host of each rack, and one more than the last of all.
    bounds: Cow<'static, [u32]>,
}

impl Racks {
    /// Racks that begin with these hosts, the last of which only says where the one before ends.
    pub const fn bounded(bounds: &'static [u32]) -> Self {
        Racks { bounds: Cow::Borrowed(bounds) }
    }

    /// Racks of so many hosts.
    pub fn of_sizes(sizes: impl IntoIterator<Item = u32>) -> Self {
        let mut bounds = vec![0];
        sizes.into_iter().for_each(|size| bounds.push(bounds[bounds.len() - 1] + size));
        Racks { bounds: bounds.into() }
    }

    /// The hosts of a rack.
    pub fn hosts(&self, rack: u16) -> Range<HostId> {
        let [first, end] = [0, 1].map(|next| self.bounds[usize::from(rack) + next]);
        first..end
    }

    /// The rack of a host.
    pub fn of(&self, host: HostId) -> u16 {
        self.bounds[1..].partition_point(|&end| end <= host) as u16
    }

    /// How many there are.
    pub fn count(&self) -> u16 {
        (self.bounds.len() - 1) as u16
    }
}
