//! How a slot of Uranus' controller grows with the flows in progress: sharing out weights alone, and all that
//! the controller does.

use cpu_time::ThreadTime;
use serde_json::{Value, json};
use tailrace_core::random::Stream;
use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, Controller, Facts, FlowInfo, Objective, Rate, Slice, Time};
use tailrace_schemes::uranus::{Allocator, ControlParams, Demand, Norm, PsN, ShareParams, SliceController};

use super::{Report, median};

/// Flows in progress.
const FLOWS: [u32; 4] = [100, 1_000, 10_000, 100_000];
const SLICES: u16 = 100;
const RACKS: u16 = 500;
/// A size has so many slots, or as many as there are until this many flows were looked at.
const SLOTS: [u32; 2] = [15, 200];
const LOOKED_AT: u32 = 1_000_000;

/// What a slot costs with so many flows.
struct Row {
    flows: u32,
    /// CPU seconds of the allocator.
    allocation: f64,
    /// CPU seconds of the controller, the allocator's included.
    slot: f64,
}

/// A table with a row for each number of flows.
pub fn measure() -> Report {
    let rows = FLOWS.map(|flows| Row { flows, allocation: allocation(flows), slot: slot(flows) });
    let mut text = format!(
        "a slot of Uranus' controller: {SLICES} slices, {RACKS} racks, one core; growth against n log n from {} flows\n\n\
         | flows | allocation | growth | whole slot | growth | of it for each flow |\n|---:|---:|---:|---:|---:|---:|\n",
        FLOWS[0],
    );
    let report: Vec<Value> = rows.iter().map(|row| row.json(&rows[0])).collect();
    rows.iter().for_each(|row| text += &row.line(&rows[0]));
    (json!({ "slices": SLICES, "racks": RACKS, "by_flows": report }), text)
}

impl Row {
    /// How many times the first row's cost this one has, for its n log n.
    fn growth(&self, first: &Row, cost: impl Fn(&Row) -> f64) -> f64 {
        let work = |row: &Row| f64::from(row.flows) * f64::from(row.flows).ln();
        cost(self) / cost(first) * work(first) / work(self)
    }

    fn json(&self, first: &Row) -> Value {
        json!({
            "flows": self.flows,
            "allocation_seconds": self.allocation,
            "allocation_growth_against_n_log_n": self.growth(first, |row| row.allocation),
            "slot_seconds": self.slot,
            "slot_growth_against_n_log_n": self.growth(first, |row| row.slot),
        })
    }

    fn line(&self, first: &Row) -> String {
        format!(
            "| {} | {:.3} ms | {:.2} | {:.3} ms | {:.2} | {:.0} ns |\n",
            self.flows,
            self.allocation * 1e3,
            self.growth(first, |row| row.allocation),
            self.slot * 1e3,
            self.growth(first, |row| row.slot),
            self.slot * 1e9 / f64::from(self.flows),
        )
    }
}

/// The middle CPU time of several slots; the first, in which memory is taken, does not count.
fn typical(flows: u32, mut slot: impl FnMut(u32)) -> f64 {
    slot(0);
    let slots = (LOOKED_AT / flows).clamp(SLOTS[0], SLOTS[1]);
    let time = |number| {
        let start = ThreadTime::now();
        slot(number);
        start.elapsed().as_secs_f64()
    };
    median((1..=slots).map(time).collect())
}

/// A slice and two racks.
fn ends(stream: &mut Stream) -> (u16, u16, u16) {
    let mut below = |n: u16| stream.below(u32::from(n)) as u16;
    let (slice, from, step) = (below(SLICES), below(RACKS), 1 + below(RACKS - 1));
    (slice, from, (from + step) % RACKS)
}

/// Sharing out weights to random flows.
fn allocation(flows: u32) -> f64 {
    let mut stream = Stream::new(1, "allocator", u64::from(flows));
    let mut demand = || {
        let (slice, from, to) = ends(&mut stream);
        Demand { slice: slice.into(), from, to, metric: 1.0 - stream.unit(), memory: 1.0 }
    };
    let demands: Vec<Demand> = (0..flows).map(|_| demand()).collect();
    let (mut allocator, mut weights) = (Allocator::default(), Vec::new());
    let slices = vec![1.0; usize::from(SLICES)];
    typical(flows, |_| allocator.allocate(&slices, &demands, Norm::Rackflow, &mut weights))
}

/// All that happens in a slot: flows' progress is read, what they need is found, weights are shared out, and
/// updates written. No flow comes or goes.
fn slot(flows: u32) -> f64 {
    let mut stream = Stream::new(2, "allocator", u64::from(flows));
    let params = ControlParams::default();
    let facts = facts();
    let mut controller = SliceController::new(params, PsN::new(ShareParams::default(), &facts), &facts);
    for id in 0..flows {
        let (slice, src, dst) = ends(&mut stream);
        let size = Some(Bytes::new(100_000 + u64::from(stream.below(100_000_000))));
        let deadline = Some(Time::from_ms(100 + u64::from(stream.below(10_000))));
        // A rack has one host.
        let flow = FlowInfo { id, src, dst, size, start: Time::ZERO, deadline, slice: slice + 1, task: 0 };
        controller.on_flow_start(Time::ZERO, &flow);
    }
    let rates: Vec<u64> = (0..flows).map(|_| u64::from(stream.below(100_000))).collect();
    let mut updates = Vec::new();
    typical(flows, |number| {
        updates.clear();
        let delivered = |flow| Bytes::new(rates[flow as usize] * u64::from(number));
        let now = Time::from_ps(params.slot.as_ps() * u64::from(number + 1));
        controller.on_wake(now, &delivered, &mut updates);
    })
}

/// Racks of one host each, and slices of which every other has deadlines.
fn facts() -> Facts {
    let slice = |number: u16| Slice {
        weight: f64::from(1 + number % 4),
        objective: if number.is_multiple_of(2) { Objective::Deadline } else { Objective::Completion },
    };
    Facts {
        hosts: RACKS.into(),
        host_rate: Rate::from_gbps(10),
        base_rtt: Time::from_us(85),
        transport: TransportParams::default(),
        traffic: None,
        slices: (0..SLICES).map(slice).collect(),
        racks: (0..RACKS).collect(),
        published_sizes: |_| None,
        horizon: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand times the flows are 2,500 times the work of n log n, and a million times that of n². The bound
    /// leaves room for memory outside the caches and for a busy machine.
    #[test]
    fn a_slot_grows_no_worse_than_n_log_n() {
        let (first, last) = (FLOWS[0], FLOWS[3]);
        for cost in [allocation, slot] {
            let row = |flows| Row { flows, allocation: cost(flows), slot: 0.0 };
            let growth = row(last).growth(&row(first), |row| row.allocation);
            assert!(growth < 20.0, "{growth}");
        }
    }
}
