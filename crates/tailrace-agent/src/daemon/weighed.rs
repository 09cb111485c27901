//! Connections whose windows are kept: what a controller is told of them, and the weights that it gives them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tailrace_bpf::{Connection, Kind, monotonic};
use tailrace_core::{Bytes, Weight};

use super::datapath::Datapath;
use crate::Error;
use crate::etcd::{FlowName, MAX_FLOWS, Progress, Weights};

/// More are not followed: of those whose end the kernel had no room to tell, none would ever go.
const MAX_OPEN: usize = 1 << 16;

/// The connections of a host that are open.
#[derive(Default)]
pub struct Weighed {
    open: BTreeMap<FlowName, Open>,
}

struct Open {
    connection: Connection,
    delivered: u64,
    last: u32,
    weight: Option<Weight>,
}

impl Weighed {
    /// Those that have a weight of their own.
    pub fn weights(&self) -> usize {
        self.open.values().filter(|open| open.weight.is_some()).count()
    }

    /// Connections that begin and end.
    pub fn follow(&mut self, heard: &[Connection], datapath: &Datapath) -> Result<(), Error> {
        if !datapath.keeps_windows() {
            return Ok(());
        }
        for connection in heard {
            let name = flow_name(connection);
            if connection.kind == Kind::Started && self.open.len() < MAX_OPEN {
                let open = Open { connection: *connection, delivered: 0, last: 0, weight: None };
                self.open.insert(name, open);
            } else if let Some(open) = self.open.remove(&name).filter(|open| open.weight.is_some()) {
                datapath.give(&open.connection, None)?;
            }
        }
        Ok(())
    }

    /// How far they are, as the kernel has it.
    pub fn progress(&mut self, datapath: &Datapath) -> Result<Vec<Progress>, Error> {
        let (mut flows, now) = (Vec::new(), monotonic());
        for (name, open) in &mut self.open {
            if flows.len() == MAX_FLOWS {
                break;
            }
            let Some(flow) = datapath.window_of(&open.connection)? else { continue };
            open.delivered += u64::from(flow.delivered.wrapping_sub(open.last));
            open.last = flow.delivered;
            let past = flow.known.deadline.then_some(0);
            flows.push(Progress {
                flow: *name,
                slice: flow.known.slice,
                size: flow.known.size.map(Bytes::get),
                left_ns: flow.deadline_ns.map(|at| at.saturating_sub(now)).or(past),
                delivered: open.delivered,
                told: flow.told,
            });
        }
        Ok(flows)
    }

    /// These are all weights that there are.
    pub fn weigh(&mut self, weights: &Weights, datapath: &Datapath) -> Result<(), Error> {
        let given: BTreeMap<FlowName, Weight> = weights.0.iter().copied().take(MAX_FLOWS).collect();
        // Those that go make room for those that come.
        for takes_away in [true, false] {
            for (name, open) in &mut self.open {
                let weight = given.get(name).copied();
                if weight.is_none() == takes_away && weight != open.weight {
                    datapath.give(&open.connection, weight)?;
                    open.weight = weight;
                }
            }
        }
        Ok(())
    }
}

fn flow_name(connection: &Connection) -> FlowName {
    let end = |(address, port)| SocketAddr::new(address, port);
    FlowName { from: end(connection.local), to: end(connection.remote) }
}
