//! Hosts for the roles of tasks, one task after another.

use tailrace_core::HostId;
use tailrace_core::random::Stream;

use crate::task::{Aggregation, Placement, Servers};

/// Draws hosts as a placement says.
#[derive(Clone, Debug)]
pub(super) struct Places {
    placement: Placement,
    /// The hosts that a placement names to draw from, in the order that the last drawing left behind.
    pool: Vec<HostId>,
    stream: Stream,
}

impl Places {
    pub(super) fn new(placement: Placement, stream: Stream) -> Self {
        let pool = match &placement {
            Placement::Client { servers: Servers::Among(pool), .. } | Placement::Drawn { pool, .. } => {
                pool.clone()
            }
            _ => Vec::new(),
        };
        Places { placement, pool, stream }
    }

    /// A task's entry point, among those that there are, and a host for each role.
    pub(super) fn draw(&mut self) -> (u32, Vec<HostId>) {
        let Places { placement, pool, stream } = self;
        match placement {
            Placement::Client { clients, servers, count } => {
                let entry = stream.below(clients.len() as u32);
                let client = clients[entry as usize];
                let mut hosts = vec![client];
                match servers {
                    Servers::InRack(racks) => {
                        let mut rack: Vec<HostId> = racks.hosts(racks.of(client)).collect();
                        draw_from(&mut rack, Some(client), *count, stream, &mut hosts);
                    }
                    Servers::Among(_) => draw_from(pool, Some(client), *count, stream, &mut hosts),
                }
                (entry, hosts)
            }
            Placement::Aggregation(aggregation) => draw_aggregation(aggregation, stream),
            Placement::Drawn { count, .. } => {
                let mut hosts = Vec::with_capacity(*count);
                draw_from(pool, None, *count, stream, &mut hosts);
                (hosts[0], hosts)
            }
            Placement::Neighbours { hosts, count } => {
                let first = stream.below(*hosts);
                let host = |place: u16| (first + u32::from(place)) % *hosts;
                (first, (0..*count).map(host).collect())
            }
            Placement::Fixed(hosts) => (0, hosts.clone()),
        }
    }
}

fn draw_aggregation(aggregation: &Aggregation, stream: &mut Stream) -> (u32, Vec<HostId>) {
    let entry = stream.below(aggregation.tops.len() as u32);
    let top = aggregation.tops[entry as usize];
    let mut hosts = vec![top];
    match aggregation.mids {
        None => draw_workers(aggregation, top, stream, &mut hosts),
        Some(mids) => {
            let mut racks = aggregation.racks_asked(top);
            let mut drawn = Vec::with_capacity(racks.len());
            draw_from(&mut racks, None, mids.into(), stream, &mut drawn);
            hosts.extend(drawn.iter().map(|&rack| aggregation.last_of(rack)));
            for rack in drawn {
                draw_workers(aggregation, aggregation.last_of(rack), stream, &mut hosts);
            }
        }
    }
    (entry, hosts)
}

/// Workers of an aggregator's rack.
fn draw_workers(aggregation: &Aggregation, aggregator: HostId, stream: &mut Stream, to: &mut Vec<HostId>) {
    let racks = &aggregation.setting.racks;
    let mut rack: Vec<HostId> = racks.hosts(racks.of(aggregator)).collect();
    draw_from(&mut rack, Some(aggregator), aggregation.workers.into(), stream, to);
}

/// Takes so many different ones of a pool, `but` one: a shuffle as far as is needed.
fn draw_from<N: Copy + PartialEq>(
    pool: &mut [N],
    but: Option<N>,
    mut count: usize,
    stream: &mut Stream,
    to: &mut Vec<N>,
) {
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
