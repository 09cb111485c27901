//! MCP, the minimal-impact congestion control of flows with deadlines (Karuna §4.2).
//!
//! Each window of data, a source term (the expected rate γ that just meets the deadline, and the residual rate
//! Z that was not reached before) is set against a network term (an estimate of the queue on the way).
//! The weights of the paper's Eq. 11 are not public; see the README for what was decided.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    AckSample, Allowance, Bytes, Facts, FlowView, HEADER_BYTES, HostMcp, Loss, MTU_BYTES, ParamError, Rate,
    SeriesRow, SeriesSink, Time,
};

/// Which form of Eq. 11.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LawForm {
    /// Expected and residual rate against the queue above the marking threshold.
    #[default]
    Normal,
    /// The authors' Linux prototype: the expected rate, rounded up, and no network term.
    Prototype,
    /// Eq. 11 as remembered, rates in packets a round trip; for study.
    Literal,
}

/// What a window's round trip is taken to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoundTrip {
    /// That of the unloaded path: a longer one is the work of queues, and windows that grow with them make them
    /// longer still.
    #[default]
    Base,
    /// The smoothed one, as measured.
    Smoothed,
}

/// What to do with a flow that can no longer meet its deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hopeless {
    /// Give it up.
    #[default]
    Terminate,
    /// Let it go on as a flow of known size without deadline.
    Demote,
    /// Let it go on in the highest priority with the least window (the prototype).
    Keep,
}

/// Parameters of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpParams {
    /// Which form of Eq. 11: "normal", "prototype" or "literal".
    pub form: LawForm,
    /// The round trip that turns rates into windows: "base" or "smoothed".
    pub round_trip: RoundTrip,
    /// Weight κ of the residual rate; 0.25 damps it critically, 1 oscillates without end.
    pub residual_gain: f64,
    /// The residual rate raises the expected one by at most this share of it: γ knows what was not reached, for
    /// it is what is left over the time that is left, and were both to drive a flow up, overload would feed
    /// itself.
    pub residual_bound: f64,
    /// Weight V of the network term.
    pub queue_gain: f64,
    /// Deadlines are aimed at earlier by this many unloaded round trips, if they are longer than that.
    pub guard_rtts: f64,
    /// Window of a new flow, in segments; larger if its deadline needs it.
    pub initial_window: f64,
    /// Least window, in segments.
    pub min_window: f64,
    /// Largest window, in multiples of what fills the path in a round trip; more would only fill queues.
    pub max_bdps: f64,
    /// Below the least window, space segments in time.
    pub pacing: bool,
    /// What to do with a flow that can no longer meet its deadline: "terminate", "demote" or "keep".
    pub hopeless: Hopeless,
}

impl Default for McpParams {
    fn default() -> Self {
        McpParams {
            form: LawForm::Normal,
            round_trip: RoundTrip::Base,
            residual_gain: 0.25,
            residual_bound: 0.25,
            queue_gain: 1.0,
            guard_rtts: 6.0,
            initial_window: 3.0,
            min_window: 2.0,
            max_bdps: 1.05,
            pacing: true,
            hopeless: Hopeless::Terminate,
        }
    }
}

impl McpParams {
    /// Checks the ranges.
    pub fn check(&self) -> Result<(), ParamError> {
        let ranges = [
            ("residual_gain", self.residual_gain, 0.0),
            ("residual_bound", self.residual_bound, 0.0),
            ("queue_gain", self.queue_gain, 0.0),
            ("guard_rtts", self.guard_rtts, 0.0),
            ("initial_window", self.initial_window, 1.0),
            ("min_window", self.min_window, 1.0),
            ("max_bdps", self.max_bdps, 0.1),
        ];
        match ranges.into_iter().find(|(_, value, least)| !(*value >= *least && *value <= 1e4)) {
            Some((field, value, least)) => {
                Err(ParamError::new(field, format!("{value} must be a number from {least} to 10000")))
            }
            None => Ok(()),
        }
    }

    /// As the TCP of a host's own kernel has it; `None` in a form for study.
    pub(super) fn at_host(&self, path: &Path) -> Option<HostMcp> {
        let &McpParams { residual_gain, residual_bound, queue_gain, guard_rtts, .. } = self;
        let &McpParams { initial_window, min_window, max_bdps, pacing, .. } = self;
        (self.form == LawForm::Normal).then_some(HostMcp {
            residual_gain,
            residual_bound,
            queue_gain,
            guard_rtts,
            initial_window,
            min_window,
            max_bdps,
            smoothed: self.round_trip == RoundTrip::Smoothed,
            pacing,
            keep: self.hopeless == Hopeless::Keep,
            round_trip: Time::from_ps((path.rtt * 1e12) as u64),
            link: path.link,
        })
    }
}

/// What MCP knows of where it runs.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Unloaded round trip between the farthest hosts, in seconds.
    rtt: f64,
    /// Payload bytes a second that a host's link carries.
    link: f64,
    /// Marking threshold of the receiver's port in segments: one switch with the bottleneck at its egress to
    /// the receiver is assumed (§4.2.1).
    marking: f64,
    mss: f64,
}

impl Path {
    /// The path of any flow, if ports to hosts mark above `marking`.
    pub fn new(facts: &Facts, marking: Bytes) -> Self {
        let TransportParams { mss, .. } = facts.transport;
        let payload = f64::from(mss) / f64::from(mss + HEADER_BYTES);
        Path {
            rtt: facts.base_rtt.as_secs_f64(),
            link: facts.host_rate.bytes_per_sec() * payload,
            marking: marking.as_f64() / f64::from(MTU_BYTES),
            mss: f64::from(mss),
        }
    }

    /// Segments that fill the path.
    fn bdp(&self) -> f64 {
        self.link * self.rtt / self.mss
    }
}

/// MCP's state for one flow.
#[derive(Clone, Copy, Debug)]
pub struct Mcp {
    params: McpParams,
    path: Path,
    size: f64,
    /// Absolute deadline, and what is aimed at, in seconds.
    deadline: f64,
    aim: f64,
    srtt: f64,
    /// Residual rate Z in bytes a second.
    residual: f64,
    /// W and where it is going, in segments; below the least window segments are paced.
    window: f64,
    target: f64,
    acked: Bytes,
    marked: Bytes,
    window_start: f64,
    /// The window of data ends when this is acknowledged; known with the first acknowledgement.
    window_end: Option<Bytes>,
    hopeless: bool,
    /// Expected rate γ in bytes a second, and marked segments F·W, both of the last window.
    expected: f64,
    marks: f64,
    /// Whether a window has ended since the last trace.
    fresh: bool,
}

impl Mcp {
    /// A flow of `size` bytes that starts now and is due at `deadline`. Its first window is what the deadline
    /// needs; more than that, the initial one, unless less can be paced.
    pub fn new(params: McpParams, path: Path, size: Bytes, now: Time, deadline: Time) -> Self {
        let mut mcp = Mcp {
            params,
            path,
            size: size.as_f64(),
            deadline: deadline.as_secs_f64(),
            aim: deadline.as_secs_f64(),
            srtt: path.rtt,
            residual: 0.0,
            window: params.initial_window,
            target: params.initial_window,
            acked: Bytes::ZERO,
            marked: Bytes::ZERO,
            window_start: 0.0,
            window_end: None,
            hopeless: false,
            expected: 0.0,
            marks: 0.0,
            fresh: false,
        };
        mcp.begin(now.as_secs_f64());
        mcp
    }

    fn begin(&mut self, now: f64) {
        let guard = self.params.guard_rtts * self.path.rtt;
        if self.deadline - now > guard {
            self.aim = self.deadline - guard;
        }
        self.window_start = now;
        self.expected = self.expect(now, self.size);
        let needed = self.source().min(self.cap());
        let paced = self.params.pacing && needed < self.params.min_window && !self.is_urgent(now);
        self.target = if paced { needed } else { needed.ceil().max(self.params.initial_window) };
        self.judge(now, 0.0);
        self.window = self.target;
    }

    /// Whether the flow can no longer meet its deadline.
    pub fn is_hopeless(&self) -> bool {
        self.hopeless
    }

    /// New data was acknowledged.
    #[inline]
    pub fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
        self.acked += ack.acked;
        self.marked += ack.marked;
        // Within 1 and 10 unloaded round trips (the prototype).
        self.srtt = ack.srtt.as_secs_f64().clamp(self.path.rtt, 10.0 * self.path.rtt);
        if flow.acked >= *self.window_end.get_or_insert(flow.sent) {
            self.end_window(ack.now.as_secs_f64(), flow);
        }
        // By at most a segment an acknowledgement: no bursts (the prototype).
        self.window += (self.target - self.window).clamp(-1.0, 1.0);
    }

    /// A timeout leaves the least window; the source term makes up for it.
    pub fn on_loss(&mut self, now: Time, loss: Loss, flow: &FlowView) {
        if loss == Loss::Timeout {
            self.target = self.params.min_window;
            self.window = self.target;
        }
        self.judge(now.as_secs_f64(), flow.sent.as_f64());
    }

    /// What the flow may have: whole segments, or less than the least window at a pace.
    #[inline]
    pub fn allowance(&self) -> Allowance {
        let McpParams { min_window, pacing, .. } = self.params;
        if pacing && self.window < min_window {
            let rate = self.window.max(SLOWEST) * self.path.mss / self.round_trip();
            let wire = rate * (self.path.mss + f64::from(HEADER_BYTES)) / self.path.mss;
            let window = Bytes::new((min_window * self.path.mss) as u64);
            return Allowance { window, pacing: Some(Rate::from_bps((wire * 8.0) as u64 + 1)) };
        }
        Allowance { window: Bytes::new((self.window.max(min_window) * self.path.mss) as u64), pacing: None }
    }

    /// About once a round trip (Eq. 11).
    fn end_window(&mut self, now: f64, flow: &FlowView) {
        let elapsed = (now - self.window_start).max(1e-9);
        let left = (self.size - flow.delivered.as_f64()).max(0.0);
        let marked = if self.acked == Bytes::ZERO { 0.0 } else { self.marked.as_f64() / self.acked.as_f64() };
        self.expected = self.expect(now, left);
        let reached = self.acked.as_f64() / elapsed;
        // A stall is longer than a window, but γ has seen it already: it counts as one.
        let windows = (elapsed / self.srtt).min(1.0);
        self.residual = (self.residual + (self.expected - reached) * windows).max(0.0);
        if self.params.form == LawForm::Normal {
            // What is not to be made up for, or the link cannot carry, need not be remembered.
            let bound = self.params.residual_bound * self.expected;
            let spare = (self.path.link - self.expected).clamp(0.0, bound);
            self.residual = self.residual.min(spare / self.params.residual_gain.max(MIN_GAIN));
        }
        self.marks = marked * self.window;
        self.target = self.next_window(now, left).clamp(0.0, self.cap());
        if !self.params.pacing || self.target >= self.params.min_window || self.is_urgent(now) {
            self.target = self.target.max(self.params.min_window).ceil();
        }
        self.acked = Bytes::ZERO;
        self.marked = Bytes::ZERO;
        self.window_start = now;
        self.window_end = Some(flow.sent);
        self.fresh = true;
        self.judge(now, flow.sent.as_f64());
    }

    fn next_window(&self, now: f64, left: f64) -> f64 {
        match self.params.form {
            LawForm::Normal => {
                // Half of what Q̂ = K + F·W is above the threshold, as DCTCP answers.
                self.source() - self.params.queue_gain * self.marks / 2.0
            }
            LawForm::Prototype => {
                let time = (self.aim - now).max(self.srtt);
                (left * self.srtt / (time * self.path.mss)).floor() + 1.0
            }
            LawForm::Literal => {
                // W + Θ − (Q̂ + λ̂), where Θ is what the source term is above W.
                let queue = self.path.marking + self.marks;
                let price = ((queue + 1.0) / self.path.bdp()).powi(2);
                self.source() - (queue + price)
            }
        }
    }

    /// Expected and weighted residual rate, in segments a round trip.
    fn source(&self) -> f64 {
        let residual = match self.params.form {
            LawForm::Literal => self.residual,
            _ => self.params.residual_gain * self.residual,
        };
        (self.expected + residual) * self.round_trip() / self.path.mss
    }

    fn round_trip(&self) -> f64 {
        match self.params.round_trip {
            RoundTrip::Base => self.path.rtt,
            RoundTrip::Smoothed => self.srtt,
        }
    }

    /// The rate γ that sends `left` bytes, in whole segments, until the aim, or in one window if that is near.
    fn expect(&self, now: f64, left: f64) -> f64 {
        let left = (left / self.path.mss).ceil() * self.path.mss;
        if self.is_urgent(now) { left / self.round_trip() } else { left / self.time_to_send(now) }
    }

    /// Until the aim, less the time in which the last byte crosses the path.
    fn time_to_send(&self, now: f64) -> f64 {
        self.aim - now - self.path.rtt / 2.0
    }

    /// Whether fewer than two windows are left.
    fn is_urgent(&self, now: f64) -> bool {
        self.time_to_send(now) < 2.0 * self.srtt
    }

    /// The largest window.
    fn cap(&self) -> f64 {
        self.params.max_bdps * self.path.link * self.round_trip() / self.path.mss
    }

    /// Hopeless is what is late, or what even the whole link could not save. What is on its way is not held
    /// against the flow. If it goes on, it takes no more than it must from those that have hope.
    fn judge(&mut self, now: f64, sent: f64) {
        let time = self.deadline - now;
        self.hopeless |= time <= 0.0 || self.size - sent > time * self.path.link;
        if self.hopeless {
            self.target = self.params.min_window;
        }
    }

    /// Reports the window that has ended.
    pub fn trace(&mut self, at: Time, series: &mut dyn SeriesSink) {
        if !std::mem::take(&mut self.fresh) {
            return;
        }
        let mut row = |metric, value| series.push(SeriesRow { at, metric, index: 0, value });
        row("mcp_window_segments", self.window);
        row("mcp_target_segments", self.target);
        row("mcp_expected_bps", self.expected * 8.0);
        row("mcp_residual_bps", self.residual * 8.0);
        let estimate = if self.marks > 0.0 { self.path.marking + self.marks } else { 0.0 };
        row("queue_estimate_bytes", estimate * f64::from(MTU_BYTES));
    }
}

/// With a gain below this the residual rate does not matter.
const MIN_GAIN: f64 = 1e-3;

/// Segments a round trip that even the slowest flow sends.
const SLOWEST: f64 = 1e-3;
