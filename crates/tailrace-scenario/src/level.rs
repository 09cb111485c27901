//! `level = …` and `[flow]`: what is simulated of flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::Time;

/// What is simulated of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Every packet.
    #[default]
    Packet,
    /// Rates: links are shared at any time as the scheme would share them if its feedback were instant and exact.
    Flow,
}

impl Level {
    pub(crate) fn is_packet(&self) -> bool {
        *self == Level::Packet
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

fn is_zero(time: &Time) -> bool {
    *time == Time::ZERO
}
