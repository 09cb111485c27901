//! A port with one to eight FIFO queues: the common shape of a commodity switch port.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::{
    Bytes, Header, MAX_PRIORITIES, MarkedLength, Packet, ParamError, PlannedMarking, PlannedQueue, PortFacts,
    PortPolicy, QueueLength, Rate, Reason, Scales, Service, SwitchPlan, Time,
};

use crate::fifos::Fifos;
use crate::{Marking, MarkingScope, MarkingThreshold, Scheduler, SchedulerKind};

/// The largest weight of a port over its least: quanta stay far below 32 bits.
const MAX_WEIGHT_RATIO: f64 = 1e5;

/// How the ports of a fabric queue and mark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PortParams {
    /// Number of queues, 1 to 8; a packet's priority tag chooses its queue, the last one takes all above.
    pub queues: u8,
    /// Which queue sends next.
    pub scheduler: SchedulerKind,
    /// Weights of the queues for `drr` and `wfq`; 1 where missing.
    pub weights: Vec<f64>,
    /// Packets are marked when the queue is longer than this, themselves included.
    pub marking_threshold: MarkingThreshold,
    /// Which queue is compared with the threshold.
    pub marking: MarkingScope,
}

impl Default for PortParams {
    fn default() -> Self {
        PortParams {
            queues: 8,
            scheduler: SchedulerKind::Strict,
            weights: Vec::new(),
            marking_threshold: QueueLength::Packets(65).into(),
            marking: MarkingScope::Port,
        }
    }
}

impl PortParams {
    /// Whether queues go before one another: at flow level there is no other way of sharing between them.
    pub fn is_strict(&self) -> bool {
        self.scheduler == SchedulerKind::Strict || self.queues == 1
    }

    /// Checks the fields against one another.
    pub fn check(&self) -> Result<(), ParamError> {
        if !(1..=MAX_PRIORITIES as u8).contains(&self.queues) {
            let message = format!("{} queues: a port has 1 to {MAX_PRIORITIES}", self.queues);
            return Err(ParamError::new("queues", message));
        }
        if self.weights.iter().any(|w| !(w.is_finite() && *w > 0.0)) {
            return Err(ParamError::new("weights", "every weight must be a number above 0"));
        }
        if self.weights.len() > usize::from(self.queues) {
            let message = format!("{} weights for {} queues", self.weights.len(), self.queues);
            return Err(ParamError::new("weights", message));
        }
        let missing = (self.weights.len() < usize::from(self.queues)).then_some(1.0);
        let weights = || self.weights.iter().copied().chain(missing);
        let (least, most) = (weights().fold(f64::MAX, f64::min), weights().fold(0.0, f64::max));
        if most > MAX_WEIGHT_RATIO * least {
            let message = format!("{most} is more than {MAX_WEIGHT_RATIO} times {least}");
            return Err(ParamError::new("weights", message));
        }
        self.marking_threshold.check()
    }

    /// The same for a scheme whose hosts tag nothing.
    pub fn check_untagged(&self) -> Result<(), ParamError> {
        if self.queues > 1 {
            let message = format!(
                "is {}, but must be 1: hosts tag no packet here, so all would be in the first queue",
                self.queues
            );
            return Err(ParamError::new("queues", message));
        }
        self.check()
    }

    /// One queue, and the defaults otherwise.
    pub fn one_queue() -> Self {
        PortParams { queues: 1, ..PortParams::default() }
    }

    /// The same port as a switch would be configured, where hosts tag nothing: all is in the first queue.
    pub fn untagged_plan(&self, link: Rate) -> SwitchPlan {
        self.switch_plan(link, |queue| if queue == 0 { "everything" } else { "nothing" }.to_owned())
    }

    /// The same port as a switch would be configured; `holds` tells which packets a queue is for.
    pub fn switch_plan(&self, link: Rate, holds: impl Fn(usize) -> String) -> SwitchPlan {
        let length = match self.marking {
            MarkingScope::Port => Some(MarkedLength::Port),
            MarkingScope::Queue => Some(MarkedLength::Queue),
            MarkingScope::PortExceptFirst => Some(MarkedLength::PortExceptFirst),
            MarkingScope::None => None,
        };
        let above = self.marking_threshold.at(link).bytes();
        SwitchPlan {
            queues: (0..usize::from(self.queues))
                .map(|queue| PlannedQueue::new(queue, holds(queue)))
                .collect(),
            service: match self.scheduler {
                SchedulerKind::Strict => Service::Strict,
                SchedulerKind::Drr | SchedulerKind::Wfq => Service::Weighted,
            },
            marking: length
                .map(|length| PlannedMarking::new(above, length, self.marking_threshold.given_for(link))),
        }
    }
}

/// One to eight FIFO queues, a scheduler, and step marking. Tail drop on the port's whole buffer: what
/// does not fit is dropped whatever its priority, as commodity switches do.
///
/// A length is what its packets count in the port's unit; bytes are those on the wire. In the order in which a packet asks,
/// so that most touch the first lines of memory only.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct MultiQueue<H = ()> {
    occupied: u8,
    last: u8,
    scales: Scales,
    length: u64,
    /// A packet that counts no more than this passes the empty port as it is: nothing marks it, and the scheduler
    /// keeps no account of it.
    plain: u64,
    scheduler: Scheduler,
    marking: Marking,
    queues: Fifos<H>,
    marked: u64,
    /// Kept where a queue's own length decides on marks.
    queue_length: [u64; MAX_PRIORITIES],
}

impl<H> MultiQueue<H> {
    /// A port as `facts` has it; `params` must have passed [`PortParams::check`].
    pub fn new(params: &PortParams, facts: &PortFacts) -> Self {
        let marking = Marking::new(params.marking_threshold.at(facts.rate), params.marking, facts.marking);
        let scheduler = Scheduler::new(params.scheduler, params.queues, &params.weights);
        let plain = if matches!(scheduler, Scheduler::Strict) { marking.passes() } else { 0 };
        MultiQueue {
            occupied: 0,
            last: params.queues - 1,
            scales: facts.unit.scales(),
            length: 0,
            plain,
            scheduler,
            marking,
            queues: Fifos::new(),
            marked: 0,
            queue_length: [0; MAX_PRIORITIES],
        }
    }
}

impl<H: Header> MultiQueue<H> {
    /// Whether a queue holds anything.
    #[inline]
    pub fn holds(&self, queue: u8) -> bool {
        self.occupied & (1 << queue) != 0
    }

    /// Marks a packet that passes the empty port, if it alone is too much, and tells the scheduler of it.
    fn note_passing(&mut self, packet: &mut Packet<H>, weight: u64) {
        if weight > self.marking.passes() {
            self.marked += u64::from(packet.mark());
        }
        let queue = usize::from(packet.priority.min(self.last));
        self.scheduler.head_changed(queue, packet.bytes);
        self.scheduler.choose(1 << queue, |_| packet.bytes);
        self.scheduler.emptied(queue);
    }

    /// The bytes of some queues, counted: samples ask, and whoever needs them of a queue that is short.
    fn count_bytes(&self, queues: Range<usize>) -> Bytes {
        let packets = queues.flat_map(|queue| self.queues.of(queue));
        Bytes::new(packets.map(|packet| u64::from(packet.bytes)).sum())
    }

    /// A queue grows by `weight`. Returns its own length, if anything asks for that.
    #[inline]
    fn lengthen(&mut self, queue: usize, weight: u64) -> u64 {
        if !self.marking.asks_for_queues() {
            return 0;
        }
        self.queue_length[queue] += weight;
        self.queue_length[queue]
    }

    /// Marks the packet that is about to leave a queue, if that is long.
    #[cold]
    fn mark_leaving(&mut self, queue: usize) {
        if self.marking.leaving(queue, self.length, self.queue_length[queue])
            && let Some(packet) = self.queues.front_mut(queue)
        {
            self.marked += u64::from(packet.mark());
        }
    }
}

impl<H: Header> PortPolicy<H> for MultiQueue<H> {
    #[inline]
    fn enqueue(
        &mut self,
        _now: Time,
        packet: Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) {
        let weight = self.scales.weigh(packet.bytes);
        let length = self.length + weight;
        if length > room.get() {
            return drop(packet, Reason::Buffer);
        }
        let queue = usize::from(packet.priority.min(self.last)) % MAX_PRIORITIES;
        let queue_length = self.lengthen(queue, weight);
        if self.occupied & (1 << queue) == 0 {
            self.occupied |= 1 << queue;
            self.scheduler.head_changed(queue, packet.bytes);
        }
        self.length = length;
        let marks = self.marking.arriving(queue, length, queue_length);
        // In its place, so that it is copied once.
        let packet = self.queues.push(queue, packet);
        if marks {
            self.marked += u64::from(packet.mark());
        }
    }

    #[inline]
    fn ignores(&self, packet: &Packet<H>, room: Bytes) -> bool {
        self.occupied == 0 && self.scales.weigh(packet.bytes) <= self.plain.min(room.get())
    }

    #[inline]
    fn pass(
        &mut self,
        _now: Time,
        packet: &mut Packet<H>,
        room: Bytes,
        drop: &mut impl FnMut(Packet<H>, Reason),
    ) -> bool {
        debug_assert_eq!(self.occupied, 0, "only an empty port can be passed");
        let weight = self.scales.weigh(packet.bytes);
        if weight > room.get() {
            drop(*packet, Reason::Buffer);
            return false;
        }
        if weight > self.plain {
            self.note_passing(packet, weight);
        }
        true
    }

    // Always: called, it would copy each packet twice, and it is just beyond what the compiler inlines by itself.
    #[inline(always)]
    fn dequeue(&mut self, _now: Time) -> Option<Packet<H>> {
        if self.occupied == 0 {
            return None;
        }
        let queues = &self.queues;
        let head = |queue: usize| queues.front(queue).map_or(0, |packet| packet.bytes);
        let queue = self.scheduler.choose(self.occupied, head) % MAX_PRIORITIES;
        if self.marking.at_dequeue() {
            self.mark_leaving(queue);
        }
        let packet = self.queues.pop(queue)?;
        let weight = self.scales.weigh(packet.bytes);
        self.length -= weight;
        if self.marking.asks_for_queues() {
            self.queue_length[queue] -= weight;
        }
        match self.queues.front(queue) {
            Some(next) => self.scheduler.head_changed(queue, next.bytes),
            None => {
                self.occupied &= !(1 << queue);
                self.scheduler.emptied(queue);
            }
        }
        Some(packet)
    }

    #[inline]
    fn backlog(&self) -> Bytes {
        self.scales.bytes_in(self.length).unwrap_or_else(|| self.count_bytes(0..MAX_PRIORITIES))
    }

    fn backlog_packets(&self) -> usize {
        self.queues.held()
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    fn marked(&self) -> u64 {
        self.marked
    }

    #[inline]
    fn backlog_of(&self, priority: u8) -> Bytes {
        let queue = usize::from(priority);
        if queue < MAX_PRIORITIES { self.count_bytes(queue..queue + 1) } else { Bytes::ZERO }
    }
}
