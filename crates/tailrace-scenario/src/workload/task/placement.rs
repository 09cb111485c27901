//! Which hosts play the roles of a task.

use std::ops::Range;

use tailrace_core::random::Stream;

use super::shape::Role;
use crate::fabric::Racks;
use crate::workload::Setting;

/// How hosts are drawn for the roles of tasks.
#[derive(Clone, Debug)]
pub(super) enum Placement {
    /// A client, any of some, and servers.
    Client { clients: Vec<u16>, servers: Servers, count: usize },
    /// Aggregators and their workers.
    Aggregation(Aggregation),
    /// Different hosts of some.
    Drawn { pool: Vec<u16>, count: usize },
    /// Hosts with consecutive numbers, counted around.
    Neighbours { hosts: u16, count: u16 },
    /// Always these.
    Fixed(Vec<u16>),
}

/// An aggregator at the top, and workers of its rack; or aggregators in other racks of its pod, and workers of theirs.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    pub(super) tops: Vec<u16>,
    pub(super) setting: Setting,
    pub(super) mids: Option<u16>,
    pub(super) workers: u16,
}

/// Hosts that the servers of a client are drawn from, without the client.
#[derive(Clone, Debug)]
pub(super) enum Servers {
    /// Those of the client's rack.
    InRack(Racks),
    /// These, in the order that the last drawing left behind.
    Among(Vec<u16>),
}

/// Roles that are alike, and the probability with which each host plays any one of them.
pub(super) struct Chances {
    pub(super) roles: Range<Role>,
    pub(super) hosts: Vec<(u16, f64)>,
}

impl Placement {
    /// A task's entry point, among those that there are, and a host for each role.
    pub(super) fn draw(&mut self, stream: &mut Stream) -> (u32, Vec<u16>) {
        match self {
            Placement::Client { clients, servers, count } => {
                let entry = stream.below(clients.len() as u32);
                let client = clients[entry as usize];
                let mut hosts = vec![client];
                match servers {
                    Servers::InRack(racks) => {
                        let mut rack: Vec<u16> = racks.hosts(racks.of(client)).collect();
                        draw_from(&mut rack, Some(client), *count, stream, &mut hosts);
                    }
                    Servers::Among(pool) => draw_from(pool, Some(client), *count, stream, &mut hosts),
                }
                (entry, hosts)
            }
            Placement::Aggregation(aggregation) => aggregation.draw(stream),
            Placement::Drawn { pool, count } => {
                let mut hosts = Vec::with_capacity(*count);
                draw_from(pool, None, *count, stream, &mut hosts);
                (u32::from(hosts[0]), hosts)
            }
            Placement::Neighbours { hosts, count } => {
                let first = stream.below(u32::from(*hosts));
                let host = |place: u16| ((first + u32::from(place)) % u32::from(*hosts)) as u16;
                (first, (0..*count).map(host).collect())
            }
            Placement::Fixed(hosts) => (0, hosts.clone()),
        }
    }

    /// How likely each host plays each role.
    pub(super) fn chances(&self) -> Vec<Chances> {
        match self {
            Placement::Client { clients, servers, count } => {
                let of_servers = match servers {
                    Servers::InRack(racks) => by_rack(clients, *racks),
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
                vec![Chances { roles: 0..*count, hosts: alike(&(0..*hosts).collect::<Vec<_>>()) }]
            }
            Placement::Fixed(hosts) => {
                let always = |(role, &host)| Chances { roles: role..role + 1, hosts: vec![(host, 1.0)] };
                (0..).zip(hosts).map(always).collect()
            }
        }
    }
}

impl Aggregation {
    fn draw(&self, stream: &mut Stream) -> (u32, Vec<u16>) {
        let entry = stream.below(self.tops.len() as u32);
        let top = self.tops[entry as usize];
        let mut hosts = vec![top];
        match self.mids {
            None => self.draw_workers(top, stream, &mut hosts),
            Some(mids) => {
                let mut racks = self.racks_asked(top);
                let mut drawn = Vec::with_capacity(racks.len());
                draw_from(&mut racks, None, mids.into(), stream, &mut drawn);
                hosts.extend(drawn.iter().map(|&rack| self.last_of(rack)));
                for rack in drawn {
                    self.draw_workers(self.last_of(rack), stream, &mut hosts);
                }
            }
        }
        (entry, hosts)
    }

    /// Workers of an aggregator's rack.
    fn draw_workers(&self, aggregator: u16, stream: &mut Stream, to: &mut Vec<u16>) {
        let racks = self.setting.racks;
        let mut rack: Vec<u16> = racks.hosts(racks.of(aggregator)).collect();
        draw_from(&mut rack, Some(aggregator), self.workers.into(), stream, to);
    }

    fn racks_asked(&self, top: u16) -> Vec<u16> {
        self.setting.other_racks_of_pod(self.setting.racks.of(top)).collect()
    }

    fn last_of(&self, rack: u16) -> u16 {
        self.setting.racks.hosts(rack).end - 1
    }

    fn chances(&self) -> Vec<Chances> {
        let racks = self.setting.racks;
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

/// Takes so many different ones of a pool, `but` one: a shuffle as far as is needed.
fn draw_from(pool: &mut [u16], but: Option<u16>, mut count: usize, stream: &mut Stream, to: &mut Vec<u16>) {
    for i in 0..pool.len() {
        if count == 0 {
            return;
        }
        let other = i + stream.below((pool.len() - i) as u32) as usize;
        pool.swap(i, other);
        if Some(pool[i]) != but {
            to.push(pool[i]);
            count -= 1;
        }
    }
}

fn alike(hosts: &[u16]) -> Vec<(u16, f64)> {
    hosts.iter().map(|&host| (host, 1.0 / hosts.len() as f64)).collect()
}

/// The chances of hosts to be drawn from the rack of a client, other than the client.
fn by_rack(clients: &[u16], racks: Racks) -> Vec<(u16, f64)> {
    let of_client = |&client: &u16| {
        let rack = racks.hosts(racks.of(client));
        let chance = 1.0 / (clients.len() * (rack.len() - 1)) as f64;
        rack.filter(move |&host| host != client).map(move |host| (host, chance))
    };
    clients.iter().flat_map(of_client).collect()
}

/// The chances of hosts to be drawn from a pool, other than the client. `clients` must ascend.
fn others(clients: &[u16], pool: &[u16]) -> Vec<(u16, f64)> {
    let size = pool.len() as f64;
    let is_client = |host: u16| clients.binary_search(&host).is_ok();
    let inside = pool.iter().filter(|&&host| is_client(host)).count() as f64;
    let each = 1.0 / clients.len() as f64;
    let outside = clients.len() as f64 - inside;
    let chance = |&host: &u16| {
        let rivals = inside - f64::from(u8::from(is_client(host)));
        let with_inner = if rivals > 0.0 { rivals / (size - 1.0) } else { 0.0 };
        (host, each * (outside / size + with_inner))
    };
    pool.iter().map(chance).collect()
}
