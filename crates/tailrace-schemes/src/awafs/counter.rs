//! What flows have sent through a port that counts it itself: where packets do not say it, or are not believed
//! (§4.2.1: "each switch would have to employ a timer for each flow in order to estimate completed flows").

use tailrace_core::{Bytes, FlowId, Time};

/// Places that a flow may take, counted from the one that its number gives.
const PROBES: usize = 8;
const FIRST_PLACES: usize = 1024;

/// Flows that were heard of lately, in a table that grows between adjustments only.
#[derive(Clone, Debug)]
pub struct Counter {
    silence: Time,
    places: Vec<Option<Counted>>,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    flow: FlowId,
    bytes: u64,
    last: Time,
}

impl Counter {
    /// A flow that is silent for so long has completed.
    pub fn new(silence: Time) -> Self {
        Counter { silence, places: vec![None; FIRST_PLACES] }
    }

    /// The bytes that the flow has sent before a packet with this `payload`. A flow for which there is no place
    /// counts as new.
    #[inline]
    pub fn count(&mut self, now: Time, flow: FlowId, payload: u64) -> u64 {
        let mask = self.places.len() - 1;
        let mut free = None;
        for probe in 0..PROBES {
            let place = (flow as usize + probe) & mask;
            match &mut self.places[place] {
                Some(counted) if counted.flow == flow => {
                    let before = counted.bytes;
                    *counted = Counted { flow, bytes: before + payload, last: now };
                    return before;
                }
                Some(_) => {}
                None => free = free.or(Some(place)),
            }
        }
        if let Some(place) = free {
            self.places[place] = Some(Counted { flow, bytes: payload, last: now });
        }
        0
    }

    /// Forgets flows that have completed, each with its size, and makes room.
    pub fn sweep(&mut self, now: Time, mut completed: impl FnMut(Bytes)) {
        for place in &mut self.places {
            if let Some(counted) = place.filter(|counted| now.saturating_sub(counted.last) >= self.silence) {
                completed(Bytes::new(counted.bytes));
                *place = None;
            }
        }
        let flows: Vec<Counted> = self.places.iter().flatten().copied().collect();
        if flows.len() * 4 > self.places.len() {
            let places = self.places.len() * 4;
            *self = Counter { places: vec![None; places], ..*self };
            for counted in flows {
                let mut near = (0..PROBES).map(|probe| (counted.flow as usize + probe) & (places - 1));
                if let Some(place) = near.find(|place| self.places[*place].is_none()) {
                    self.places[place] = Some(counted);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENCE: Time = Time::from_ms(10);

    fn swept(counter: &mut Counter, ms: u64) -> Vec<u64> {
        let mut sizes = Vec::new();
        counter.sweep(Time::from_ms(ms), |size| sizes.push(size.get()));
        sizes
    }

    #[test]
    fn a_flow_that_is_silent_has_completed_and_starts_anew() {
        let mut counter = Counter::new(SILENCE);
        let sent: Vec<u64> = (0..3).map(|ms| counter.count(Time::from_ms(ms), 7, 1460)).collect();
        assert_eq!(sent, [0, 1460, 2920]);
        assert_eq!(counter.count(Time::from_ms(8), 8, 100), 0);
        assert!(swept(&mut counter, 11).is_empty());
        assert_eq!(swept(&mut counter, 12), [4380]);
        assert_eq!(counter.count(Time::from_ms(12), 7, 1460), 0);
        assert_eq!(swept(&mut counter, 18), [100]);
    }

    #[test]
    fn the_table_grows_and_forgets_nobody() {
        let mut counter = Counter::new(SILENCE);
        let count = |counter: &mut Counter| -> Vec<u64> {
            (0..300).map(|flow| counter.count(Time::ZERO, flow * 7, u64::from(flow))).collect()
        };
        let sent = |times: u64| -> Vec<u64> { (0..300).map(|flow| flow * times).collect() };
        assert_eq!(count(&mut counter), sent(0));
        assert!(swept(&mut counter, 9).is_empty());
        assert_eq!(counter.places.len(), 4 * FIRST_PLACES);
        assert_eq!(count(&mut counter), sent(1));
        assert!(swept(&mut counter, 9).is_empty());
        assert_eq!((count(&mut counter), counter.places.len()), (sent(2), 4 * FIRST_PLACES));
    }

    #[test]
    fn a_flow_without_a_place_counts_as_new() {
        let mut counter = Counter::new(SILENCE);
        // All in the same places.
        let flows = (0..=PROBES as u32).map(|i| i * FIRST_PLACES as u32);
        flows.clone().for_each(|flow| assert_eq!(counter.count(Time::ZERO, flow, 5), 0));
        let before: Vec<u64> = flows.map(|flow| counter.count(Time::ZERO, flow, 5)).collect();
        assert_eq!(before, [5, 5, 5, 5, 5, 5, 5, 5, 0]);
    }
}
