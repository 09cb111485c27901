//! Kinds of fabrics and presets, as `tailrace fabrics` lists them.

use tailrace_config::table;

use super::fat_tree::FatTree;
use super::graph::FileFields;
use super::kind::KINDS;
use super::presets::PRESETS;
use super::{Dumbbell, Graph, LeafSpine, ParkingLot, Star, Tree};

/// A kind of fabric or a preset, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFabric {
    /// Its name.
    pub name: &'static str,
    /// Whether it is a preset (`preset = "…"`) and not a kind (`kind = "…"`).
    pub preset: bool,
    /// What it is.
    pub summary: &'static str,
    /// Where it was used; empty for kinds.
    pub source: &'static str,
    /// Its fields, with their description (kind) or value (preset).
    pub fields: Vec<(String, String)>,
}

/// All kinds and presets.
pub fn list() -> Vec<ListedFabric> {
    let kinds = [
        ("one switch with all hosts", table::fields::<Star>()),
        ("two switches joined by one link", table::fields::<Dumbbell>()),
        ("switches in a row, each with hosts", table::fields::<ParkingLot>()),
        ("two tiers: every leaf switch has a link to every spine switch", table::fields::<LeafSpine>()),
        (
            "three tiers: pods of edge and aggregation switches, joined by core switches",
            table::fields::<Tree>(),
        ),
        ("two or three tiers of switches that are all alike, by their ports", table::fields::<FatTree>()),
        ("any structure: hosts, switches and links by name, here or in a file", graph_fields()),
    ];
    let kinds = KINDS.into_iter().zip(kinds).map(|(name, (summary, fields))| ListedFabric {
        name,
        preset: false,
        summary,
        source: "",
        fields,
    });
    let presets = PRESETS.iter().map(|preset| ListedFabric {
        name: preset.name,
        preset: true,
        summary: preset.summary,
        source: preset.source,
        fields: preset.table().into_iter().map(|(field, value)| (field, value.to_string())).collect(),
    });
    kinds.chain(presets).collect()
}

fn graph_fields() -> Vec<(String, String)> {
    let mut fields = [table::fields::<Graph>(), table::fields::<FileFields>()].concat();
    fields.sort();
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_tell_fields() {
        let list = list();
        let star = list.iter().find(|fabric| fabric.name == "star").unwrap();
        assert!(
            star.fields.contains(&("hosts".to_owned(), "Number of hosts.".to_owned())),
            "{:?}",
            star.fields
        );
        let micro = list.iter().find(|fabric| fabric.name == "micro4").unwrap();
        assert!(micro.fields.contains(&("hosts".to_owned(), "4".to_owned())));
    }
}
