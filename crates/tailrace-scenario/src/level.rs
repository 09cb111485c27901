//! `level = …`, `[flow]` and `[live]`: what becomes of flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::ScenarioError;
use tailrace_config::suggest::unknown;
use tailrace_core::Time;

/// What becomes of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Every packet.
    #[default]
    Packet,
    /// Rates: links are shared at any time as the scheme would share them if its feedback were instant and exact.
    Flow,
    /// Nothing is simulated: real packets go through the fabric in real time, between network namespaces of this machine.
    Live,
}

impl Level {
    pub(crate) fn is_packet(&self) -> bool {
        *self == Level::Packet
    }

    /// What it is called in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Level::Packet => "packet",
            Level::Flow => "flow",
            Level::Live => "live",
        }
    }

    /// The level of that name.
    pub fn named(name: &str) -> Result<Self, ScenarioError> {
        let levels = [Level::Packet, Level::Flow, Level::Live];
        let found = levels.into_iter().find(|level| level.name() == name);
        found.ok_or_else(|| ScenarioError::new("level", unknown("level", name, levels.map(Level::name))))
    }
}

/// What runs at flow level need to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlowLevel {
    /// How long after its start a flow sends its first byte: what a scheme takes to set it up. If left out, so long
    /// that a flow which has the network to itself takes as long as its packets would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<Time>,
    /// How long after what changes them rates change: what feedback takes, such as a round trip. A flow has its first
    /// rate after its setup and this; what one that has ended leaves is idle for so long.
    #[serde(skip_serializing_if = "is_zero")]
    pub feedback_delay: Time,
}

/// Whose packets a live run is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stack {
    /// Tailrace's own transport over UDP sockets: every scheme, whole.
    #[default]
    Tailrace,
    /// TCP connections of the machine's kernel: schemes whose packets need no header of their own, and of these what
    /// the fabric does and which priorities packets have.
    Kernel,
}

/// What live runs need to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LiveLevel {
    /// Whose packets they are.
    pub stack: Stack,
    /// With the kernel's: its congestion control, one of net.ipv4.tcp_available_congestion_control. If left out, the
    /// scheme's own law where hosts have agents and the kernel can have it, else the machine's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_congestion: Option<String>,
    /// With the kernel's: hosts run the host agent, which does the scheme's part at hosts as it does on real ones.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub agent: bool,
}

impl LiveLevel {
    /// Whether the fields make sense together.
    pub(crate) fn check(&self) -> Result<(), ScenarioError> {
        if self.stack == Stack::Tailrace && self.tcp_congestion.is_some() {
            let message =
                "is for stack = \"kernel\": Tailrace's transport has the scheme's own congestion law";
            return Err(ScenarioError::new("tcp_congestion", message));
        }
        if self.stack == Stack::Tailrace && self.agent {
            let message =
                "is for stack = \"kernel\": with Tailrace's transport hosts do the scheme's part themselves";
            return Err(ScenarioError::new("agent", message));
        }
        Ok(())
    }
}

fn is_zero(time: &Time) -> bool {
    *time == Time::ZERO
}
