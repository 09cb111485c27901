//! What a run leaves behind.

use tailrace_core::{FlowRecord, Ledger, Scheme, TaskRecord};
use tailrace_traffic::Feed;

use super::World;
use super::control::Control;
use crate::Network;
use crate::flows::FlowTable;
use crate::sample::Series;

impl<S: Scheme> World<S> {
    /// Ends the run: what is still in progress is written into its record.
    pub fn into_outcome(mut self) -> Outcome<S> {
        let unfinished: Vec<_> = self.flows.in_progress().collect();
        unfinished.into_iter().for_each(|(id, slot)| self.note(id, slot));
        let updates = self.control.as_ref().map(Control::heard);
        Outcome { flows: self.flows, feed: self.feed, network: self.network, series: self.series, updates }
    }
}

/// What a run leaves behind.
pub struct Outcome<S: Scheme> {
    flows: FlowTable,
    feed: Feed,
    network: Network<S::Port, S::Header>,
    /// Sampled and reported series.
    pub series: Series,
    /// How many updates of the scheme's controller have reached a flow in progress; `None` without a controller.
    pub updates: Option<u64>,
}

impl<S: Scheme> Outcome<S> {
    /// One record per flow that started, in order of number.
    pub fn records(&self) -> impl Iterator<Item = &FlowRecord> {
        self.flows.records()
    }
    /// One record per task that arrived, in order of arrival.
    pub fn task_records(&self) -> &[TaskRecord] {
        self.feed.task_records(self.network.now())
    }
    /// Where every packet went.
    pub fn ledger(&self) -> Ledger {
        self.network.ledger()
    }
    /// The network as it stands.
    pub fn network(&self) -> &Network<S::Port, S::Header> {
        &self.network
    }
}
