//! DCTCP's congestion law (RFC 8257 §3.3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, FlowView, HostLaw, HostLawKind, Loss, ParamError, SeriesRow,
    SeriesSink, Time, WindowShim,
};
use tailrace_transport::Window;

/// Parameters of DCTCP's law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LawParams {
    /// Weight g of the newest window in the estimate α of the marked share.
    pub gain: f64,
    /// α of a new flow: 1 in RFC 8257 §4.1 and Linux, 0 in the ns-2 code of the PIAS authors.
    pub initial_alpha: f64,
}

impl Default for LawParams {
    fn default() -> Self {
        LawParams { gain: 1.0 / 16.0, initial_alpha: 1.0 }
    }
}

impl LawParams {
    /// The parameters of the PIAS authors' ns-2 code, on which AWAFS was evaluated too.
    pub fn ns2() -> Self {
        LawParams { initial_alpha: 0.0, ..LawParams::default() }
    }

    /// The law as the TCP of a host's own kernel can have it.
    pub fn host_law(&self, transport: &TransportParams, kind: HostLawKind) -> HostLaw {
        let TransportParams { initial_window, min_window, max_window, .. } = *transport;
        let LawParams { gain, initial_alpha } = *self;
        let window = WindowShim {
            gain,
            initial_alpha,
            settle: false,
            initial_window,
            min_window,
            max_window,
            least_threshold: 2,
        };
        HostLaw { window, kind, left_out: None }
    }

    /// Checks the ranges.
    pub fn check(&self) -> Result<(), ParamError> {
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return Err(ParamError::new("gain", format!("{} must be above 0 and at most 1", self.gain)));
        }
        if !(0.0..=1.0).contains(&self.initial_alpha) {
            let message = format!("{} must lie in 0..1", self.initial_alpha);
            return Err(ParamError::new("initial_alpha", message));
        }
        Ok(())
    }
}

/// DCTCP's window and its estimate of the marked share.
#[derive(Clone, Copy, Debug)]
pub struct DctcpLaw {
    window: Window,
    alpha: f64,
    gain: f64,
    acked: Bytes,
    marked: Bytes,
    /// The observation window ends when this much is acknowledged.
    window_end: Bytes,
    /// What was sent before the last cut: no second cut and no growth until more is acknowledged.
    cut_end: Option<Bytes>,
    /// Whether an observation window has ended since the last trace.
    fresh: bool,
}

impl DctcpLaw {
    /// The law of a new flow.
    pub fn new(params: &LawParams, transport: &TransportParams) -> Self {
        DctcpLaw {
            window: Window::new(transport),
            alpha: params.initial_alpha,
            gain: params.gain,
            acked: Bytes::ZERO,
            marked: Bytes::ZERO,
            window_end: Bytes::ZERO,
            cut_end: None,
            fresh: false,
        }
    }

    /// The law with a window that grows by its weight even below two segments.
    pub fn steady(self) -> Self {
        DctcpLaw { window: self.window.steady(), ..self }
    }

    /// The estimate α of the marked share.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The congestion window.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// What was sent before the last cut for congestion: until more is acknowledged there is no second.
    pub fn cut_end(&self) -> Option<Bytes> {
        self.cut_end
    }

    /// α ← (1 − g)·α + g·F once a window (RFC 8257 §3.3, items 4 to 8).
    fn end_window(&mut self, flow: &FlowView) {
        let share = self.marked.as_f64() / self.acked.as_f64();
        self.alpha += self.gain * (share - self.alpha);
        self.acked = Bytes::ZERO;
        self.marked = Bytes::ZERO;
        self.window_end = flow.sent;
        self.fresh = true;
    }
}

impl DctcpLaw {
    /// Answers an acknowledgement: grows by `weight` segments a window, or cuts by half of what `penalty` makes
    /// of α. Descendants of DCTCP differ in these.
    #[inline]
    pub fn answer(
        &mut self,
        ack: &AckSample,
        flow: &FlowView,
        weight: f64,
        penalty: impl FnOnce(&Self) -> f64,
    ) {
        self.acked += ack.acked;
        self.marked += ack.marked;
        if flow.acked >= self.window_end {
            self.end_window(flow);
        }
        if self.cut_end.is_none_or(|end| flow.acked > end) {
            if ack.marked > Bytes::ZERO {
                self.cut_end = Some(flow.sent);
                let penalty = penalty(self);
                self.window.cut(1.0 - penalty / 2.0);
            } else {
                self.window.grow_weighted(ack.acked, weight);
            }
        }
    }
}

impl CongestionLaw for DctcpLaw {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
        self.answer(ack, flow, 1.0, Self::alpha);
    }

    /// Loss is answered as TCP does, never by α (RFC 8257 §3.5).
    fn on_loss(&mut self, _: Time, loss: Loss, flow: &FlowView) {
        match loss {
            Loss::Fast => self.window.cut(0.5),
            Loss::Timeout => self.window.collapse(),
        }
        self.cut_end = (loss == Loss::Fast).then_some(flow.sent);
    }

    #[inline]
    fn allowance(&self) -> Allowance {
        self.window.allowance()
    }

    fn trace(&mut self, at: Time, series: &mut dyn SeriesSink) {
        if std::mem::take(&mut self.fresh) {
            let mut row = |metric, value| series.push(SeriesRow { at, metric, index: 0, value });
            row("window_segments", self.window.segments());
            row("alpha", self.alpha);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1460;

    fn law(alpha: f64) -> DctcpLaw {
        let params = LawParams { initial_alpha: alpha, ..LawParams::default() };
        DctcpLaw::new(&params, &TransportParams { initial_window: 100, ..TransportParams::default() })
    }

    /// One window of `n` segments, of which `marked` carry a mark.
    fn window(law: &mut DctcpLaw, acked_before: u64, n: u64, marked: u64) {
        for i in 1..=n {
            let segment = Bytes::new(MSS);
            let sample = AckSample {
                now: Time::ZERO,
                acked: segment,
                marked: if i <= marked { segment } else { Bytes::ZERO },
                in_flight: Bytes::ZERO,
                rtt: Time::from_us(100),
                srtt: Time::from_us(100),
                app_limited: false,
            };
            let sent = Bytes::new((acked_before + n + i) * MSS);
            let acked = Bytes::new((acked_before + i) * MSS);
            law.on_ack(&sample, &FlowView { sent, acked, delivered: acked });
        }
    }

    #[test]
    fn a_window_of_marks_is_cut_once_by_half_of_alpha() {
        let mut law = law(0.5);
        window(&mut law, 0, 100, 100);
        // One update of α with F = 1 comes before the cut: 0.5 + 0.5/16.
        assert!((law.window().segments() - 100.0 * (1.0 - 0.53125 / 2.0)).abs() < 1e-9);
    }

    #[test]
    fn alpha_tends_to_the_marked_share() {
        let mut law = law(1.0);
        for round in 0..200 {
            window(&mut law, round * 100, 100, 30);
        }
        assert!((law.alpha() - 0.3).abs() < 0.02, "{}", law.alpha());
    }

    #[test]
    fn without_marks_it_is_slow_start() {
        let mut law = law(0.0);
        window(&mut law, 0, 100, 0);
        assert_eq!(law.window().segments(), 200.0);
    }

    #[test]
    fn a_loss_halves_whatever_alpha_is() {
        let mut law = law(0.0);
        let view = FlowView { sent: Bytes::new(100), acked: Bytes::ZERO, delivered: Bytes::ZERO };
        law.on_loss(Time::ZERO, Loss::Fast, &view);
        assert_eq!(law.window().segments(), 50.0);
    }

    #[test]
    fn a_trace_has_a_row_of_each_series_for_a_window() {
        let mut law = law(0.5);
        let mut rows: Vec<SeriesRow> = Vec::new();
        for _ in 0..2 {
            law.trace(Time::from_us(7), &mut rows);
        }
        assert!(rows.is_empty(), "nothing has happened");
        window(&mut law, 0, 100, 0);
        for _ in 0..2 {
            law.trace(Time::from_us(7), &mut rows);
        }
        let said: Vec<_> = rows.iter().map(|row| (row.metric, row.value)).collect();
        // In slow start the window doubles; α loses a sixteenth.
        assert_eq!(said, [("window_segments", 200.0), ("alpha", 0.46875)]);
    }
}
