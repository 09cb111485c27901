//! What a fabric's switches know: where packets go next, and how much each port may hold.

use std::sync::Arc;

use tailrace_core::transport::TransportParams;
use tailrace_core::{Bytes, Header, HostId, Packet, Time};
use tailrace_fabric::{EdgePlace, Fabric, PortId, Reroute, Routes, SwitchId};

use crate::switch::balance::{Balancer, Choice};
use crate::switch::memory::{Holders, Memory};

/// Where a host hangs.
#[derive(Clone, Copy)]
struct Attachment {
    edge: SwitchId,
    /// Where that is in the routes.
    place: EdgePlace,
    port: PortId,
}

/// Routes, load balancing and packet memory of all switches of a fabric.
pub struct Switching {
    hosts: Vec<Attachment>,
    routes: Arc<Routes>,
    balancer: Balancer,
    memory: Memory,
}

impl Switching {
    /// For packets and acknowledgements as long as `transport` has them; random choices follow from `seed`.
    pub fn new(fabric: &Fabric, transport: &TransportParams, seed: u64) -> Self {
        let hosts = std::iter::zip(&fabric.edge_of, &fabric.port_to)
            .map(|(&edge, &port)| Attachment { edge, place: fabric.routes.place(edge), port })
            .collect();
        Switching {
            hosts,
            routes: Arc::clone(&fabric.routes),
            balancer: Balancer::new(fabric, transport, seed),
            memory: Memory::new(fabric),
        }
    }

    /// The port by which `packet` leaves `switch`; `None` if failures have left it no way.
    #[inline(always)]
    pub fn route<H: Header>(&mut self, now: Time, switch: SwitchId, packet: &Packet<H>) -> Option<PortId> {
        let host = self.hosts[usize::from(packet.dst)];
        if host.edge == switch {
            return Some(host.port);
        }
        let hops = self.routes.towards(switch, host.place);
        if hops.count <= 1 {
            return (hops.count == 1).then_some(hops.first);
        }
        Some(match self.balancer.choose(now, switch, hops, packet) {
            Choice::OfList(place) => self.routes.port(hops, place),
            Choice::Port(port) => port,
        })
    }

    /// The port by which a packet to `host` leaves `switch`, or one of those that there is a choice between.
    #[inline]
    pub fn leads(&self, switch: SwitchId, host: HostId) -> PortId {
        let host = self.hosts[host as usize];
        if host.edge == switch {
            return host.port;
        }
        self.routes.port(self.routes.towards(switch, host.place), 0)
    }

    /// What each port may hold as the fabric's unit counts; `None` where the ports of a switch [share](Self::shared_room) its memory.
    #[inline]
    pub fn own_room(&self) -> Option<Bytes> {
        match self.memory {
            Memory::PerPort(room) => Some(room),
            Memory::Shared(_) => None,
        }
    }

    /// What `port` may hold at `now`, of all the fabric's `ports`.
    pub fn shared_room(&self, now: Time, port: PortId, ports: impl Holders) -> Bytes {
        match &self.memory {
            Memory::PerPort(room) => *room,
            Memory::Shared(shared) => shared.room(now, port, ports),
        }
    }

    /// Gives the switches the packet memory that `fabric` has; its ports must be the same.
    pub fn refit(&mut self, fabric: &Fabric) {
        self.memory = Memory::new(fabric);
    }

    /// Other routes count from now on.
    pub fn reroute(&mut self, reroute: Reroute) {
        self.balancer.reroute(&reroute);
        self.hosts.iter_mut().for_each(|host| host.place = reroute.routes.place(host.edge));
        self.routes = reroute.routes;
    }

    /// Whether a flow's way depends on nothing but the flow.
    pub fn is_fixed(&self) -> bool {
        self.balancer.is_fixed()
    }

    /// The switch port towards a host.
    pub fn port_to(&self, host: HostId) -> PortId {
        self.hosts[host as usize].port
    }
}
