//! What the hosts of a slice run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{Facts, FlowInfo, Objective, ParamError};

use crate::wvcc::{Guest, GuestKind, GuestScheme};

/// Guests by what their slice is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Guests {
    /// In slices with deadlines.
    pub deadline: GuestKind,
    /// In all others.
    pub completion: GuestKind,
}

impl Default for Guests {
    /// Those of the paper's evaluation (§5.3).
    fn default() -> Self {
        Guests { deadline: GuestKind::D2tcp, completion: GuestKind::L2dct }
    }
}

/// Their schemes.
pub struct SliceGuests {
    objectives: Vec<Objective>,
    with_deadline: GuestScheme,
    without: GuestScheme,
}

impl SliceGuests {
    /// The schemes of these guests, in the slices that `facts` tell of.
    pub fn new(guests: Guests, facts: &Facts) -> Result<Self, ParamError> {
        Ok(SliceGuests {
            objectives: facts.slices.iter().map(|slice| slice.objective).collect(),
            with_deadline: GuestScheme::new(guests.deadline, facts)?,
            without: GuestScheme::new(guests.completion, facts)?,
        })
    }

    /// The law of one flow; one of no slice has that of slices without deadlines.
    pub fn law(&self, flow: &FlowInfo) -> Guest {
        let place = usize::from(flow.slice).checked_sub(1);
        match place.and_then(|place| self.objectives.get(place)) {
            Some(Objective::Deadline) => self.with_deadline.law(flow),
            _ => self.without.law(flow),
        }
    }
}
