//! Which hosts play the roles of a task.

use std::ops::Range;

use tailrace_core::random::Stream;

use super::shape::Role;
use crate::fabric::Racks;

/// How hosts are drawn for the roles of tasks.
#[derive(Clone, Debug)]
pub(super) enum Placement {
    /// A client, any of some, and servers.
    Client { clients: Vec<u16>, servers: Servers, count: usize },
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
                        draw_others(&mut rack, client, *count, stream, &mut hosts);
                    }
                    Servers::Among(pool) => draw_others(pool, client, *count, stream, &mut hosts),
                }
                (entry, hosts)
            }
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
        }
    }
}

/// Takes so many different hosts of a pool other than one: a shuffle as far as is needed.
fn draw_others(pool: &mut [u16], other_than: u16, mut count: usize, stream: &mut Stream, to: &mut Vec<u16>) {
    for i in 0..pool.len() {
        if count == 0 {
            return;
        }
        let other = i + stream.below((pool.len() - i) as u32) as usize;
        pool.swap(i, other);
        if pool[i] != other_than {
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
