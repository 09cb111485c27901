//! RCP's routers: one rate for all flows of a link, stamped into their packets.

use tailrace_core::{Bytes, Packet, Rate, Time};
use tailrace_queues::{DrainedLink, Router, SoftState, Tally};
use tailrace_transport::{Message, WireRate};

use super::fair_rate::FairRate;
use super::header::{HOPS, RcpHeader};

/// The exact router never grants less than this part of its link in all, so that every flow has a rate.
const MIN_SHARE: u64 = 100;

/// Where nobody shares a link and nothing is left of it, who asks may have this part of it more than another port gives it: it
/// stays that port's. Otherwise two ports that limit a flow alike each take it for the other one's in turns, and rates never settle.
const TIED_SHARE: u64 = 1_000;

/// What a port knows of its flows: how many share it, and what those take that another port limits to less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    sharing: u32,
    limited: u32,
    limited_bps: u64,
}

impl Shared {
    /// One flow, as it is held in headers.
    fn one(held: WireRate) -> Self {
        match held == WireRate::MAX {
            true => Shared { sharing: 1, ..Shared::default() },
            false => Shared { limited: 1, limited_bps: held.bps(), sharing: 0 },
        }
    }
}

impl Tally for Shared {
    fn add(&mut self, other: Shared) {
        self.sharing += other.sharing;
        self.limited += other.limited;
        self.limited_bps += other.limited_bps;
    }
    fn take(&mut self, other: Shared) {
        self.sharing = self.sharing.saturating_sub(other.sharing);
        self.limited = self.limited.saturating_sub(other.limited);
        self.limited_bps = self.limited_bps.saturating_sub(other.limited_bps);
    }
}

/// A router that counts the flows: `R = C/N` (Baraat, footnote 6), with C the link less what drains its queue, and less
/// what those flows take that get less than R elsewhere, who are not among the N. So rates tend to max–min fair ones, as
/// RCP's do; `C/N` over all flows would leave idle what some of them cannot use.
#[derive(Clone, Debug)]
pub struct Exact {
    capacity: DrainedLink,
    flows: SoftState<Shared>,
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
        let Shared { sharing, limited, .. } = self.flows.total();
        sharing + limited
    }

    /// A flow begins or goes on. Behind the last port that it has room for, it is not counted.
    fn count(&mut self, now: Time, header: &mut RcpHeader, backlog: Bytes) {
        let capacity = self.capacity.at(backlog).max(self.link_bps / MIN_SHARE);
        let hop = usize::from(header.hop);
        if hop < HOPS {
            self.end(now, header);
            let held = self.limit_elsewhere(capacity, hop, header);
            header.held[hop] = held;
            header.counted[hop] = self.flows.count(Shared::one(held));
        }
        let own = WireRate::at_most(self.share(capacity, header));
        // Where nobody shares, what this flow may have is no other one's rate.
        let is_shared = self.flows.total().sharing > 0;
        self.fair = if is_shared { own } else { WireRate::at_most(self.link_bps) };
        if own < header.rate {
            (header.rate, header.rate_of) = (own, hop as u8);
        }
    }

    /// What another port limits the flow to, if that is less than its share of this one; else [`WireRate::MAX`].
    fn limit_elsewhere(&self, capacity: u64, hop: usize, header: &RcpHeader) -> WireRate {
        let Shared { sharing, limited_bps, .. } = self.flows.total();
        let share = capacity.saturating_sub(limited_bps) / u64::from(sharing + 1);
        let elsewhere = usize::from(header.limit_of) != hop && header.limit.bps() < share;
        if elsewhere { header.limit } else { WireRate::MAX }
    }

    /// What each flow may have that shares this port. Where none does, what is left to the one that asks.
    fn share(&self, capacity: u64, header: &RcpHeader) -> u64 {
        let Shared { sharing, limited_bps, .. } = self.flows.total();
        let left = capacity.saturating_sub(limited_bps);
        match sharing {
            0 => left.max(self.link_bps / TIED_SHARE) + header.limit.bps().min(limited_bps),
            sharing => left.max(self.link_bps / MIN_SHARE) / u64::from(sharing),
        }
    }

    /// A flow is no longer counted as it was.
    fn end(&mut self, now: Time, header: &mut RcpHeader) {
        let hop = usize::from(header.hop);
        if hop < HOPS {
            self.flows.advance(now);
            self.flows.release(header.counted[hop], Shared::one(header.held[hop]));
            header.hop += 1;
        }
    }

    fn on_arrival(&mut self, now: Time, packet: &mut Packet<RcpHeader>, backlog: Bytes) {
        let header = &mut packet.header;
        match header.message {
            Message::Request => {
                if header.counts {
                    self.count(now, header, backlog);
                } else {
                    header.rate = header.rate.min(self.fair);
                }
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
