//! The same rates, worked out anew from nothing: progressive filling, rank by rank.

use std::collections::BTreeSet;

use tailrace_core::Rank;

use super::LinkId;

/// A bundle as it was added.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) path: Vec<LinkId>,
    pub(super) rank: Rank,
    pub(super) weight: f64,
    /// Whether it is to be told of each level.
    pub(super) apart: bool,
}

/// The levels of all bundles: those of a lower rank are filled first, and leave the rest.
pub(super) fn levels(capacities: &[f64], bundles: &[Wanted]) -> Vec<f64> {
    let mut levels = vec![0.0; bundles.len()];
    let mut free = capacities.to_vec();
    let ranks: BTreeSet<Rank> = bundles.iter().map(|bundle| bundle.rank).collect();
    for rank in ranks {
        let mut rising: Vec<usize> = (0..bundles.len()).filter(|&b| bundles[b].rank == rank).collect();
        while !rising.is_empty() {
            let level_of = |link: usize| {
                let here = rising.iter().filter(|&&b| bundles[b].path.contains(&(link as LinkId)));
                let weight: f64 = here.map(|&b| bundles[b].weight).sum();
                if weight > 0.0 { free[link].max(0.0) / weight } else { f64::INFINITY }
            };
            let each: Vec<f64> = (0..free.len()).map(level_of).collect();
            let level = each.iter().copied().fold(f64::INFINITY, f64::min);
            let full = |link: LinkId| each[link as usize] <= level * (1.0 + 1e-12);
            let (stopped, going): (Vec<usize>, Vec<usize>) =
                rising.iter().partition(|&&b| bundles[b].path.iter().any(|&link| full(link)));
            for b in stopped {
                levels[b] = level;
                bundles[b].path.iter().for_each(|&link| free[link as usize] -= bundles[b].weight * level);
            }
            rising = going;
        }
    }
    levels
}
