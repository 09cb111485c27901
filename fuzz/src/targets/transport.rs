//! Sender and receiver over a channel that loses, repeats and reorders as the input says, and under packets
//! of a stranger.

use arbitrary::{Arbitrary, Unstructured};
use tailrace_core::transport::{LossDetection, RtoMode, TransportParams};
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Directive, Ecn, FlowInfo, FlowView, Loss, Packet, PacketKind,
    Rate, TagTable, Time,
};
use tailrace_transport::{Receiver, Sender};

use super::{Outcome, magnitude};

/// Keeps a fixed window and counts what it is told.
struct Counting {
    window: Bytes,
    pacing: Option<Rate>,
    acked: u64,
}

impl CongestionLaw for Counting {
    fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
        assert!(ack.acked > Bytes::ZERO && ack.marked <= ack.acked && flow.acked <= flow.sent);
        self.acked += ack.acked.get();
    }
    fn on_loss(&mut self, _: Time, _: Loss, flow: &FlowView) {
        assert!(flow.acked <= flow.sent);
    }
    fn allowance(&self) -> Allowance {
        Allowance { window: self.window, pacing: self.pacing }
    }
}

#[derive(Arbitrary, Debug)]
enum Operation {
    /// The sender sends what it may, up to so many packets.
    Send(u8),
    /// One of the packets on their way arrives, and stays under way too if `again`.
    Deliver {
        which: u8,
        again: bool,
        mark: bool,
    },
    Lose(u8),
    /// Time passes, up to the next timer.
    Wait(u16),
    /// A packet that no endpoint has sent arrives at one of them.
    Stranger {
        kind: u8,
        seq: u32,
        start: u32,
        end: u32,
        sent: u64,
    },
}

#[derive(Arbitrary, Debug)]
struct Input {
    size: u32,
    window: u8,
    max_window: u8,
    ack_every: u8,
    paced: bool,
    timeout_only: bool,
    fixed_rto: bool,
    cell: u8,
    operations: Vec<Operation>,
}

struct Pair {
    now: Time,
    sender: Sender<Counting, ()>,
    receiver: Receiver<()>,
    under_way: Vec<Packet>,
    size: u64,
    /// Whether all packets came from the endpoints.
    honest: bool,
}

impl Pair {
    fn new(input: &Input) -> Self {
        let size = u64::from(input.size % 300_000) + 1;
        let params = TransportParams {
            max_window: u32::from(input.max_window) + 1,
            ack_every: u32::from(input.ack_every % 4) + 1,
            rto: if input.fixed_rto { RtoMode::Fixed } else { RtoMode::Standard },
            loss_detection: if input.timeout_only {
                LossDetection::TimeoutOnly
            } else {
                LossDetection::DuplicateAcks
            },
            ..TransportParams::default()
        };
        let law = Counting {
            window: Bytes::new(u64::from(input.window) * u64::from(params.mss)),
            pacing: input.paced.then_some(Rate::from_gbps(1)),
            acked: 0,
        };
        let info = FlowInfo {
            id: 0,
            src: 0,
            dst: 1,
            size: None,
            start: Time::ZERO,
            deadline: None,
            slice: 0,
            task: 0,
        };
        let directive = Directive::tagged(TagTable::FLAT);
        Pair {
            now: Time::ZERO,
            sender: Sender::new(law, info, Bytes::new(size), true, directive, &params),
            receiver: Receiver::new(0, 0, &params).reordering((input.cell > 0).then(|| input.cell.into())),
            under_way: Vec::new(),
            size,
            honest: true,
        }
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Send(most) => {
                for _ in 0..most {
                    let Some(packet) = self.sender.poll_send(self.now) else { break };
                    self.under_way.push(packet);
                }
            }
            Operation::Deliver { which, again, mark } => self.deliver(usize::from(which), again, mark),
            Operation::Lose(which) => drop(self.take(usize::from(which))),
            Operation::Wait(us) => self.wait(Time::from_us(u64::from(us))),
            Operation::Stranger { kind, seq, start, end, sent } => {
                self.honest = false;
                let mut packet: Packet = Packet { seq, block_start: start, ..Packet::EMPTY };
                (packet.block_end, packet.sent_ps) = (end.max(start), sent);
                packet.set(kind_of(kind), if kind & 4 == 0 { Ecn::Capable } else { Ecn::Marked });
                self.arrive(packet);
            }
        }
        assert!(self.sender.law().acked <= self.size);
    }

    fn take(&mut self, which: usize) -> Option<Packet> {
        let last = self.under_way.len().checked_sub(1)?;
        Some(self.under_way.swap_remove(which.min(last)))
    }

    fn deliver(&mut self, which: usize, again: bool, mark: bool) {
        let Some(mut packet) = self.take(which) else { return };
        if again && self.under_way.len() < 1_000 {
            self.under_way.push(packet);
        }
        if mark {
            packet.mark();
        }
        self.arrive(packet);
    }

    fn arrive(&mut self, packet: Packet) {
        if packet.is_ack() {
            return self.sender.on_ack(self.now, &packet);
        }
        let before = self.receiver.in_order();
        self.receiver.on_data(self.now, &packet, |ack| self.under_way.push(ack));
        assert!(self.receiver.in_order() >= before, "what had arrived is taken back");
    }

    fn wait(&mut self, span: Time) {
        let due = self.sender.next_wake().min(self.receiver.next_wake());
        self.now = self.now.max(due.min(self.now.saturating_add(span)));
        self.receiver.on_wake(self.now, |ack| self.under_way.push(ack));
        if self.sender.next_wake() <= self.now {
            self.sender.on_wake(self.now);
        }
    }
}

fn kind_of(number: u8) -> PacketKind {
    [PacketKind::Data, PacketKind::LastData, PacketKind::Ack, PacketKind::AckMarked][usize::from(number & 3)]
}

pub(super) fn check(bytes: &[u8]) -> Outcome {
    let Ok(input) = Input::arbitrary_take_rest(Unstructured::new(bytes)) else {
        return Outcome::Refused("too short".to_owned());
    };
    let mut pair = Pair::new(&input);
    for operation in &input.operations {
        pair.apply(operation);
        if pair.sender.is_done() {
            assert_eq!(pair.sender.law().acked, pair.size);
            assert!(!pair.honest || pair.receiver.is_complete());
            return Outcome::Used(format!("done, honest: {}", pair.honest));
        }
    }
    Outcome::Used(format!("2^{} acked, honest: {}", magnitude(pair.sender.law().acked), pair.honest))
}
