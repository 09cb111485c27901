//! What can be set (§4.2.2.1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Bytes, Facts, HostId, ParamError, Time};
use tailrace_queues::PortParams;

use super::Forgetting;
use crate::dctcp::LawParams;
use crate::pias::Thresholds;

/// Where thresholds are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// In every port: packets carry the bytes sent so far, the port picks the queue.
    #[default]
    Switch,
    /// In every host: packets carry a priority tag, ports only schedule.
    Host,
}

/// Which percentiles of completed sizes the thresholds are set to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected \"chosen\" or a list like [0.1, 0.2]")]
pub enum Percentiles {
    /// `"chosen"`: at each adjustment those with the least mean completion time, in the model of PIAS' optimiser
    /// for the sizes and the load that were measured (§6.2 leaves the choice to future work).
    Named(Chosen),
    /// `[0.1, 0.2]`: always these (RefPct); ascending, one fewer than queues.
    Given(Vec<f64>),
}

/// The word `"chosen"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Chosen {
    /// Those that serve best what was measured.
    Chosen,
}

/// A port that adjusts more often does nothing else; to choose percentiles takes a thousand times as long.
const SHORTEST_PERIOD: Time = Time::from_us(1);
const SHORTEST_PERIOD_TO_CHOOSE: Time = Time::from_ms(1);
/// Packets of a flow that sends are further apart than less.
const SHORTEST_SILENCE: Time = Time::from_us(10);

/// Parameters of `awafs`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Where thresholds are kept.
    pub placement: Placement,
    /// Time between two adjustments (T_schedule).
    pub period: Time,
    /// How far back completed flows count (W_update), not less than `period`.
    pub window: Time,
    /// How they are forgotten: "window", all at once, or "decay", each counts e times less after every window.
    pub memory: Forgetting,
    /// The percentile of completed sizes that each threshold is set to (RefPct), one fewer than queues; or
    /// "chosen", those that serve best what was measured.
    pub percentiles: Percentiles,
    /// Thresholds before the first adjustment (InitThr), in any form that `pias` has; all 0 if empty.
    pub initial_thresholds: Thresholds,
    /// Ports count themselves what flows have sent, and take a flow that is silent for so long for completed
    /// (§4.2.1); if not given, packets say both.
    pub silence: Option<Time>,
    /// Hosts that say of every packet that it is the first of its flow (§3.3).
    pub liars: Vec<HostId>,
    /// Count a completed flow once even if its last packet passes a port twice.
    pub deduplicate: bool,
    /// Let the 12 bytes that the scheme adds to data packets take link time. The thesis' simulation carries
    /// them as metadata, so the default is not to.
    pub shim_on_wire: bool,
    /// The congestion law.
    pub law: LawParams,
    /// How ports queue and mark.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            placement: Placement::Switch,
            period: Time::from_ms(200),
            window: Time::from_ms(250),
            memory: Forgetting::Window,
            percentiles: Percentiles::Given((1..8).map(|i| f64::from(i) / 10.0).collect()),
            initial_thresholds: Thresholds::Given(Vec::new()),
            silence: None,
            liars: Vec::new(),
            deduplicate: true,
            shim_on_wire: false,
            law: LawParams::ns2(),
            port: PortParams::default(),
        }
    }
}

impl Params {
    pub(super) fn check(&self) -> Result<(), ParamError> {
        self.law.check().map_err(|e| e.within("law"))?;
        self.port.check().map_err(|e| e.within("port"))?;
        if let Percentiles::Given(percentiles) = &self.percentiles {
            check_percentiles(percentiles, self.port.queues)
                .map_err(|message| ParamError::new("percentiles", message))?;
        }
        let least = match self.percentiles {
            Percentiles::Named(_) => SHORTEST_PERIOD_TO_CHOOSE,
            Percentiles::Given(_) => SHORTEST_PERIOD,
        };
        if self.period < least {
            let message =
                format!("{} is too short: it must be at least {least}; the thesis uses 200ms", self.period);
            return Err(ParamError::new("period", message));
        }
        if self.window < self.period {
            let message =
                format!("{} is shorter than the period {} (AWAFS §4.2.2.1)", self.window, self.period);
            return Err(ParamError::new("window", message));
        }
        if self.silence.is_some() && self.placement == Placement::Host {
            let message = "is for placement = \"switch\": hosts know when their flows end";
            return Err(ParamError::new("silence", message));
        }
        if let Some(silence) = self.silence.filter(|silence| *silence < SHORTEST_SILENCE) {
            let message = format!(
                "{silence} is too short: packets of a flow are some apart, so it must be at least {SHORTEST_SILENCE}; give 10ms"
            );
            return Err(ParamError::new("silence", message));
        }
        Ok(())
    }

    /// The thresholds before the first adjustment, one fewer than queues.
    pub(super) fn initial(&self, facts: &Facts) -> Result<Vec<Bytes>, ParamError> {
        match &self.initial_thresholds {
            Thresholds::Given(none) if none.is_empty() => {
                Ok(vec![Bytes::ZERO; usize::from(self.port.queues) - 1])
            }
            some => some.resolve("initial_thresholds", self.port.queues, facts),
        }
    }
}

fn check_percentiles(percentiles: &[f64], queues: u8) -> Result<(), String> {
    if percentiles.len() + 1 != usize::from(queues) {
        let given = percentiles.len();
        return Err(format!("{given} percentiles for {queues} queues: one fewer than queues is needed"));
    }
    if percentiles.iter().any(|p| !(*p > 0.0 && *p < 1.0)) {
        return Err("each must lie strictly between 0 and 1".into());
    }
    if percentiles.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err("they must ascend".into());
    }
    Ok(())
}
