//! What slices get of the links between racks, and how fair that is.

use tailrace_core::{FlowRecord, HostId, Scheme, SeriesRow, SeriesSink, SeriesSource, Slice, Time};

use super::World;

/// Counts what slices deliver between racks.
pub(super) struct SliceMeter {
    slices: Vec<Slice>,
    /// The rack of each host.
    racks: Vec<u16>,
    /// Payload of flows that have ended, by slice.
    ended: Vec<u64>,
    /// Payload of all flows at the last sample, by slice.
    before: Vec<u64>,
    /// When the last sample was taken.
    at: Time,
}

impl SliceMeter {
    pub(super) fn new(slices: &[Slice], racks: &[u16]) -> Self {
        let nothing = vec![0; slices.len()];
        SliceMeter {
            slices: slices.to_vec(),
            racks: racks.to_vec(),
            ended: nothing.clone(),
            before: nothing,
            at: Time::ZERO,
        }
    }

    /// The place of a flow's slice, if the flow is of one and between racks.
    fn place(&self, flow: &FlowRecord) -> Option<usize> {
        let rack = |host: HostId| self.racks[host as usize];
        let place = usize::from(flow.slice).checked_sub(1).filter(|place| *place < self.slices.len());
        place.filter(|_| rack(flow.src) != rack(flow.dst))
    }

    /// A flow has ended after so many bytes.
    pub(super) fn ended(&mut self, flow: &FlowRecord, bytes: u64) {
        if let Some(place) = self.place(flow) {
            self.ended[place] += bytes;
        }
    }
}

/// Jain's index of fairness: 1 if all are equal, 1/n if one has it all (Jain, Chiu, Hawe 1984).
fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    sum * sum / (values.len() as f64 * squares)
}

impl<S: Scheme> World<S> {
    /// Writes down what each slice has got since the last sample, all together, and Jain's index of that over
    /// weights.
    pub(super) fn sample_slices(&mut self) {
        let Some(meter) = &mut self.meter else { return };
        let at = self.network.now();
        let mut bytes = meter.ended.clone();
        for (flow, slot) in self.flows.in_progress() {
            if let Some(place) = meter.place(&self.flows.record(flow)) {
                bytes[place] += self.senders[slot].view().delivered.get();
            }
        }
        // In progress, a last and shorter segment counts as a whole one.
        let seconds = at.saturating_sub(meter.at).as_secs_f64();
        let rates: Vec<f64> = bytes
            .iter()
            .zip(&meter.before)
            .map(|(now, before)| now.saturating_sub(*before) as f64 * 8.0 / seconds)
            .collect();
        let shares: Vec<f64> =
            rates.iter().zip(&meter.slices).map(|(rate, slice)| rate / slice.weight).collect();
        (meter.before, meter.at) = (bytes, at);
        let mut push = |place, metric, value| {
            self.series.at(place, true).push(SeriesRow { at, metric, index: 0, value });
        };
        for (slice, (rate, share)) in (1..).zip(rates.iter().zip(&shares)) {
            push(SeriesSource::Slice(slice), "throughput_bps", *rate);
            push(SeriesSource::Slice(slice), "normalised_throughput_bps", *share);
        }
        push(SeriesSource::Slices, "throughput_bps", rates.iter().sum());
        if shares.iter().any(|share| *share > 0.0) {
            push(SeriesSource::Slices, "jain_index", jain(&shares));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_for_equals_and_one_over_n_for_one() {
        assert!((jain(&[3.0, 3.0, 3.0]) - 1.0).abs() < 1e-12);
        assert!((jain(&[7.0, 0.0]) - 0.5).abs() < 1e-12);
        assert!((jain(&[1.0, 2.0]) - 0.9).abs() < 1e-12);
    }
}
