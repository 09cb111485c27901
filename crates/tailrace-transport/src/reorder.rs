//! Cells back in order: what a receiver holds back where the cells of a flow take different paths (Presto
//! §3.2, the hosts' receive offload).

use std::collections::VecDeque;
use std::ops::Range;

use tailrace_core::{Header, Packet, Time};

/// No cell is waited for longer.
const LONGEST_WAIT: Time = Time::from_ms(10);
/// By what part of a new sample's distance the smoothed delay moves (as RFC 6298 smooths round trips).
const GAIN: u64 = 8;

/// Packets of cells whose turn has not come.
///
/// Those of the current cell, or of one before it, pass at once: within a cell, which takes one path, a gap is
/// a loss. The next cell's turn comes when the current one is complete, or when nothing has come of it for
/// 1.5 times the usual delay between cells: then the first cell that waits is the current one.
#[derive(Debug)]
pub(crate) struct Reorder<H> {
    /// Segments in a cell.
    cell: u32,
    /// The current cell ends before this segment.
    gate: u32,
    /// In order of segment, copies of one in order of arrival.
    held: VecDeque<Packet<H>>,
    /// Since when nothing has come of the current cell while packets are held.
    since: Time,
    /// The newest cell so far ends before this segment; when its first packet came.
    newest_end: u32,
    newest_at: Time,
    /// The smoothed delay between the first packets of successive cells.
    delay: Option<Time>,
}

impl<H: Header> Reorder<H> {
    /// For cells of so many segments, at least one.
    pub(crate) fn new(cell: u32) -> Self {
        Reorder {
            cell,
            gate: cell,
            held: VecDeque::new(),
            since: Time::ZERO,
            newest_end: 0,
            newest_at: Time::ZERO,
            delay: None,
        }
    }

    /// Starts with another flow, in the same memory.
    pub(crate) fn clear(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        held.clear();
        *self = Reorder { held, ..Reorder::new(self.cell) };
    }

    /// When the wait for the current cell is over; [`Time::MAX`] if nothing is held.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        if self.held.is_empty() { Time::MAX } else { self.since + self.wait() }
    }

    /// A packet has arrived: whether it passes at once; otherwise it is held.
    pub(crate) fn admits(&mut self, now: Time, packet: &Packet<H>) -> bool {
        self.note_cell(now, packet.seq);
        if packet.seq < self.gate {
            if packet.seq >= self.gate - self.cell {
                self.since = now;
            }
            return true;
        }
        if self.held.is_empty() {
            self.since = now;
        }
        let place = self.held.partition_point(|other| other.seq <= packet.seq);
        self.held.insert(place, *packet);
        false
    }

    /// The next of the held packets whose turn has come, or of which the wait is over; `complete` tells whether all
    /// of some segments have passed.
    pub(crate) fn next(&mut self, now: Time, complete: impl Fn(Range<u32>) -> bool) -> Option<Packet<H>> {
        loop {
            let first = self.held.front().map(|first| first.seq);
            if first.is_some_and(|first| first < self.gate) {
                return self.held.pop_front();
            }
            self.gate = if self.gate < u32::MAX && complete(self.gate - self.cell..self.gate) {
                self.gate.saturating_add(self.cell)
            } else {
                // A new cell may have made the wait shorter than it has been already.
                self.end_of_cell(first.filter(|_| self.due() <= now)?)
            };
            self.since = now;
        }
    }

    fn wait(&self) -> Time {
        let usual = self.delay.map(|delay| Time::from_ps(delay.as_ps() + delay.as_ps() / 2));
        usual.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT)
    }

    fn note_cell(&mut self, now: Time, seq: u32) {
        if seq < self.newest_end {
            return;
        }
        if self.newest_end > 0 {
            // A flow that paused tells nothing about its cells.
            let sample = now.saturating_sub(self.newest_at).min(LONGEST_WAIT).as_ps();
            let smooth = |delay: Time| delay.as_ps() - delay.as_ps() / GAIN + sample / GAIN;
            self.delay = Some(Time::from_ps(self.delay.map_or(sample, smooth)));
        }
        self.newest_end = self.end_of_cell(seq);
        self.newest_at = now;
    }

    fn end_of_cell(&self, seq: u32) -> u32 {
        (seq - seq % self.cell).saturating_add(self.cell)
    }
}
