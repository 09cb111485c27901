//! A host's levels: which flows are in them, and what they may send.

use tailrace_core::{Bytes, Cap, Directive, FlowInfo, HostPolicy, Rate, TagTable};

/// A level of the network.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// The largest flow that it takes.
    largest: Bytes,
    /// What it may send from a host.
    rate: Option<Rate>,
}

/// The levels of a host, from the highest down. Below them is one for all that is larger.
#[derive(Clone, Debug)]
pub struct QjumpHost {
    levels: Vec<Level>,
}

impl QjumpHost {
    /// Levels by their largest flows and what they may send.
    pub fn new(levels: impl IntoIterator<Item = (Bytes, Option<Rate>)>) -> Self {
        let levels = levels.into_iter().map(|(largest, rate)| Level { largest, rate });
        QjumpHost { levels: levels.collect() }
    }

    /// In words, what a level is for.
    pub(super) fn holds(&self, level: usize) -> String {
        match self.levels.get(level) {
            Some(Level { largest, rate: Some(rate) }) => format!("flows up to {largest}, at {rate} a host"),
            Some(Level { largest, rate: None }) => format!("flows up to {largest}"),
            None if level == self.levels.len() => "all other flows".to_owned(),
            None => "nothing".to_owned(),
        }
    }
}

impl HostPolicy for QjumpHost {
    const CAPS: bool = true;

    fn directive(&self, flow: &FlowInfo) -> Directive {
        let larger = |level: &Level| flow.size.is_none_or(|size| size > level.largest);
        let level = self.levels.partition_point(larger);
        let group = level as u8;
        let rate = self.levels.get(level).and_then(|level| level.rate);
        let cap = rate.map(|rate| Cap { group, rate });
        Directive { cap, acks: group, ..Directive::tagged(TagTable::flat(group)) }
    }
}
