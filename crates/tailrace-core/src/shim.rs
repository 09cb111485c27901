//! What a host's datapath keeps for the connections of programs, whatever their own TCP does.

use crate::{Bytes, Time};

/// A window for each connection, by DCTCP's law: it grows by its flow's weight, in segments a round trip, and is cut by half of
/// the marked share. Programs' TCP cannot exceed it, and sees no marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowShim {
    /// Weight of the newest window in the estimate of the marked share.
    pub gain: f64,
    /// That estimate at the start.
    pub initial_alpha: f64,
    /// Whether marks of the window after a cut are not counted.
    pub settle: bool,
    /// Segments of a new connection.
    pub initial_window: u32,
    /// Segments that a cut leaves at least; 0 for none.
    pub min_window: u32,
    /// Segments at most.
    pub max_window: u32,
    /// Segments below which slow start does not end, however deep a cut is.
    pub least_threshold: u32,
}

/// A congestion law that the TCP of a host's own kernel can have: DCTCP's, one that differs in how deep it cuts and how fast it
/// grows, or DCTCP's beside another one for flows with deadlines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostLaw {
    /// DCTCP's window.
    pub window: WindowShim,
    /// What differs.
    pub kind: HostLawKind,
    /// What of the scheme's law this is not, in a sentence.
    pub left_out: Option<&'static str>,
}

/// Which law of a host's own TCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HostLawKind {
    /// DCTCP itself.
    Dctcp,
    /// D2TCP: cuts by α to the power of a flow's urgency.
    D2tcp {
        /// The least and the largest urgency.
        urgency: [f64; 2],
    },
    /// L2DCT: grows by a flow's weight over the largest, and cuts by α to the power of it. The weight falls in a straight line.
    L2dct {
        /// Of flows that have sent no more than `from`.
        most: f64,
        /// Of flows that have sent `to` or more.
        least: f64,
        /// Bytes sent up to which the weight is the largest.
        from: Bytes,
        /// Bytes sent from which on it is the least.
        to: Bytes,
    },
    /// Karuna: MCP for flows with a size and a deadline, DCTCP for all others.
    Karuna(HostMcp),
}

/// MCP at a host (Karuna §4.2): the rate that just meets a flow's deadline, raised by what was not reached, lowered by the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostMcp {
    /// Weight of the rate that was not reached.
    pub residual_gain: f64,
    /// It raises the expected rate by at most this share of it.
    pub residual_bound: f64,
    /// Weight of the queue.
    pub queue_gain: f64,
    /// Deadlines are aimed at earlier by so many round trips.
    pub guard_rtts: f64,
    /// Segments of a new flow.
    pub initial_window: f64,
    /// Segments at least.
    pub min_window: f64,
    /// Multiples at most of what fills the path.
    pub max_bdps: f64,
    /// Whether rates become windows by the round trip as measured, in place of the unloaded one.
    pub smoothed: bool,
    /// Whether segments are spaced in time below the least window.
    pub pacing: bool,
    /// Whether a flow that can no longer meet its deadline goes on as it is; if not, it goes on by DCTCP.
    pub keep: bool,
    /// The unloaded round trip between the farthest hosts.
    pub round_trip: Time,
    /// Payload bytes a second that the host's link carries.
    pub link: f64,
}

impl HostLawKind {
    /// As its scheme is called.
    pub fn name(&self) -> &'static str {
        match self {
            HostLawKind::Dctcp => "dctcp",
            HostLawKind::D2tcp { .. } => "d2tcp",
            HostLawKind::L2dct { .. } => "l2dct",
            HostLawKind::Karuna(_) => "karuna",
        }
    }
}
