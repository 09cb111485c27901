//! A fabric while it runs, seen at one time.

use std::fmt;

use crate::{FrameCounters, Lateness, Ledger, PortView, SeriesRow, SeriesSource, Time};

/// A fabric, seen at one time.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Since the start.
    pub now: Time,
    /// Each port, in order of number.
    pub ports: Vec<PortView>,
    /// Where every frame is that has come to a port.
    pub ledger: Ledger,
    /// Frames that no port has seen.
    pub frame_counters: FrameCounters,
    /// How late frames left.
    pub lateness: Lateness,
    /// How late they had come in.
    pub entry: Lateness,
    /// How frames come in and leave.
    pub frames: Frames,
    /// What policies of watched ports and hosts have reported since the last view, such as thresholds that have moved.
    pub reported: Vec<(SeriesSource, SeriesRow)>,
}

/// How frames come in and leave, in words for users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Frames {
    /// Not at all, yet.
    #[default]
    None,
    /// Over AF_XDP, in copy mode. Whether the program that catches frames runs in the interfaces' driver.
    Xdp {
        /// If not, the kernel runs it, which takes longer.
        in_driver: bool,
    },
    /// Over packet sockets, and why not over AF_XDP.
    Packet(String),
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frames::None => write!(f, "not yet"),
            Frames::Xdp { in_driver: true } => write!(f, "AF_XDP (copy mode)"),
            Frames::Xdp { in_driver: false } => write!(f, "AF_XDP (copy mode, generic)"),
            Frames::Packet(reason) => write!(f, "AF_PACKET ({reason})"),
        }
    }
}
