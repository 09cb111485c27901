//! Packets and their frames: what a port policy sees of a frame, and what of its answer is written back.

#[cfg(test)]
mod tests;

use tailrace_core::{Ecn, Header, HostId, Packet, SwitchPlan, Time};

use crate::frame::{self, Frame, wire};
use crate::slab::Slab;

/// Ethernet carries no less, whatever is in it.
const SHORTEST_PAYLOAD: usize = 46;

/// What is known of DSCPs: the priority that each stands for.
#[derive(Clone, Debug)]
pub struct Priorities([u8; 64]);

impl Priorities {
    /// As a scheme's plan says; without one, as Tailrace's transport tags. A DSCP that is not among these is for the
    /// last queue.
    pub fn new(plan: Option<&SwitchPlan>) -> Self {
        let mut of_dscp = [tailrace_core::MAX_PRIORITIES as u8 - 1; 64];
        match plan {
            Some(plan) => {
                of_dscp = [plan.queues.len().saturating_sub(1) as u8; 64];
                for (priority, queue) in (0..).zip(&plan.queues) {
                    of_dscp[usize::from(queue.dscp)] = priority;
                }
            }
            None => (0..).zip(of_dscp.iter_mut().take(8).rev()).for_each(|(priority, of)| *of = priority),
        }
        Priorities(of_dscp)
    }

    pub(crate) fn of(&self, dscp: u8) -> u8 {
        self.0[usize::from(dscp)]
    }

    /// Of what is not IP.
    pub(crate) fn last(&self) -> u8 {
        self.0.iter().copied().max().unwrap_or(0)
    }
}

/// The packet that a port policy sees of a frame that has come and goes to a host. Between a fabric's own hosts it may be
/// Tailrace's transport's.
pub(crate) fn packet_of<H: Header>(
    slab: &mut Slab,
    number: u32,
    to: HostId,
    between_hosts: bool,
    priorities: &Priorities,
    mss: u32,
) -> Packet<H> {
    let bytes = slab.bytes(number);
    let Some(frame) = Frame::read(bytes) else {
        let bytes = bytes.len().saturating_sub(frame::ETHERNET_BYTES).max(SHORTEST_PAYLOAD) as u16;
        let (dst, priority, sent_ps) = (Packet::address(to), priorities.last(), u64::from(number));
        return Packet { dst, bytes, priority, sent_ps, ..Packet::EMPTY };
    };
    let own = own_packet(bytes, &frame).filter(|packet| between_hosts && packet.dst == Packet::address(to));
    let slot = slab.slot_mut(number);
    (slot.read, slot.own) = (Some(frame), own.is_some());
    if let Some(packet) = own {
        return Packet { sent_ps: u64::from(number), ..packet };
    }
    let mut packet = Packet {
        flow: frame.flow,
        dst: Packet::address(to),
        bytes: frame.ip_bytes,
        priority: priorities.of(frame.dscp()),
        seq: frame.transport.map_or(0, |transport| transport.seq / mss),
        sent_ps: u64::from(number),
        ..Packet::EMPTY
    };
    packet.set(frame.kind(), frame.ecn());
    packet
}

/// When a packet left its host's transport, by that one's clock, if it is data of Tailrace's.
pub(crate) fn sent_at<H: Header>(slab: &Slab, packet: &Packet<H>) -> Option<Time> {
    let number = packet.sent_ps as u32;
    let udp = slab.slot(number).read.filter(|_| slab.slot(number).own && !packet.is_ack())?.transport?;
    wire::sent(slab.bytes(number).get(udp.payload_at..)?)
}

/// The packet of Tailrace's transport in a frame, if it is one.
fn own_packet<H: Header>(bytes: &[u8], frame: &Frame) -> Option<Packet<H>> {
    let udp = frame.transport.filter(|udp| udp.is_udp() && udp.ports == (wire::PORT, wire::PORT))?;
    let packet = wire::decode(bytes.get(udp.payload_at..)?, frame.tos)?;
    // A port must not be told of other bytes than there are.
    let is_as_long = usize::from(frame.ip_bytes) == wire::BELOW + wire::datagram_bytes(&packet);
    (is_as_long && packet.bytes > 0).then_some(packet)
}

/// Writes into a packet's frame what ports have made of it; returns the frame's number.
pub(crate) fn write_back<H: Header>(slab: &mut Slab, packet: &Packet<H>) -> u32 {
    let number = packet.sent_ps as u32;
    let slot = *slab.slot(number);
    let Some(frame) = slot.read else { return number };
    if slot.own {
        if let Some(udp) = frame.transport {
            wire::encode_header(&packet.header, &mut slab.bytes_mut(number)[udp.payload_at..]);
        }
        let tos = wire::tos(packet);
        if tos != frame.tos {
            frame.set_tos(slab.bytes_mut(number), tos);
        }
    } else if packet.ecn() == Ecn::Marked && frame.ecn() != Ecn::Marked {
        frame.mark(slab.bytes_mut(number));
    }
    number
}
