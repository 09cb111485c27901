//! How large completed flows were, in memory that does not grow with their number: counts in bins of about one
//! size, which fade. And the thresholds that serve such flows best.

use tailrace_core::{Bytes, SizeDistribution};

use crate::pias::model::Model;

/// Bins between a size and its double: sizes in one bin differ by an eighth at most.
const PER_DOUBLING: usize = 8;
/// Sizes below 2⁸ bytes share the first bin, those from 2³⁴ (17 GB) on the last one.
const EXPONENTS: std::ops::Range<u32> = 8..34;
/// What has faded to less than this many flows is forgotten.
const MIN_FLOWS: f64 = 1e-3;
/// The most load that the model is told, which knows none above 1: an estimate can be any.
const MAX_LOAD: f64 = 0.95;

/// Sizes of completed flows, and the time in which they completed.
#[derive(Clone, Debug)]
pub struct Sketch {
    bins: Vec<Bin>,
    seconds: f64,
}

/// Flows of about one size, and their payload. Neither is whole once it has faded.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    flows: f64,
    bytes: f64,
}

impl Sketch {
    /// No flow, in no time.
    pub fn new() -> Self {
        Sketch { bins: vec![Bin::default(); EXPONENTS.len() * PER_DOUBLING], seconds: 0.0 }
    }

    /// A flow has completed.
    #[inline]
    pub fn add(&mut self, size: Bytes) {
        let size = size.get().clamp(1 << EXPONENTS.start, (1 << EXPONENTS.end) - 1);
        let bin = &mut self.bins[bin_of(size)];
        bin.flows += 1.0;
        bin.bytes += size as f64;
    }

    /// Time has passed.
    pub fn pass(&mut self, seconds: f64) {
        self.seconds += seconds;
    }

    /// From now on all that was seen counts `share` times as much.
    pub fn fade(&mut self, share: f64) {
        self.seconds *= share;
        for bin in &mut self.bins {
            *bin = Bin { flows: bin.flows * share, bytes: bin.bytes * share };
            if bin.flows < MIN_FLOWS {
                *bin = Bin::default();
            }
        }
    }

    /// The bins that hold flows, ascending: a size that all of the bin's flows are below, and how many they are.
    pub fn sizes(&self) -> impl Iterator<Item = (Bytes, f64)> {
        self.used().map(|(end, bin)| (end, bin.flows))
    }

    fn used(&self) -> impl Iterator<Item = (Bytes, &Bin)> {
        let ends = (0..).map(|bin| Bytes::new(start_of(bin + 1)));
        ends.zip(&self.bins).filter(|(_, bin)| bin.flows > 0.0)
    }

    /// How sizes are distributed, and their load on a link of so much payload a second, which may be above 1. `None` without
    /// flows.
    pub fn measured(&self, bytes_per_sec: f64) -> Option<(SizeDistribution, f64)> {
        let (flows, bytes) =
            self.used().fold((0.0, 0.0), |(flows, bytes), (_, bin)| (flows + bin.flows, bytes + bin.bytes));
        let (mut below, mut atoms) = (0.0, Vec::new());
        for (_, bin) in self.used() {
            let size = bin.bytes / bin.flows;
            atoms.push((size, below));
            below = (below + bin.flows / flows).min(1.0);
            atoms.push((size, below));
        }
        // Not 1 to the last bit.
        atoms.last_mut()?.1 = 1.0;
        Some((SizeDistribution::new(atoms).ok()?, bytes / self.seconds / bytes_per_sec))
    }

    /// The thresholds that give such flows, on a link of so much payload a second, the least mean completion time
    /// in the model of PIAS' optimiser. Thresholds that do not help are above all sizes. `None` without flows.
    pub fn best_thresholds(&self, queues: usize, bytes_per_sec: f64) -> Option<Vec<Bytes>> {
        let (sizes, load) = self.measured(bytes_per_sec)?;
        let candidates: Vec<f64> =
            [0.0].into_iter().chain(self.used().map(|(end, _)| end.as_f64())).collect();
        Some(Model::new(&sizes, load.min(MAX_LOAD)).best_among(&candidates, queues).thresholds)
    }
}

/// The bin of a size of at least 2⁸ bytes: its leading bit and the three behind it.
fn bin_of(size: u64) -> usize {
    let exponent = size.ilog2();
    let eighth = (size >> (exponent - 3)) as usize % PER_DOUBLING;
    (exponent - EXPONENTS.start) as usize * PER_DOUBLING + eighth
}

/// The least size of a bin.
fn start_of(bin: usize) -> u64 {
    let (doublings, eighth) = (bin / PER_DOUBLING, bin % PER_DOUBLING);
    ((PER_DOUBLING + eighth) as u64) << (EXPONENTS.start as usize + doublings - 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pias::model::optimal;
    use crate::pias::tests::{data_mining, web_search};
    use proptest::prelude::*;
    use tailrace_core::random::Stream;

    /// `flows` flows of these sizes that a link of 1 GB/s of payload carries at this load.
    fn drawn(sizes: &SizeDistribution, load: f64, flows: u32) -> Sketch {
        let mut stream = Stream::new(1, "sketch", 0);
        let mut sketch = Sketch::new();
        (0..flows).for_each(|_| sketch.add(Bytes::new(sizes.quantile(stream.unit()).ceil() as u64)));
        sketch.pass(f64::from(flows) * sizes.mean() / (load * 1e9));
        sketch
    }

    #[test]
    fn many_flows_measured_are_as_good_as_the_distribution_known() {
        for (sizes, load, queues) in
            [(web_search(), 0.5, 2), (web_search(), 0.8, 8), (data_mining(), 0.5, 8), (data_mining(), 0.8, 3)]
        {
            let chosen = drawn(&sizes, load, 200_000).best_thresholds(queues, 1e9).unwrap();
            assert_eq!(chosen.len(), queues - 1);
            let chosen: Vec<f64> = chosen.iter().map(|threshold| threshold.as_f64()).collect();
            let worse = Model::new(&sizes, load).mean(&chosen) / optimal(&sizes, load, queues).mean;
            assert!((1.0..1.03).contains(&worse), "{worse}: {chosen:?} at {load} with {queues} queues");
        }
    }

    #[test]
    fn the_load_is_measured_with_the_sizes() {
        let first = |load, bytes_per_sec| {
            let chosen = drawn(&web_search(), load, 200_000).best_thresholds(2, bytes_per_sec);
            chosen.unwrap()[0].as_f64() / 1460.0
        };
        // By the model two queues part web search at 1333 packets at a load of 0.8, at 3333 at 0.9
        // (pias/tests.rs); 0.9 of half the rate is what 0.45 of all of it is.
        for (found, packets) in
            [(first(0.8, 1e9), 1333.0), (first(0.9, 1e9), 3333.0), (first(0.45, 0.5e9), 3333.0)]
        {
            assert!((packets / 1.05..packets * 1.05).contains(&found), "{found} instead of {packets}");
        }
        // An estimate beyond what the model knows.
        assert_eq!(first(3.0, 1e9), first(0.95, 1e9));
    }

    #[test]
    fn no_set_of_sizes_is_better() {
        let mut sketch = Sketch::new();
        for size in [1000, 1000, 1000, 1500, 30_000, 30_000, 200_000, 900_000, 5_000_000] {
            sketch.add(Bytes::new(size));
        }
        sketch.pass(0.008);
        let chosen: Vec<f64> =
            sketch.best_thresholds(3, 1e9).unwrap().iter().map(|threshold| threshold.as_f64()).collect();
        let points = [(1e3, 0.0), (1e3, 3.0), (1.5e3, 3.0), (1.5e3, 4.0), (3e4, 4.0), (3e4, 6.0), (2e5, 6.0)];
        let more = [(2e5, 7.0), (9e5, 7.0), (9e5, 8.0), (5e6, 8.0), (5e6, 9.0)];
        let points = points.iter().chain(&more).map(|&(size, flows)| (size, flows / 9.0)).collect();
        let sizes = SizeDistribution::new(points).unwrap();
        let model = Model::new(&sizes, sizes.mean() * 9.0 / 0.008 / 1e9);
        let ends: Vec<f64> = sketch.sizes().map(|(end, _)| end.as_f64()).collect();
        for (i, &first) in ends.iter().enumerate() {
            for &second in &ends[i..] {
                assert!(
                    model.mean(&chosen) <= model.mean(&[first, second]) * (1.0 + 1e-9),
                    "{first} {second}"
                );
            }
        }
    }

    #[test]
    fn most_flows_alike_take_one_threshold_only() {
        // The burst of experiments/awafs/shifting.toml, and large flows that are worth parting.
        let mut sketch = Sketch::new();
        (0..900).for_each(|_| sketch.add(Bytes::new(20_440)));
        for size in (0..100).map(|i| 100_000u64 << (i / 15)) {
            sketch.add(Bytes::new(size));
        }
        sketch.pass(0.1);
        let chosen = sketch.best_thresholds(4, 1e9).unwrap();
        assert_eq!(chosen[0].get(), 20_480);
        assert!(chosen[1] > chosen[0] && chosen[2] > chosen[1], "{chosen:?}");
    }

    #[test]
    fn nothing_seen_chooses_nothing() {
        let mut sketch = Sketch::new();
        sketch.pass(1.0);
        assert_eq!(sketch.best_thresholds(8, 1e9), None);
        sketch.add(Bytes::new(5000));
        sketch.fade(0.5e-3);
        assert_eq!((sketch.sizes().count(), sketch.best_thresholds(8, 1e9)), (0, None));
    }

    #[test]
    fn any_size_has_a_bin() {
        let mut sketch = Sketch::new();
        [0, 1, u64::MAX].into_iter().for_each(|size| sketch.add(Bytes::new(size)));
        assert_eq!(
            sketch.sizes().map(|(end, flows)| (end.get(), flows)).collect::<Vec<_>>(),
            [(288, 2.0), (1 << 34, 1.0)]
        );
        assert!(sketch.best_thresholds(8, 1e9).is_none_or(|thresholds| thresholds.len() == 7));
    }

    proptest! {
        #[test]
        fn bins_are_narrow_and_without_gaps(size in 256..(1u64 << 34)) {
            let (start, end) = (start_of(bin_of(size)), start_of(bin_of(size) + 1));
            prop_assert!(start <= size && size < end && (end - start) * 8 <= start);
        }
    }
}
