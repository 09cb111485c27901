//! `kind = …`: the structures that a fabric may have.

use serde::Serialize;

use super::check::Checked;
use super::{Dumbbell, Graph, LeafSpine, ParkingLot, Star, Tree};

/// The structure of a fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FabricKind {
    /// One switch with all hosts.
    Star(Star),
    /// Two switches joined by one link.
    Dumbbell(Dumbbell),
    /// Switches in a row, each with hosts.
    ParkingLot(ParkingLot),
    /// Two tiers: every leaf switch has a link to every spine switch.
    LeafSpine(LeafSpine),
    /// Three tiers: pods of edge and aggregation switches, joined by core switches.
    Tree(Tree),
    /// Any structure.
    Graph(Graph),
}

/// The names of the kinds.
pub(super) const KINDS: [&str; 7] =
    ["star", "dumbbell", "parking-lot", "leaf-spine", "tree", "fat-tree", "graph"];

impl FabricKind {
    /// Checks that the parts fit together.
    pub(super) fn check(&self) -> Checked {
        match self {
            FabricKind::Star(kind) => kind.check(),
            FabricKind::Dumbbell(kind) => kind.check(),
            FabricKind::ParkingLot(kind) => kind.check(),
            FabricKind::LeafSpine(kind) => kind.check(),
            FabricKind::Tree(kind) => kind.check(),
            // It is checked while it is read.
            FabricKind::Graph(_) => Ok(()),
        }
    }
}
