//! QJUMP: levels of priority in the network, each with its cap at hosts. The higher a level, the less it may send, and
//! the less it can be in its own way.

mod host;
#[cfg(test)]
mod tests;

pub use host::QjumpHost;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Bytes, Facts, FlowInfo, Knowledge, MTU_BYTES, ParamError, PortFacts, Queues, Rate, RateRule, Scheme,
    SwitchPlan, Time,
};
use tailrace_queues::{MarkingScope, MultiQueue, PortParams};

use crate::tcp::NewReno;

/// Parameters of `qjump`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Throughput factors f of the levels, from the highest down, ascending: how many of n hosts must send at once for
    /// the level's worst delay. Below these is one more level, without cap, as is a factor of n or more.
    pub factors: Vec<f64>,
    /// The largest flow of each level but the last. Flows that do not reveal their size are in the last.
    pub thresholds: Vec<Bytes>,
    /// What a packet spends in the network beside queues (ε); half the longest round trip if not said.
    pub processing: Option<Time>,
    /// How ports queue.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            factors: vec![1.0, 4.0, 16.0],
            thresholds: [1_460, 10_000, 100_000].map(Bytes::new).into(),
            processing: None,
            port: PortParams { marking: MarkingScope::None, ..PortParams::default() },
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), ParamError> {
        let fail = |field, message: String| Err(ParamError::new(field, message));
        self.port.check().map_err(|e| e.within("port"))?;
        if self.port.marking != MarkingScope::None {
            return fail("port.marking", "must be \"none\": flows run TCP, which hears of no marks".into());
        }
        if self.factors.iter().any(|factor| !(*factor >= 1.0 && factor.is_finite())) {
            return fail("factors", "each must be a number from 1 up".into());
        }
        if !self.factors.is_sorted() {
            return fail("factors", "they must ascend: a higher level may send less".into());
        }
        if self.factors.len() >= usize::from(self.port.queues) {
            let message =
                format!("{} and the level below need {} queues", self.factors.len(), self.factors.len() + 1);
            return fail("factors", message);
        }
        if self.thresholds.len() != self.factors.len() {
            let message =
                format!("{} for {} factors: give one each", self.thresholds.len(), self.factors.len());
            return fail("thresholds", message);
        }
        if !self.thresholds.is_sorted() {
            return fail("thresholds", "they must ascend".into());
        }
        Ok(())
    }
}

/// What a level may send on a link of rate R among n hosts: a packet of P bytes a network epoch of 2·(n/f)·P/R + ε;
/// all of the link if f is n or more.
pub fn level_rate(factor: f64, hosts: usize, link: Rate, processing: Time) -> Option<Rate> {
    let rivals = hosts as f64 / factor;
    let packet = f64::from(MTU_BYTES);
    let epoch = 2.0 * rivals * packet / link.bytes_per_sec() + processing.as_secs_f64();
    (rivals > 1.0).then(|| Rate::from_bps((packet * 8.0 / epoch) as u64))
}

/// The scheme.
pub struct Qjump {
    transport: TransportParams,
    port: PortParams,
    host: QjumpHost,
}

impl Scheme for Qjump {
    const NAME: &'static str = "qjump";
    const SUMMARY: &'static str = "small flows jump queues, at rates that keep them out of each other's way";
    const SOURCE: &'static str = "Grosvenor et al., NSDI 2015";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: false };
    type Params = Params;
    type Header = ();
    type Law = NewReno;
    type Host = QjumpHost;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.check()?;
        let processing = params.processing.unwrap_or(Time::from_ps(facts.base_rtt.as_ps() / 2));
        let rate = |&factor: &f64| level_rate(factor, facts.hosts, facts.host_rate, processing);
        let rates = params.factors.iter().map(rate);
        let host = QjumpHost::new(params.thresholds.iter().copied().zip(rates));
        Ok(Qjump { transport: facts.transport, port: params.port, host })
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, _: &FlowInfo) -> NewReno {
        NewReno::new(&self.transport)
    }
    fn host(&self) -> QjumpHost {
        self.host.clone()
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.port, port)
    }
    fn rate_rule(&self) -> Option<Box<dyn RateRule>> {
        self.port.is_strict().then(|| Box::new(Queues(self.host.clone())) as Box<dyn RateRule>)
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        Some(self.port.switch_plan(link, |level| self.host.holds(level)))
    }
}
