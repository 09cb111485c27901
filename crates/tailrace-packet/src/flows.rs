//! The flows of a run: a record for each that ever started, and a slot for each in progress.

use tailrace_core::{FlowId, FlowRecord, FlowRecords};

/// Slot of a flow that is gone, and flow of a slot that is free.
const NONE: u32 = u32::MAX;
/// Set in the slot of a flow whose sender is done, as long as its receiver does not know.
const ENDED: u32 = 1 << 31;

/// All flows by number.
#[derive(Default)]
pub(crate) struct FlowTable {
    records: FlowRecords,
    slots: Vec<u32>,
    /// Which flow is in each slot.
    occupants: Vec<FlowId>,
    free: Vec<u32>,
}

impl FlowTable {
    /// How many flows have started.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Adds a flow in progress; returns its slot, a number that a finished flow may have had before.
    pub(crate) fn start(&mut self, record: FlowRecord) -> u32 {
        self.records.push(record);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.occupants.push(NONE);
            self.occupants.len() as u32 - 1
        });
        self.occupants[slot as usize] = self.slots.len() as FlowId;
        self.slots.push(slot);
        slot
    }

    /// The slot of a flow whose sender is not done.
    #[inline]
    pub(crate) fn slot(&self, flow: FlowId) -> Option<usize> {
        self.slots.get(flow as usize).filter(|&&slot| slot & ENDED == 0).map(|&slot| slot as usize)
    }

    /// The slot of a flow whose receiver is there.
    #[inline]
    pub(crate) fn slot_of_receiver(&self, flow: FlowId) -> Option<usize> {
        self.slots.get(flow as usize).filter(|&&slot| slot != NONE).map(|&slot| (slot & !ENDED) as usize)
    }

    /// The flow's sender is done.
    pub(crate) fn end(&mut self, flow: FlowId) {
        self.slots[flow as usize] |= ENDED;
    }

    /// Frees the slot of a flow, and returns it. Nothing more happens to the flow.
    pub(crate) fn free(&mut self, flow: FlowId) -> usize {
        self.records.close(flow);
        let slot = std::mem::replace(&mut self.slots[flow as usize], NONE) & !ENDED;
        self.occupants[slot as usize] = NONE;
        self.free.push(slot);
        slot as usize
    }

    /// The flows whose senders are not done, with their slots.
    pub(crate) fn in_progress(&self) -> impl Iterator<Item = (FlowId, usize)> {
        let occupied = self.occupants.iter().enumerate();
        occupied
            .filter(|(_, flow)| **flow != NONE && self.slot(**flow).is_some())
            .map(|(slot, &flow)| (flow, slot))
    }

    /// How many flows have both or one of their ends.
    pub(crate) fn active(&self) -> usize {
        self.occupants.len() - self.free.len()
    }

    #[inline]
    pub(crate) fn record(&self, flow: FlowId) -> FlowRecord {
        self.records.of(flow)
    }

    pub(crate) fn record_mut(&mut self, flow: FlowId) -> &mut FlowRecord {
        self.records.of_mut(flow)
    }

    /// All records.
    pub(crate) fn into_records(self) -> FlowRecords {
        self.records
    }
}
