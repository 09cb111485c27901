//! What a host's datapath keeps for the connections of programs, whatever their own TCP does.

use crate::Bytes;

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

/// A congestion law that the TCP of a host's own kernel can have: DCTCP's, or one that differs in how deep it cuts and how fast
/// it grows.
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
}

impl HostLawKind {
    /// As its scheme is called.
    pub fn name(&self) -> &'static str {
        match self {
            HostLawKind::Dctcp => "dctcp",
            HostLawKind::D2tcp { .. } => "d2tcp",
            HostLawKind::L2dct { .. } => "l2dct",
        }
    }
}
