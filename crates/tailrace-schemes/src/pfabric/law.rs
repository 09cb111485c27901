//! pFabric's minimal rate control (pFabric §4.2), as ns-2's MinTCP has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Facts, FlowView, HEADER_BYTES, Loss, ParamError, Rate,
    Segment, Time,
};
use tailrace_transport::Window;

use super::Rank;

/// Parameters of pFabric's law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LawParams {
    /// Window of a new flow, in segments, in place of `transport.initial_window`; by default one base round
    /// trip at the hosts' rate, rounded up.
    pub initial_window: Option<u32>,
    /// Largest window, in segments; by default two initial windows less one segment: a packet less than fits
    /// the buffer that the paper recommends. `transport.max_window` bounds it too.
    pub max_window: Option<u32>,
    /// After so many timeouts in a row a flow sends nothing but a header without data every
    /// `transport.min_rto`, until it hears anything.
    pub timeouts_before_probing: u32,
}

impl Default for LawParams {
    fn default() -> Self {
        LawParams { initial_window: None, max_window: None, timeouts_before_probing: 5 }
    }
}

/// The law of a new flow, but for its urgency.
#[derive(Clone, Copy, Debug)]
pub struct Fresh {
    window: Window,
    timeouts_before_probing: u32,
    probe_every: Time,
}

impl Fresh {
    /// Checks the parameters against where flows will run.
    pub fn new(params: &LawParams, facts: &Facts) -> Result<Self, ParamError> {
        let initial = params.initial_window.unwrap_or_else(|| bandwidth_delay_product(facts));
        let largest = params.max_window.unwrap_or_else(|| initial.saturating_mul(2).saturating_sub(1));
        let fail = |field, message| Err(ParamError::new(field, message));
        if initial == 0 {
            return fail("initial_window", "0 segments: a flow needs at least 1 in flight".into());
        }
        if largest < initial {
            return fail("max_window", format!("{largest} is less than the initial window, {initial}"));
        }
        if params.timeouts_before_probing == 0 {
            return fail("timeouts_before_probing", "0: a timeout comes before the first probe".into());
        }
        let max_window = largest.min(facts.transport.max_window);
        let initial_window = initial.min(max_window);
        Ok(Fresh {
            window: Window::new(&TransportParams { initial_window, max_window, ..facts.transport }),
            timeouts_before_probing: params.timeouts_before_probing,
            probe_every: facts.transport.min_rto,
        })
    }

    /// The law of a new flow.
    pub fn law(&self, urgency: Urgency) -> PfabricLaw {
        PfabricLaw { fresh: *self, urgency, timeouts: 0, probe_at: Time::MAX }
    }
}

/// Full packets that fill the base round trip at the hosts' rate, rounded up: a flow that has the fabric to
/// itself is never stopped.
fn bandwidth_delay_product(facts: &Facts) -> u32 {
    let packet = facts.host_rate.time_for(Bytes::new(u64::from(facts.transport.mss + HEADER_BYTES)));
    let packets = facts.base_rtt.as_ps().div_ceil(packet.as_ps().max(1)).max(1);
    u32::try_from(packets).unwrap_or(u32::MAX)
}

/// What decides the rank of a flow's packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Urgency {
    /// Payload bytes of the flow that precede the packet.
    Sent,
    /// Payload bytes that are not acknowledged yet.
    Remaining {
        /// Payload bytes of the flow.
        size: Bytes,
    },
    /// The deadline, as long as what is left can make it.
    Deadline {
        /// The absolute deadline.
        at: Time,
        /// Payload bytes of the flow.
        size: Bytes,
        /// What it can send at most: the rate of a host's link.
        rate: Rate,
    },
}

impl Urgency {
    /// The rank of a packet that `before` bytes precede, of a flow of which `delivered` bytes have arrived.
    #[inline]
    fn rank(&self, now: Time, before: Bytes, delivered: Bytes) -> Rank {
        match *self {
            Urgency::Sent => Rank::amount(before),
            Urgency::Remaining { size } => Rank::amount(size.saturating_sub(delivered)),
            Urgency::Deadline { at, size, rate } => {
                let soonest = now.saturating_add(rate.time_for(size.saturating_sub(delivered)));
                if soonest > at { Rank::HOPELESS } else { Rank::deadline(at) }
            }
        }
    }
}

/// A window that starts at a round trip's worth and never shrinks but after a timeout; ranks on its packets.
#[derive(Clone, Copy, Debug)]
pub struct PfabricLaw {
    /// Its window moves; the rest stays as for a new flow.
    fresh: Fresh,
    urgency: Urgency,
    /// Timeouts since the flow last heard anything.
    timeouts: u32,
    /// When the next probe is due; never outside probe mode.
    probe_at: Time,
}

impl PfabricLaw {
    /// The congestion window.
    pub fn window(&self) -> &Window {
        &self.fresh.window
    }

    fn is_probing(&self) -> bool {
        self.probe_at < Time::MAX
    }
}

impl CongestionLaw<Rank> for PfabricLaw {
    #[inline]
    fn stamp(&mut self, now: Time, segment: &Segment, flow: &FlowView) -> Rank {
        self.urgency.rank(now, segment.before, flow.delivered)
    }

    /// Whatever comes back ends probe mode: something of this flow gets through.
    #[inline]
    fn on_feedback(&mut self, _: Time, _: Time, _: &Rank, _: &FlowView) {
        self.timeouts = 0;
        self.probe_at = Time::MAX;
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckSample, _: &FlowView) {
        self.fresh.window.grow(ack.acked);
    }

    /// Only a timeout says anything: what three later packets overtook was dropped for more urgent ones.
    fn on_loss(&mut self, now: Time, loss: Loss, _: &FlowView) {
        if loss == Loss::Fast {
            return;
        }
        self.fresh.window.collapse();
        self.timeouts += 1;
        if self.timeouts >= self.fresh.timeouts_before_probing {
            self.probe_at = now;
        }
    }

    #[inline]
    fn allowance(&self) -> Allowance {
        if self.is_probing() {
            return Allowance { window: Bytes::ZERO, pacing: None };
        }
        self.fresh.window.allowance()
    }

    #[inline]
    fn probe_at(&self) -> Time {
        self.probe_at
    }

    /// A probe is as urgent as the flow's next packet, so that it fares as that would.
    fn probe(&mut self, now: Time, flow: &FlowView) -> Rank {
        self.probe_at = now + self.fresh.probe_every;
        self.urgency.rank(now, flow.acked, flow.delivered)
    }
}
