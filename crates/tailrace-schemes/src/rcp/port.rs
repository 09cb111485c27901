//! RCP's routers: one rate for all flows of a link, stamped into their packets.

use tailrace_core::{Bytes, Packet, Rate, Time};
use tailrace_queues::{DrainedLink, Router, SoftState};
use tailrace_transport::{Message, WireRate};

use super::fair_rate::FairRate;
use super::header::{HOPS, RcpHeader};

/// The exact router never grants less than this part of its link in all, so that every flow has a rate.
const LEAST_SHARE: u64 = 100;

/// A router that counts the flows: `R = C/N`, with C the link less what drains its queue (Baraat, footnote 6).
#[derive(Clone, Debug)]
pub struct Exact {
    capacity: DrainedLink,
    flows: SoftState<u32>,
    link_bps: u64,
    fair: WireRate,
}

impl Exact {
    /// A router that has counted nothing; `refresh` is its epoch.
    pub fn new(capacity: DrainedLink, link: Rate, refresh: Time) -> Self {
        let link_bps = link.as_bps();
        Exact { capacity, flows: SoftState::new(refresh), link_bps, fair: WireRate::at_most(link_bps) }
    }

    /// Flows that are counted at `now`.
    pub fn flows(&mut self, now: Time) -> u32 {
        self.flows.advance(now);
        self.flows.total()
    }

    /// A flow begins or goes on. Behind the last port that it has room for, it is not counted.
    fn count(&mut self, now: Time, header: &mut RcpHeader, backlog: Bytes) {
        if usize::from(header.hop) < HOPS {
            let counted = usize::from(header.hop);
            self.end(now, header);
            header.counted[counted] = self.flows.count(1);
        }
        let capacity = self.capacity.at(backlog).max(self.link_bps / LEAST_SHARE);
        self.fair = WireRate::at_most(capacity / u64::from(self.flows.total().max(1)));
    }

    /// A flow is no longer counted as it was.
    fn end(&mut self, now: Time, header: &mut RcpHeader) {
        if usize::from(header.hop) < HOPS {
            self.flows.advance(now);
            self.flows.release(header.counted[usize::from(header.hop)], 1);
            header.hop += 1;
        }
    }

    fn on_arrival(&mut self, now: Time, packet: &mut Packet<RcpHeader>, backlog: Bytes) {
        let header = &mut packet.header;
        match header.message {
            Message::Request => {
                if header.counts {
                    self.count(now, header, backlog);
                }
                header.rate = header.rate.min(self.fair);
            }
            Message::End => self.end(now, header),
            _ => {}
        }
    }
}

/// The router of one port.
#[derive(Clone, Debug)]
pub enum RcpRouter {
    /// By the use of the link.
    Estimated(FairRate),
    /// By the number of flows.
    Exact(Exact),
}

impl Router<RcpHeader> for RcpRouter {
    #[inline]
    fn on_arrival(&mut self, now: Time, packet: &mut Packet<RcpHeader>, backlog: Bytes) {
        match self {
            RcpRouter::Exact(exact) => exact.on_arrival(now, packet, backlog),
            RcpRouter::Estimated(fair) => {
                let header = &mut packet.header;
                let asks = header.message == Message::Request;
                // A flow that knows no round-trip time yet tells none (rcp.cc).
                let rtt = (asks && header.rtt_ns > 0).then_some(header.rtt_ns);
                fair.arrive(now, packet.bytes, rtt, backlog);
                if asks {
                    header.rate = header.rate.min(WireRate::at_most(fair.bps()));
                }
            }
        }
    }
}
