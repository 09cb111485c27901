//! Storage retrieval: servers that send to a client, all at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::ScenarioError;
use tailrace_core::HostId;

use super::built::{Built, check_hosts};
use crate::Setting;
use crate::hosts::Hosts;
use crate::task::placement::{Placement, Servers};
use crate::task::shape::{Origin, Shape};

/// Several servers send to a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parallel {
    /// Hosts that a task's client is drawn from; all if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<Hosts>,
    /// Servers of a task, all different.
    pub servers: u16,
    /// Hosts that they are drawn from, the client left out; all if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Hosts>,
    /// They are drawn from the client's rack.
    #[serde(default)]
    pub same_rack: bool,
}

impl Parallel {
    pub(super) fn build(&self, setting: &Setting) -> Built {
        let racks = &setting.racks;
        let hosts = |field: &str, hosts: &Option<Hosts>| match hosts {
            Some(hosts) => hosts.check(field, setting).map(|()| hosts.sorted(racks)),
            None => Ok(setting.host_ids().collect()),
        };
        let (clients, pool) = (hosts("clients", &self.clients)?, hosts("from", &self.from)?);
        if self.same_rack && self.from.is_some() {
            return Err(ScenarioError::new("same_rack", "cannot be combined with from: give one of them"));
        }
        let others = |client: HostId| match self.same_rack {
            true => racks.hosts(racks.of(client)).len() - 1,
            false => pool.len() - usize::from(pool.binary_search(&client).is_ok()),
        };
        let fewest = clients.iter().map(|&client| others(client)).min().unwrap_or(0);
        let count = usize::from(self.servers);
        if !(1..=fewest).contains(&count) {
            let message = match fewest {
                0 => format!("is {count}, but some client has no other host to draw from"),
                _ => format!(
                    "is {count}, but must be 1 to {fewest}, as many other hosts as every client can draw from"
                ),
            };
            return Err(ScenarioError::new("servers", message));
        }
        check_hosts("servers", 1 + count)?;
        let mut shape = Shape::default();
        shape.stage(&[], (1..=self.servers).map(|server| (server, 0, Origin::Share)));
        let servers = if self.same_rack { Servers::InRack(racks.clone()) } else { Servers::Among(pool) };
        Ok((shape, Placement::Client { clients, servers, count }))
    }
}
