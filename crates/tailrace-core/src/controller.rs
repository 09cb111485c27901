//! What decides for the whole network: one value per run, beside the data path.

use crate::{Bytes, FlowId, FlowInfo, Time, Weight};

/// A new weight for a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightUpdate {
    /// Which flow.
    pub flow: FlowId,
    /// Its weight from now on.
    pub weight: Weight,
}

/// A controller: hears of flows, looks at their progress now and then, and gives them weights.
pub trait Controller {
    /// How long its updates take to the hosts.
    fn delay(&self) -> Time;
    /// A flow has started.
    fn on_flow_start(&mut self, now: Time, flow: &FlowInfo);
    /// A flow has ended.
    fn on_flow_end(&mut self, now: Time, flow: FlowId);
    /// When it wants to be woken next; [`Time::MAX`] for never.
    fn next_wake(&self) -> Time;
    /// The time asked for has come. `delivered` tells the payload of a flow in progress that has arrived; the
    /// weights to be sent out go to `updates`.
    fn on_wake(&mut self, now: Time, delivered: &dyn Fn(FlowId) -> Bytes, updates: &mut Vec<WeightUpdate>);
}
