//! How a slot of Uranus' controller grows with the flows in progress, and what it costs when one more comes.

use cpu_time::ThreadTime;
use serde_json::{Value, json};
use tailrace_core::random::Stream;
use tailrace_core::{Bytes, Controller, Facts, FlowId, FlowInfo, Objective, Rate, Slice, Time, WeightUpdate};
use tailrace_schemes::uranus::{ControlParams, PsN, ShareParams, SliceController};

use crate::{Report, median};

/// Flows in progress.
const FLOWS: [u32; 4] = [100, 1_000, 10_000, 100_000];
const SLICES: u16 = 100;
const RACKS: u16 = 500;
/// A size has so many slots, or as many as there are until this many flows were looked at.
const SLOTS: [u32; 2] = [15, 200];
const LOOKED_AT: u32 = 1_000_000;

/// What a controller costs with so many flows.
struct Row {
    flows: u32,
    /// CPU seconds of a slot.
    slot: f64,
    /// CPU seconds of a flow that comes or goes between slots.
    change: f64,
}

/// A table with a row for each number of flows.
pub fn measure() -> Report {
    let rows = FLOWS.map(Row::measure);
    let mut text = format!(
        "a slot of Uranus' controller: {SLICES} slices, {RACKS} racks, one core; growth against n log n from {} flows\n\n\
         | flows | slot | growth | of it for each flow | a flow comes or goes |\n|---:|---:|---:|---:|---:|\n",
        FLOWS[0],
    );
    let report: Vec<Value> = rows.iter().map(|row| row.json(&rows[0])).collect();
    rows.iter().for_each(|row| text += &row.line(&rows[0]));
    (json!({ "slices": SLICES, "racks": RACKS, "by_flows": report }), text)
}

impl Row {
    fn measure(flows: u32) -> Self {
        let mut setup = Setup::new(flows);
        Row { flows, slot: setup.slot(), change: setup.change() }
    }

    /// How many times the first row's slot this one is, for its n log n.
    fn growth(&self, first: &Row) -> f64 {
        let work = |row: &Row| f64::from(row.flows) * f64::from(row.flows).ln();
        self.slot / first.slot * work(first) / work(self)
    }

    fn json(&self, first: &Row) -> Value {
        json!({
            "flows": self.flows,
            "slot_seconds": self.slot,
            "slot_growth_against_n_log_n": self.growth(first),
            "change_seconds": self.change,
        })
    }

    fn line(&self, first: &Row) -> String {
        format!(
            "| {} | {:.3} ms | {:.2} | {:.0} ns | {:.4} ms |\n",
            self.flows,
            self.slot * 1e3,
            self.growth(first),
            self.slot * 1e9 / f64::from(self.flows),
            self.change * 1e3,
        )
    }
}

/// The middle CPU time of several slots or changes; the first, in which memory is taken, does not count.
fn typical(flows: u32, mut step: impl FnMut()) -> f64 {
    step();
    let time = |_| {
        let start = ThreadTime::now();
        step();
        start.elapsed().as_secs_f64()
    };
    median((0..(LOOKED_AT / flows).clamp(SLOTS[0], SLOTS[1])).map(time).collect())
}

/// A controller with flows between random racks.
struct Setup {
    controller: SliceController<PsN>,
    stream: Stream,
    /// Bytes that each flow delivers in a slot.
    rates: Vec<u64>,
    slots: u64,
    updates: Vec<WeightUpdate>,
}

impl Setup {
    fn new(flows: u32) -> Self {
        let facts = facts();
        let sharing = PsN::new(ShareParams::default(), &facts);
        let mut stream = Stream::new(1, "allocator", u64::from(flows));
        let rates = (0..flows).map(|_| u64::from(stream.below(100_000))).collect();
        let controller = SliceController::new(ControlParams::default(), sharing, &facts);
        let mut setup = Setup { controller, stream, rates, slots: 0, updates: Vec::new() };
        for id in 0..flows {
            let flow = setup.flow(id);
            setup.controller.on_flow_start(Time::ZERO, &flow);
        }
        setup
    }

    /// A flow of a random slice between two random racks; a rack has one host.
    fn flow(&mut self, id: FlowId) -> FlowInfo {
        let mut below = |n: u16| self.stream.below(u32::from(n)) as u16;
        let (slice, src, step) = (below(SLICES), below(RACKS), 1 + below(RACKS - 1));
        let size = Some(Bytes::new(100_000 + u64::from(self.stream.below(100_000_000))));
        let deadline = Some(Time::from_ms(100 + u64::from(self.stream.below(10_000))));
        FlowInfo {
            id,
            src: src.into(),
            dst: ((src + step) % RACKS).into(),
            size,
            start: Time::ZERO,
            deadline,
            slice: slice + 1,
            task: 0,
        }
    }

    /// All that happens in a slot: flows' progress is read, what they need is found, weights are shared out, and
    /// updates written. No flow comes or goes.
    fn slot(&mut self) -> f64 {
        typical(self.rates.len() as u32, || {
            self.slots += 1;
            self.wake();
        })
    }

    /// A flow comes and goes again, between slots.
    fn change(&mut self) -> f64 {
        let flows = self.rates.len() as u32;
        let both = typical(flows, || {
            let flow = self.flow(flows);
            self.controller.on_flow_start(self.now(), &flow);
            self.wake();
            self.controller.on_flow_end(self.now(), flow.id);
            self.wake();
        });
        both / 2.0
    }

    fn now(&self) -> Time {
        Time::from_ps(ControlParams::default().slot.as_ps() * self.slots)
    }

    fn wake(&mut self) {
        self.updates.clear();
        let (rates, slots) = (&self.rates, self.slots);
        let delivered = |flow| Bytes::new(rates[flow as usize] * slots);
        self.controller.on_wake(self.now(), &delivered, &mut self.updates);
    }
}

/// Racks of one host each, and slices of which every other has deadlines.
fn facts() -> Facts {
    let slice = |number: u16| Slice {
        weight: f64::from(1 + number % 4),
        objective: if number.is_multiple_of(2) { Objective::Deadline } else { Objective::Completion },
    };
    Facts {
        slices: (0..SLICES).map(slice).collect(),
        racks: (0..RACKS).collect(),
        ..Facts::new(RACKS.into(), Rate::from_gbps(10), Time::from_us(85), 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand times the flows are 2,500 times the work of n log n, and a million times that of n². The bound
    /// leaves room for memory outside the caches and for a busy machine.
    #[test]
    fn a_slot_grows_no_worse_than_n_log_n() {
        let [first, last] = [FLOWS[0], FLOWS[3]].map(Row::measure);
        assert!(last.growth(&first) < 20.0, "{}", last.growth(&first));
    }
}
