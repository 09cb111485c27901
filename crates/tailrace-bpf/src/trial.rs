//! Windows on which laws are tried without any network, and one step on them: bpf/shared.h has the same layouts, and each side checks
//! them as it is compiled.

use std::mem::offset_of;

/// What happens to a window on which a law is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialStep {
    /// The connection begins.
    Begins = 1,
    /// Something was acknowledged for the first time.
    Acknowledged,
    /// Something was lost, as duplicate acknowledgements say.
    Lost,
    /// A timer ran out.
    TimedOut,
}

/// A window and one step of a law on it: `struct tr_trial`. Sequence numbers count bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Trial {
    /// The window in segments of 2^-20, and where slow start ends.
    pub segments: u64,
    /// Where slow start ends, as that.
    pub threshold: u64,
    /// The marked share in parts of 2^-32.
    pub alpha: u64,
    sums: [u64; 2],
    /// What is acknowledged up to, and what has been sent up to.
    pub una: u32,
    /// What has been sent up to.
    pub next: u32,
    ends: [u32; 5],
    /// Bytes of a segment.
    pub mss: u32,
    step: u32,
    unused: u32,
    /// Bytes that are acknowledged now,
    pub acked: u64,
    /// and of these with marks.
    pub marked: u64,
    /// Bytes that the flow has sent.
    pub sent: u64,
    /// Bytes that it has left, where there is a deadline,
    pub left: u64,
    /// the time until that in microseconds,
    pub time_us: u64,
    /// and its round trip; 0 without a deadline.
    pub round_trip_us: u64,
}

const _: () = assert!(
    size_of::<Trial>() == 128
        && offset_of!(Trial, una) == 40
        && offset_of!(Trial, mss) == 68
        && offset_of!(Trial, step) == 72
        && offset_of!(Trial, acked) == 80
);

impl Trial {
    /// A window of a connection with segments of so many bytes, to begin with.
    pub fn new(mss: u32) -> Self {
        let [segments, threshold, alpha, acked, marked, sent, left, time_us, round_trip_us] = [0; 9];
        let (una, next, step, unused) = (0, 0, TrialStep::Begins as u32, 0);
        Trial {
            segments,
            threshold,
            alpha,
            sums: [0; 2],
            una,
            next,
            ends: [0; 5],
            mss,
            step,
            unused,
            acked,
            marked,
            sent,
            left,
            time_us,
            round_trip_us,
        }
    }

    /// What happens next.
    pub fn then(&mut self, step: TrialStep) -> &mut Self {
        self.step = step as u32;
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let [a, b, c, d, e] = self.ends;
        [
            longs(&[self.segments, self.threshold, self.alpha, self.sums[0], self.sums[1]]),
            shorts(&[self.una, self.next, a, b, c, d, e, self.mss, self.step, self.unused]),
            longs(&[self.acked, self.marked, self.sent, self.left, self.time_us, self.round_trip_us]),
        ]
        .concat()
    }

    /// Reads what a program has written over [`bytes`](Self::bytes).
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let long = |at: usize| long(bytes, at);
        let short = |at: usize| short(bytes, at);
        Trial {
            segments: long(0),
            threshold: long(8),
            alpha: long(16),
            sums: [long(24), long(32)],
            una: short(40),
            next: short(44),
            ends: [48, 52, 56, 60, 64].map(short),
            mss: short(68),
            step: short(72),
            unused: 0,
            acked: long(80),
            marked: long(88),
            sent: long(96),
            left: long(104),
            time_us: long(112),
            round_trip_us: long(120),
        }
    }
}

/// Of MCP's flags, as bpf/shared.h has them.
const HOPELESS: u32 = 4;

/// A window of MCP's, and one step on it: `struct tr_mcp_trial`. Sequence numbers count bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct McpTrial {
    /// The window in segments of 2^-20.
    pub window: u64,
    /// Where it is going, as that.
    pub target: u64,
    /// Bytes a second that were not reached.
    pub residual: u64,
    /// Bytes a second that just meet the deadline.
    pub expected: u64,
    window_of_data: [u64; 3],
    window_end: u32,
    flags: u32,
    /// The time,
    pub now_ns: u64,
    /// and when the flow is due.
    pub deadline_ns: u64,
    /// Bytes that have not come to the other end.
    pub left: u64,
    /// Bytes that have not been sent.
    pub unsent: u64,
    /// The smoothed round trip.
    pub srtt_ns: u64,
    /// What came of it: bytes a second at which segments are spaced, or 0.
    pub pace: u64,
    /// What is acknowledged up to.
    pub una: u32,
    /// What has been sent up to.
    pub next: u32,
    /// Segments that are acknowledged now,
    pub acked: u32,
    /// and of these with marks.
    pub marked: u32,
    /// Bytes of a segment.
    pub mss: u32,
    step: u32,
}

const _: () = assert!(
    size_of::<McpTrial>() == 136
        && offset_of!(McpTrial, window_end) == 56
        && offset_of!(McpTrial, pace) == 104
        && offset_of!(McpTrial, step) == 132
);

impl McpTrial {
    /// That of a flow of so many bytes, to begin now with segments of so many.
    pub fn new(mss: u32, now_ns: u64, deadline_ns: u64, size: u64) -> Self {
        McpTrial { mss, now_ns, deadline_ns, left: size, unsent: size, ..Self::default() }
    }

    /// Whether the flow can no longer meet its deadline.
    pub fn is_hopeless(&self) -> bool {
        self.flags & HOPELESS != 0
    }

    /// What happens next.
    pub fn then(&mut self, step: TrialStep) -> &mut Self {
        self.step = step as u32;
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let numbers = [self.now_ns, self.deadline_ns, self.left, self.unsent, self.srtt_ns, self.pace];
        [
            longs(&[self.window, self.target, self.residual, self.expected]),
            longs(&self.window_of_data),
            shorts(&[self.window_end, self.flags]),
            longs(&numbers),
            shorts(&[self.una, self.next, self.acked, self.marked, self.mss, self.step]),
        ]
        .concat()
    }

    /// Reads what a program has written over [`bytes`](Self::bytes).
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let long = |at: usize| long(bytes, at);
        let short = |at: usize| short(bytes, at);
        McpTrial {
            window: long(0),
            target: long(8),
            residual: long(16),
            expected: long(24),
            window_of_data: [32, 40, 48].map(long),
            window_end: short(56),
            flags: short(60),
            now_ns: long(64),
            deadline_ns: long(72),
            left: long(80),
            unsent: long(88),
            srtt_ns: long(96),
            pace: long(104),
            una: short(112),
            next: short(116),
            acked: short(120),
            marked: short(124),
            mss: short(128),
            step: short(132),
        }
    }
}

fn longs(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn shorts(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|it| it.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

fn short(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|it| it.try_into().ok()).map_or(0, u32::from_ne_bytes)
}
