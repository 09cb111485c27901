//! The shim between a guest's transport and the network (Uranus §4.2, as AC/DC's): a window of its own, kept as
//! DCTCP keeps one, that the guest cannot exceed.
//!
//! In a host it sits in the datapath of both ends: it makes data ECN-capable, echoes marks past the guest, and
//! shrinks the receive window of the acknowledgements that the guest sees. Here the same as a law around a law.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Directive, FlowInfo, FlowView, Loss, ParamError, Same,
    SeriesSink, Time, WindowShim, Wrapper,
};

use super::rounding::Rounding;
use super::settling::Settling;
use crate::dctcp::{DctcpLaw, LawParams};

/// Parameters of a shim.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShimParams {
    /// The law on which its window builds.
    pub law: LawParams,
    /// The guest sees marks too. It then gives way by itself, and weights are not kept.
    pub show_marks: bool,
    /// Receive windows are told in units of two to this power (RFC 7323 §2.2).
    pub window_scale: u8,
    /// Marks of the window after a cut are not counted: the cuts of other flows had not reached the queue yet.
    pub settle: bool,
    /// When the shim is loaded. It leaves flows alone that have begun before: it has not seen their window scale.
    pub from: Time,
}

impl Default for ShimParams {
    /// Linux picks 7 for receive buffers of 6 MB.
    fn default() -> Self {
        ShimParams {
            law: LawParams::default(),
            show_marks: false,
            window_scale: 7,
            settle: true,
            from: Time::ZERO,
        }
    }
}

impl ShimParams {
    /// Checks the ranges.
    pub fn check(&self) -> Result<(), ParamError> {
        self.law.check().map_err(|e| e.within("law"))?;
        if self.window_scale > 14 {
            let message = format!("is {}, but TCP scales by 14 at most (RFC 7323 §2.3)", self.window_scale);
            return Err(ParamError::new("window_scale", message));
        }
        Ok(())
    }

    /// The same as a datapath keeps it. Not where guests see marks: it hides them.
    pub fn in_datapath(&self, transport: &TransportParams) -> Option<WindowShim> {
        let ShimParams { law: LawParams { gain, initial_alpha }, show_marks, settle, .. } = *self;
        let TransportParams { initial_window, min_window, max_window, .. } = *transport;
        let shim = WindowShim {
            gain,
            initial_alpha,
            settle,
            initial_window,
            min_window,
            max_window,
            least_threshold: 1,
        };
        (!show_marks).then_some(shim)
    }
}

/// What tells flows apart: how much each grows, and how deep it cuts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bias {
    /// Segments that the window grows by in a round trip (Uranus Eq. 7: the weight).
    pub growth: f64,
    /// What the cut by α/2 is multiplied by (AC/DC, Eq. 6: 2 − β).
    pub cut: f64,
}

/// A guest's law behind the shim.
#[derive(Clone, Copy, Debug)]
pub struct Enforced<G> {
    guest: G,
    window: DctcpLaw,
    bias: Bias,
    /// How a weight tells flows apart.
    by_weight: fn(f64) -> Bias,
    show_marks: bool,
    scale: u8,
    /// Whether the window is enforced.
    known: bool,
    settling: Option<Settling>,
    rounding: Rounding,
    mss: u64,
}

/// The largest receive window that a header holds.
const MAX: u64 = 0xffff;

impl<G> Enforced<G> {
    /// The law of a new flow; `by_weight` makes of its weight what tells it apart.
    pub fn new(
        guest: G,
        params: &ShimParams,
        by_weight: fn(f64) -> Bias,
        flow: &FlowInfo,
        transport: &TransportParams,
    ) -> Self {
        Enforced {
            guest,
            window: DctcpLaw::new(&params.law, transport).steady(),
            bias: by_weight(1.0),
            by_weight,
            show_marks: params.show_marks,
            scale: params.window_scale,
            known: flow.start >= params.from,
            settling: params.settle.then(Settling::default),
            rounding: Rounding::default(),
            mss: u64::from(transport.mss),
        }
    }

    /// The guest's law.
    #[cfg(test)]
    pub(super) fn guest(&self) -> &G {
        &self.guest
    }

    /// The shim's window.
    #[cfg(test)]
    pub(super) fn window(&self) -> &DctcpLaw {
        &self.window
    }

    /// The receive window that the guest is shown: whole segments, in units that the header can tell, rounded up.
    fn receive_window(&self) -> Bytes {
        let segments = self.rounding.whole(self.window.window().segments());
        Bytes::new((segments * self.mss).div_ceil(1 << self.scale).min(MAX) << self.scale)
    }
}

impl<G: CongestionLaw> Wrapper for Enforced<G> {
    type Law = G;
    type Headers = Same;

    #[inline]
    fn law(&self) -> &G {
        &self.guest
    }
    #[inline]
    fn law_mut(&mut self) -> &mut G {
        &mut self.guest
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
        let Bias { growth, cut } = self.bias;
        let stale =
            self.settling.as_mut().is_some_and(|settling| settling.holds(self.window.cut_end(), flow));
        let marked = if stale { Bytes::ZERO } else { ack.marked };
        self.window.answer(&AckSample { marked, ..*ack }, flow, growth, |law| cut * law.alpha());
        self.rounding.acknowledged(self.window.window().segments(), flow);
        let marked = if self.show_marks { ack.marked } else { Bytes::ZERO };
        self.guest.on_ack(&AckSample { marked, ..*ack }, flow);
    }

    /// The shim sees duplicate acknowledgements and gaps as the guest does.
    fn on_loss(&mut self, now: Time, loss: Loss, flow: &FlowView) {
        self.window.on_loss(now, loss, flow);
        self.guest.on_loss(now, loss, flow);
    }

    #[inline]
    fn allowance(&self) -> Allowance {
        let guest = self.guest.allowance();
        if self.known {
            Allowance { window: guest.window.min(self.receive_window()), ..guest }
        } else {
            guest
        }
    }

    /// A new weight; the window stays.
    fn directed(&mut self, directive: &Directive) {
        self.bias = (self.by_weight)(directive.weight.get());
        self.guest.directed(directive);
    }

    /// The shim's window, not the guest's.
    fn trace(&mut self, now: Time, series: &mut dyn SeriesSink) {
        self.window.trace(now, series);
    }
}
