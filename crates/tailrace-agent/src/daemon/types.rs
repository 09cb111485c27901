//! What the parts of the daemon pass one another: work done, flows remembered, the state of membership in a fleet.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};
use tailrace_bpf::{Counts, FlowTable, Kept, WindowTable};

use crate::etcd::Standing;

/// What the programs in the kernel have done.
#[derive(Clone)]
pub struct Done {
    pub packets: DoneToPackets,
    pub law: Option<LawUse>,
}

/// And to packets.
#[derive(Clone, Copy)]
pub enum DoneToPackets {
    Tags(Counts),
    Windows(Kept),
    Nothing,
}

/// Connections that were given a law.
#[derive(Clone)]
pub struct LawUse {
    /// As the kernel calls it.
    pub name: String,
    pub connections: u64,
    pub told: u64,
    pub refused: u64,
}

impl Done {
    /// What programs have said of flows, and what they must not say.
    pub fn told(&self) -> [u64; 2] {
        match (&self.packets, &self.law) {
            (DoneToPackets::Tags(of), _) => [of.told, of.refused],
            (DoneToPackets::Windows(of), _) => [of.told, of.refused],
            (DoneToPackets::Nothing, Some(of)) => [of.told, of.refused],
            (DoneToPackets::Nothing, None) => [0, 0],
        }
    }
}

/// In a line.
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
        match self.told() {
            [0, 0] => Ok(()),
            [told, refused] => {
                write!(f, "; programs told of {told} flows, and were refused {refused} times")
            }
        }
    }
}

/// The flows that an agent remembers.
pub enum Flows {
    Tagged(FlowTable),
    WithWindows(WindowTable),
}

/// What others are told of it.
#[derive(Clone, Debug, Default)]
pub struct FleetStatus {
    pub standing: Standing,
    /// How old the last values are; nothing before the first ones.
    pub age: Option<Duration>,
    /// The fleet's scheme, if it is another one: then its values are not heeded.
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
