//! Which hosts play the roles of a task.

use std::ops::Range;

use tailrace_core::HostId;
use tailrace_fabric::Racks;

use super::shape::Role;
use crate::Setting;

/// How hosts are drawn for the roles of tasks.
#[derive(Clone, Debug)]
pub enum Placement {
    /// A client, any of some, and servers.
    Client {
        /// Those that the client is one of.
        clients: Vec<HostId>,
        /// Those that its servers are drawn from.
        servers: Servers,
        /// Servers of a task.
        count: usize,
    },
    /// Aggregators and their workers.
    Aggregation(Aggregation),
    /// Different hosts of some.
    Drawn {
        /// Those that hosts are drawn from.
        pool: Vec<HostId>,
        /// Hosts of a task.
        count: usize,
    },
    /// Hosts with consecutive numbers, counted around.
    Neighbours {
        /// Hosts of the fabric.
        hosts: u32,
        /// Hosts of a task.
        count: u16,
    },
    /// Always these.
    Fixed(Vec<HostId>),
}

/// An aggregator at the top, and workers of its rack; or aggregators in other racks of its pod, and workers of theirs.
#[derive(Clone, Debug)]
pub struct Aggregation {
    /// Those that the aggregator at the top is one of.
    pub tops: Vec<HostId>,
    /// Where it is.
    pub setting: Setting,
    /// How many aggregators the one at the top asks; workers of its own rack if none.
    pub mids: Option<u16>,
    /// Workers of each rack that is asked.
    pub workers: u16,
}

/// Hosts that the servers of a client are drawn from, without the client.
#[derive(Clone, Debug)]
pub enum Servers {
    /// Those of the client's rack.
    InRack(Racks),
    /// These.
    Among(Vec<HostId>),
}

/// Roles that are alike, and the probability with which each host plays any one of them.
pub(super) struct Chances {
    pub(super) roles: Range<Role>,
    pub(super) hosts: Vec<(HostId, f64)>,
}

impl Placement {
    /// How likely each host plays each role.
    pub(super) fn chances(&self) -> Vec<Chances> {
        match self {
            Placement::Client { clients, servers, count } => {
                let of_servers = match servers {
                    Servers::InRack(racks) => by_rack(clients, racks),
                    Servers::Among(pool) => others(clients, pool),
                };
                let roles = 1..1 + *count as Role;
                vec![Chances { roles: 0..1, hosts: alike(clients) }, Chances { roles, hosts: of_servers }]
            }
            Placement::Aggregation(aggregation) => aggregation.chances(),
            Placement::Drawn { pool, count } => {
                vec![Chances { roles: 0..*count as Role, hosts: alike(pool) }]
            }
            Placement::Neighbours { hosts, count } => {
                vec![Chances {
                    roles: 0..*count,
                    hosts: alike(&(0..*hosts).map(|host| host as HostId).collect::<Vec<_>>()),
                }]
            }
            Placement::Fixed(hosts) => {
                let always = |(role, &host)| Chances { roles: role..role + 1, hosts: vec![(host, 1.0)] };
                (0..).zip(hosts).map(always).collect()
            }
        }
    }
}

impl Aggregation {
    /// Racks that may be asked by an aggregator at the top: the others of its pod.
    pub fn racks_asked(&self, top: HostId) -> Vec<u16> {
        self.setting.other_racks_of_pod(self.setting.racks.of(top)).collect()
    }

    /// The last host of a rack, which is its aggregator.
    pub fn last_of(&self, rack: u16) -> HostId {
        self.setting.racks.hosts(rack).end - 1
    }

    fn chances(&self) -> Vec<Chances> {
        let racks = &self.setting.racks;
        let top = Chances { roles: 0..1, hosts: alike(&self.tops) };
        let Some(count) = self.mids else {
            return vec![top, Chances { roles: 1..1 + self.workers, hosts: by_rack(&self.tops, racks) }];
        };
        let (mut mids, mut workers) = (Vec::new(), Vec::new());
        for &top in &self.tops {
            let asked = self.racks_asked(top);
            let chance = 1.0 / (self.tops.len() * asked.len()) as f64;
            for mid in asked.into_iter().map(|rack| self.last_of(rack)) {
                mids.push((mid, chance));
                workers.extend(by_rack(&[mid], racks).into_iter().map(|(host, part)| (host, chance * part)));
            }
        }
        let last = 1 + count + count * self.workers;
        vec![
            top,
            Chances { roles: 1..1 + count, hosts: mids },
            Chances { roles: 1 + count..last, hosts: workers },
        ]
    }
}

fn alike(hosts: &[HostId]) -> Vec<(HostId, f64)> {
    hosts.iter().map(|&host| (host, 1.0 / hosts.len() as f64)).collect()
}

/// The chances of hosts to be drawn from the rack of a client, other than the client.
fn by_rack(clients: &[HostId], racks: &Racks) -> Vec<(HostId, f64)> {
    let of_client = |&client: &HostId| {
        let rack = racks.hosts(racks.of(client));
        let chance = 1.0 / (clients.len() * (rack.len() - 1)) as f64;
        rack.filter(move |&host| host != client).map(move |host| (host, chance))
    };
    clients.iter().flat_map(of_client).collect()
}

/// The chances of hosts to be drawn from a pool, other than the client. `clients` must ascend.
fn others(clients: &[HostId], pool: &[HostId]) -> Vec<(HostId, f64)> {
    let size = pool.len() as f64;
    let is_client = |host: HostId| clients.binary_search(&host).is_ok();
    let inside = pool.iter().filter(|&&host| is_client(host)).count() as f64;
    let each = 1.0 / clients.len() as f64;
    let outside = clients.len() as f64 - inside;
    let chance = |&host: &HostId| {
        let rivals = inside - f64::from(u8::from(is_client(host)));
        let with_inner = if rivals > 0.0 { rivals / (size - 1.0) } else { 0.0 };
        (host, each * (outside / size + with_inner))
    };
    pool.iter().map(chance).collect()
}
