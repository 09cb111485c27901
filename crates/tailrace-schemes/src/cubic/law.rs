//! CUBIC's window (RFC 9438), in segments.

use tailrace_core::transport::TransportParams;
use tailrace_core::{AckSample, Allowance, Bytes, CongestionLaw, FlowView, Loss, Time};

use super::LawParams;

/// CUBIC's congestion law.
#[derive(Clone, Copy, Debug)]
pub struct CubicLaw {
    params: LawParams,
    window: f64,
    threshold: f64,
    max: f64,
    mss: f64,
    /// W_max: where the window was before the last cut.
    plateau: f64,
    /// The window just before the last cut.
    prior: f64,
    epoch: Option<Epoch>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// K: seconds from the start until the plateau is reached.
    rise: f64,
    /// W_est: the window that Reno would have.
    reno: f64,
}

impl CubicLaw {
    /// The law of a new flow.
    pub fn new(params: LawParams, transport: &TransportParams) -> Self {
        CubicLaw {
            params,
            window: f64::from(transport.initial_window),
            threshold: f64::INFINITY,
            max: f64::from(transport.max_window),
            mss: f64::from(transport.mss),
            plateau: 0.0,
            prior: 0.0,
            epoch: None,
        }
    }

    /// The window in segments.
    pub fn segments(&self) -> f64 {
        self.window
    }

    /// Where the window returns to, in segments.
    #[cfg(test)]
    pub(super) fn plateau(&self) -> f64 {
        self.plateau
    }

    fn begin(&mut self, now: Time) -> Epoch {
        // After a timeout there is no plateau to return to (§4.8).
        self.plateau = self.plateau.max(self.window);
        let rise = libm::cbrt((self.plateau - self.window) / self.params.growth);
        Epoch { start: now, rise, reno: self.window }
    }

    /// A window that avoids congestion grows by `acked` acknowledged segments.
    fn avoid(&mut self, now: Time, rtt: Time, acked: f64) {
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin(now),
        };
        let LawParams { growth, cut } = self.params;
        let cubic = |t: f64| growth * (t - epoch.rise).powi(3) + self.plateau; // Figure 1
        let t = now.saturating_sub(epoch.start).as_secs_f64();
        // Reno's growth at CUBIC's cut (§4.3, figure 4); its own once it is where it was.
        let slope = if epoch.reno < self.prior { 3.0 * (1.0 - cut) / (1.0 + cut) } else { 1.0 };
        epoch.reno += slope * acked / self.window;
        self.window = if cubic(t) < epoch.reno {
            epoch.reno
        } else {
            let target = cubic(t + rtt.as_secs_f64()).clamp(self.window, 1.5 * self.window); // §4.2
            self.window + (target - self.window) / self.window * acked // §4.4, §4.5
        }
        .min(self.max);
        self.epoch = Some(epoch);
    }

    /// Remembers where the window was, lower if it had not recovered: fast convergence (§4.7).
    fn remember(&mut self) {
        let again = self.window < self.plateau;
        self.plateau = if again { self.window * (1.0 + self.params.cut) / 2.0 } else { self.window };
        self.prior = self.window;
        self.threshold = (self.window * self.params.cut).max(2.0); // §4.6
        self.epoch = None;
    }
}

impl CongestionLaw for CubicLaw {
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, _: &FlowView) {
        let acked = ack.acked.as_f64() / self.mss;
        if self.window < self.threshold {
            self.window = (self.window + acked).min(self.max);
        } else {
            self.avoid(ack.now, ack.rtt, acked);
        }
    }

    fn on_loss(&mut self, _: Time, loss: Loss, _: &FlowView) {
        self.remember();
        match loss {
            Loss::Fast => self.window = self.threshold,
            Loss::Timeout => {
                self.window = 1.0;
                self.plateau = 0.0;
            }
        }
    }

    #[inline]
    fn allowance(&self) -> Allowance {
        Allowance { window: Bytes::new((self.window * self.mss) as u64), pacing: None }
    }
}
