//! What a run in real time leaves behind beside what every run does.

use crate::{FrameCounters, Lag};

/// How late a run in real time was, and what went by its fabric.
#[derive(Clone, Debug, Default)]
pub struct RealTime {
    /// From when packets were due to leave the fabric until they were handed over.
    pub left: Lag,
    /// From when packets were sent, or came to the fabric's edge, until they were let in.
    pub entered: Lag,
    /// From when flows were due until they started; nothing where they start in the fabric's own loop.
    pub started: Lag,
    /// Frames that no port has seen, or no host understands.
    pub frame_counters: FrameCounters,
}
