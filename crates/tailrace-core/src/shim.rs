//! What a host's datapath keeps for the connections of programs, whatever their own TCP does.

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
}
