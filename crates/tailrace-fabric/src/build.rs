//! Puts a fabric together switch by switch, so that ports of a switch are consecutive and equal-cost ones
//! lie side by side.

use tailrace_core::{Rate, Time};

use super::{Buffer, Fabric, LoadBalancing, NextHops, Node, PortId, PortRules, PortSpec, SwitchId};

/// A fabric under construction.
pub(super) struct Builder {
    ports: Vec<PortSpec>,
    edge_of: Vec<SwitchId>,
    port_to: Vec<PortId>,
    names: Vec<String>,
    switches: usize,
    routes: Vec<NextHops>,
}

impl Builder {
    /// A fabric of so many hosts, whose edge switches are known, and switches.
    pub(super) fn new(hosts: u16, switches: u16, edge_of: impl FnMut(u16) -> SwitchId) -> Self {
        Builder {
            ports: Vec::new(),
            edge_of: (0..hosts).map(edge_of).collect(),
            port_to: vec![0; usize::from(hosts)],
            names: Vec::new(),
            switches: usize::from(switches),
            routes: vec![NextHops::default(); usize::from(switches) * usize::from(switches)],
        }
    }

    /// The hosts' own ports, which come before those of any switch.
    pub(super) fn network_cards(&mut self, rate: Rate, delay: Time) {
        for (host, &edge) in self.edge_of.iter().enumerate() {
            self.ports.push(PortSpec { from: Node::Host(host as u16), to: Node::Switch(edge), rate, delay });
        }
    }

    /// The next switch; ports and routes that follow are its own.
    pub(super) fn switch(&mut self, name: &str) {
        self.names.push(name.to_owned());
    }

    fn current(&self) -> SwitchId {
        (self.names.len() - 1) as SwitchId
    }

    /// A port of the current switch.
    pub(super) fn port(&mut self, to: Node, rate: Rate, delay: Time) {
        if let Node::Host(host) = to {
            self.port_to[usize::from(host)] = self.ports.len() as PortId;
        }
        self.ports.push(PortSpec { from: Node::Switch(self.current()), to, rate, delay });
    }

    /// A group of equal-cost ports of the current switch.
    pub(super) fn ports(&mut self, to: &[SwitchId], rate: Rate, delay: Time) -> NextHops {
        let group = NextHops { first: self.ports.len() as PortId, count: to.len() as u32 };
        to.iter().for_each(|&switch| self.port(Node::Switch(switch), rate, delay));
        group
    }

    /// Routes from the current switch to the hosts at `edges`; later ones replace earlier ones.
    pub(super) fn route(&mut self, edges: &[SwitchId], group: NextHops) {
        let here = self.current();
        for &edge in edges.iter().filter(|&&edge| edge != here) {
            self.routes[usize::from(here) * self.switches + usize::from(edge)] = group;
        }
    }

    pub(super) fn finish(self, load_balancing: LoadBalancing, buffer: Buffer) -> Fabric {
        debug_assert_eq!(self.names.len(), self.switches);
        Fabric {
            hosts: self.edge_of.len(),
            switches: self.switches,
            ports: self.ports,
            edge_of: self.edge_of,
            port_to: self.port_to,
            routes: self.routes,
            load_balancing,
            ecmp_seed: 0,
            buffer,
            port_rules: PortRules::default(),
            switch_names: self.names,
        }
    }
}
