//! Types that several parts of the daemon share: counts of its work, tables of flows, membership in a fleet.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};
use tailrace_bpf::{Counts, FlowTable, Kept, WindowTable};

use crate::etcd::Standing;

/// Counts of the programs in the kernel.
#[derive(Clone)]
pub struct Done {
    pub packets: DoneToPackets,
    pub law: Option<LawUse>,
}

/// Counts by what the scheme does to packets.
#[derive(Clone, Copy)]
pub enum DoneToPackets {
    Tags(Counts),
    Windows(Kept),
    Nothing,
}

/// Connections that have the scheme's congestion law.
#[derive(Clone)]
pub struct LawUse {
    /// The law's name in the kernel.
    pub name: String,
    pub connections: u64,
    pub told: u64,
    pub refused: u64,
}

impl Done {
    /// Announcements of programs: those that were accepted, and those that were refused.
    pub fn announced(&self) -> [u64; 2] {
        match (&self.packets, &self.law) {
            (DoneToPackets::Tags(of), _) => [of.told, of.refused],
            (DoneToPackets::Windows(of), _) => [of.told, of.refused],
            (DoneToPackets::Nothing, Some(of)) => [of.told, of.refused],
            (DoneToPackets::Nothing, None) => [0, 0],
        }
    }
}

/// One line.
impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.packets {
            DoneToPackets::Tags(Counts { tagged, untouched, flows, .. }) => {
                write!(f, "{tagged} packets tagged, {untouched} left as they came, {flows} flows")?;
            }
            DoneToPackets::Windows(Kept { flows, shown, marks, .. }) => write!(
                f,
                "{flows} connections with windows, {shown} acknowledgements with a smaller one, {marks} bytes marked"
            )?,
            DoneToPackets::Nothing => {}
        }
        if let Some(LawUse { name, connections, .. }) = &self.law {
            let colon = if matches!(self.packets, DoneToPackets::Nothing) { "" } else { "; " };
            write!(f, "{colon}{connections} connections with {name}")?;
        }
        match self.announced() {
            [0, 0] => Ok(()),
            [told, refused] => {
                write!(f, "; programs told of {told} flows, and were refused {refused} times")
            }
        }
    }
}

/// The table of flows that an agent remembers.
pub enum Flows {
    Tagged(FlowTable),
    WithWindows(WindowTable),
}

/// An agent's membership in a fleet, as the agent reports it.
#[derive(Clone, Debug, Default)]
pub struct FleetStatus {
    pub standing: Standing,
    /// The age of the last values; `None` before the first ones.
    pub age: Option<Duration>,
    /// The fleet's scheme if it differs from the agent's, which then ignores the fleet's values.
    pub differs: Option<String>,
    /// Flows that have weights of their own.
    pub weights: usize,
}

impl FleetStatus {
    pub fn lost_seconds(&self) -> f64 {
        self.standing.lost.as_ref().map_or(0.0, |(since, _)| since.elapsed().as_secs_f64())
    }

    pub fn json(&self) -> Value {
        let Standing { lost, losses, sent, unsent, received, refused, duplicates, .. } = &self.standing;
        json!({
            "connected": lost.is_none(),
            "lost_seconds": self.lost_seconds(),
            "lost_because": lost.as_ref().map(|(_, why)| why),
            "losses": losses,
            "reports_told": sent,
            "reports_not_told": unsent,
            "reports_of_others_with_this_name": duplicates,
            "values_heard": received,
            "values_refused": refused,
            "values_age_seconds": self.age.map(|age| age.as_secs_f64()),
            "other_scheme": self.differs,
            "flows_with_weights": self.weights,
        })
    }
}
