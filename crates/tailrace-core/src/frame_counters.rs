//! Counters of frames beside those of ports.

/// Frames that are neither delivered nor dropped by a port, or delivered in vain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounters {
    /// For no host of the fabric, such as those for all; in a switch, what bridges keep between neighbours.
    pub unroutable: u64,
    /// Longer than links carry.
    pub too_long: u64,
    /// Questions for addresses, which the fabric has answered.
    pub answered: u64,
    /// For a link that was down, after they had left the fabric.
    pub link_down: u64,
    /// Came faster than they were taken in, so that the kernel has dropped them.
    pub lost: u64,
    /// For somebody behind the port by which they came, so that they stay there.
    pub back: u64,
    /// Copies of frames for all, for which there was no memory.
    pub no_room: u64,
    /// Carried to a host, whose transport cannot make anything of them.
    pub strange: u64,
}
