//! How late things happened: a histogram of what lies between when they were due and when they were done.

use crate::Time;

/// Bins a factor of two.
const PER_OCTAVE: u32 = 8;
/// Nanoseconds from 1 to 2^40, some 18 minutes.
const BINS: usize = 40 * PER_OCTAVE as usize;

/// A [`Lag`] in short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Things that were late, be it by nothing.
    pub count: u64,
    /// Half of them were less late than this.
    pub median: Time,
    /// One in a hundred was later than this.
    pub p99: Time,
    /// The latest.
    pub worst: Time,
}

/// Counts how late things were, to within a twelfth.
#[derive(Clone, Debug)]
pub struct Lag {
    bins: Vec<u64>,
    count: u64,
    worst: Time,
}

impl Default for Lag {
    fn default() -> Self {
        Lag { bins: vec![0; BINS], count: 0, worst: Time::ZERO }
    }
}

impl Lag {
    /// Something was so late.
    #[inline]
    pub fn note(&mut self, late: Time) {
        self.bins[bin(late.as_ns())] += 1;
        self.count += 1;
        self.worst = self.worst.max(late);
    }

    /// How many things there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The lateness that a part `q` of all things did not exceed; zero if there was nothing.
    pub fn quantile(&self, q: f64) -> Time {
        let rank = (q * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (number, &count) in self.bins.iter().enumerate() {
            seen += count;
            if count > 0 && seen >= rank {
                return upper(number).min(self.worst);
            }
        }
        self.worst
    }

    /// How many things were up to so late and later than the one before says, in order; without those that are 0.
    pub fn bins(&self) -> impl Iterator<Item = (Time, u64)> {
        let bins = self.bins.iter().enumerate().filter(|(_, count)| **count > 0);
        bins.map(|(number, &count)| (upper(number), count))
    }

    /// The same in short, for results.
    pub fn summary(&self) -> Lateness {
        Lateness {
            count: self.count,
            median: self.quantile(0.5),
            p99: self.quantile(0.99),
            worst: self.worst,
        }
    }
}

/// Eight bins an octave, the first eight for single nanoseconds.
fn bin(ns: u64) -> usize {
    let octave = ns.max(1).ilog2();
    let within = if octave >= 3 { ns >> (octave - 3) & 7 } else { ns << (3 - octave) & 7 };
    ((octave * PER_OCTAVE) as usize + within as usize).min(BINS - 1)
}

/// The largest lateness of a bin.
fn upper(bin: usize) -> Time {
    let (octave, within) = (bin as u32 / PER_OCTAVE, bin as u64 % u64::from(PER_OCTAVE));
    Time::from_ns((((8 + within + 1) << octave) >> 3).max(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_list_to_an_eighth(
            mut list in prop::collection::vec(0u64..50_000_000, 1..200),
            q in 0.01f64..1.0,
        ) {
            let mut lag = Lag::default();
            list.iter().for_each(|&ns| lag.note(Time::from_ns(ns)));
            list.sort_unstable();
            let rank = ((q * list.len() as f64).ceil() as usize).max(1);
            let (exact, told) = (list[rank - 1], lag.quantile(q).as_ns());
            prop_assert!(told >= exact && told as f64 <= exact as f64 * 1.125 + 1.0, "{exact} {told}");
            prop_assert_eq!(lag.summary().worst.as_ns(), list[list.len() - 1]);
            let up_to = |limit: Time| list.iter().filter(|&&ns| ns < limit.as_ns()).count() as u64;
            let mut seen = 0;
            for (limit, count) in lag.bins() {
                seen += count;
                prop_assert_eq!(seen, up_to(limit), "{}", limit);
            }
            prop_assert_eq!(seen, lag.count());
        }
    }
}
