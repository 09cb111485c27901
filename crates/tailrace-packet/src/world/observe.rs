//! What is written down of a run besides its flows: queues that are sampled, and what laws report.

use tailrace_core::{
    CongestionLaw, FlowRecord, HostId, PortCounts, PortId, Scheme, SeriesRow, SeriesSink, SeriesSource,
    Slice, Time,
};
use tailrace_fabric::Fabric;

use super::{SAMPLER, World};

/// What is observed besides flows.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Ports whose queues are sampled and whose policies' series are kept.
    pub ports: Vec<PortId>,
    /// How often queues are sampled; never if `None`.
    pub every: Option<Time>,
    /// Hosts whose policies' series are kept.
    pub hosts: Vec<HostId>,
    /// The laws of every n-th flow are traced; none if `None`.
    pub every_flow: Option<u32>,
    /// Slices whose throughput between racks is sampled.
    pub slices: Vec<Slice>,
}

/// What the ports that are watched had done when they were last sampled.
#[derive(Debug)]
pub(super) struct PortMeter {
    at: Time,
    before: Vec<PortCounts>,
    bytes_per_sec: Vec<f64>,
}

impl PortMeter {
    pub(super) fn new(fabric: &Fabric, ports: &[PortId]) -> Self {
        let bytes_per_sec =
            ports.iter().map(|&port| fabric.ports[port as usize].rate.bytes_per_sec()).collect();
        PortMeter { at: Time::ZERO, before: vec![PortCounts::default(); ports.len()], bytes_per_sec }
    }
}

/// What a law calls its estimate of the queue on its flow's way, in bytes.
const QUEUE_ESTIMATE: &str = "queue_estimate_bytes";

impl<S: Scheme> World<S> {
    /// Writes down what a law reports, and beside it the true length of what it may have estimated.
    #[cold]
    pub(super) fn trace(&mut self, flow: u32, slot: usize) {
        let at = self.network.now();
        let reported = self.series.rows.len();
        let mut sink = self.series.at(SeriesSource::Flow(flow), true);
        self.senders[slot].law_mut().trace(at, &mut sink);
        if self.series.rows.len() > reported {
            let FlowRecord { src, dst, .. } = self.flows.record(flow);
            let sender = &self.senders[slot];
            let priority = sender.directive().tags.priority(sender.view().acked.get());
            let (queue, port) = self.network.longest_queue(src, dst, flow, priority);
            let estimate = self.series.rows[reported..].iter().find(|(_, row)| row.metric == QUEUE_ESTIMATE);
            let estimate = estimate.map(|(_, row)| row.value).filter(|estimate| *estimate > 0.0);
            let mut sink = self.series.at(SeriesSource::Flow(flow), true);
            let mut push = |metric, value| sink.push(SeriesRow { at, metric, index: 0, value });
            for (length, longest, error) in [
                (queue as f64, "longest_queue_bytes", "queue_estimate_error"),
                (port as f64, "longest_port_bytes", "port_estimate_error"),
            ] {
                push(longest, length);
                if let Some(estimate) = estimate.filter(|_| length > 0.0) {
                    push(error, (estimate - length).abs() / length);
                }
            }
        }
    }

    /// Writes down the queues of the ports that are watched, and what these have done since the last sample.
    pub(super) fn sample(&mut self) {
        let at = self.network.now();
        let seconds = at.saturating_sub(self.port_meter.at).as_secs_f64();
        self.port_meter.at = at;
        for (place, &port) in self.watch.ports.iter().enumerate() {
            if !self.network.has_port(port) {
                continue;
            }
            let mut sink = self.series.at(SeriesSource::Port(port), true);
            let (bytes, packets, by_queue) = self.network.sample(port);
            let mut row = |metric, index, value| sink.push(SeriesRow { at, metric, index, value });
            row("port_bytes", 0, bytes as f64);
            row("port_packets", 0, packets as f64);
            for (queue, &bytes) in by_queue.iter().enumerate() {
                row("queue_bytes", queue as u16, bytes as f64);
            }
            let now = self.network.counts_of(port);
            let before = std::mem::replace(&mut self.port_meter.before[place], now);
            let could = self.port_meter.bytes_per_sec[place] * seconds;
            row("utilisation", 0, (now.sent.bytes - before.sent.bytes) as f64 / could);
            row("marked_packets", 0, (now.marked - before.marked) as f64);
            row("dropped_packets", 0, (now.dropped.packets - before.dropped.packets) as f64);
        }
        self.sample_slices();
        if let Some(every) = self.watch.every {
            self.network.wake(self.special(SAMPLER), at + every);
        }
    }
}
