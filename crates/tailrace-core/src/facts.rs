//! The facts that a scheme is given: what it may know of flows, and where it runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::transport::TransportParams;
use crate::{
    Bytes, FlowInfo, HostId, MarkingAt, ParamError, QueueUnit, Rate, Reveals, SizeDistribution, Slice, Time,
};

/// What a scheme may know of a flow when it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Knowledge {
    /// Flow sizes.
    pub sizes: bool,
    /// Deadlines.
    pub deadlines: bool,
}

impl Knowledge {
    /// Nothing: an information-agnostic scheme.
    pub const NOTHING: Knowledge = Knowledge { sizes: false, deadlines: false };

    /// Blanks what may not be known.
    pub fn filter(self, flow: FlowInfo) -> FlowInfo {
        FlowInfo {
            id: flow.id,
            src: flow.src,
            dst: flow.dst,
            size: flow.size.filter(|_| self.sizes),
            start: flow.start,
            deadline: flow.deadline.filter(|_| self.deadlines),
            slice: flow.slice,
            task: flow.task,
        }
    }
}

/// The traffic that a scenario plans, for schemes that derive thresholds from it.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Flow sizes.
    pub sizes: SizeDistribution,
    /// Name of the published workload, if it is one.
    pub workload: Option<String>,
    /// Offered load of a host link, as a share of its rate.
    pub load: f64,
    /// The same by what flows reveal; loads add up to `load`.
    pub classes: Vec<TrafficClass>,
}

/// A part of the planned traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficClass {
    /// What its flows reveal.
    pub reveals: Reveals,
    /// Their sizes.
    pub sizes: SizeDistribution,
    /// Their part of the load.
    pub load: f64,
}

/// What a scheme is told about where it runs.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Number of hosts.
    pub hosts: usize,
    /// Rate of a host's link.
    pub host_rate: Rate,
    /// Round trip of one full packet and its ACK between the farthest hosts, unloaded.
    pub base_rtt: Time,
    /// The most ports that a packet passes, its sender's own included.
    pub longest_path: usize,
    /// The transport's parameters.
    pub transport: TransportParams,
    /// The traffic that is planned, if it is known in advance.
    pub traffic: Option<Traffic>,
    /// When the run is stopped, if not when all flows have ended.
    pub horizon: Option<Time>,
    /// The slices, the first one at place 0.
    pub slices: Vec<Slice>,
    /// The rack (edge switch) of each host.
    pub racks: Vec<u16>,
    /// Published flow sizes by the workload's name.
    pub published_sizes: fn(&str) -> Option<SizeDistribution>,
}

impl Facts {
    /// A network of which only its shape is known: transports have their defaults, no traffic is planned, and there
    /// are no slices. What else is known is added: `Facts { horizon, ..Facts::new(…) }`.
    pub fn new(hosts: usize, host_rate: Rate, base_rtt: Time, longest_path: usize) -> Self {
        Facts {
            hosts,
            host_rate,
            base_rtt,
            longest_path,
            transport: TransportParams::default(),
            traffic: None,
            horizon: None,
            slices: Vec::new(),
            racks: Vec::new(),
            published_sizes: |_| None,
        }
    }

    /// The round trip in which flows ask routers for rates, and routers count: the unloaded one, but no less than eight packets
    /// take on a host's link. Where that carries hardly a packet in a round trip, requests of flows that wait, one in each,
    /// would leave no room for data.
    pub fn asking_round(&self) -> Time {
        self.base_rtt.max(self.host_rate.time_for(Bytes::new(8 * u64::from(crate::MTU_BYTES))))
    }

    /// Checks that headers with places for so many ports are enough for all paths.
    pub fn check_path(&self, places: usize) -> Result<(), ParamError> {
        if self.longest_path <= places {
            return Ok(());
        }
        let message = format!(
            "cannot be used on this fabric: its header has room for {places} ports, the sender's and those of {} \
             switches, and there are paths over {} switches",
            places - 1,
            self.longest_path - 1
        );
        Err(ParamError::new("", message))
    }

    /// Checks that there are hosts of all numbers that a list in `field` has.
    pub fn check_hosts(&self, field: &str, listed: &[HostId]) -> Result<(), ParamError> {
        match listed.iter().find(|host| (**host as usize) >= self.hosts) {
            Some(host) => {
                let message =
                    format!("there is no host {host}: they are 0 to {}", self.hosts.saturating_sub(1));
                Err(ParamError::new(field, message))
            }
            None => Ok(()),
        }
    }
}

/// Where a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PortPlace {
    /// A host's network card.
    Nic,
    /// A switch port towards a host.
    SwitchToHost,
    /// A switch port towards another switch.
    SwitchToSwitch,
}

/// What a scheme is told about a port.
#[derive(Clone, Copy, Debug)]
pub struct PortFacts {
    /// Its number within the fabric.
    pub number: u32,
    /// Where it is.
    pub place: PortPlace,
    /// Its link's rate.
    pub rate: Rate,
    /// What it may hold at most, as its unit counts.
    pub buffer: Bytes,
    /// What `buffer`, the room of [`enqueue`](crate::PortPolicy::enqueue) and thresholds count.
    pub unit: QueueUnit,
    /// When it marks; `None` if it does not, whatever its scheme would have it do.
    pub marking: Option<MarkingAt>,
}

impl PortFacts {
    /// A port that counts bytes and marks what arrives.
    pub fn new(number: u32, place: PortPlace, rate: Rate, buffer: Bytes) -> Self {
        let (unit, marking) = (QueueUnit::Bytes, Some(MarkingAt::Enqueue));
        PortFacts { number, place, rate, buffer, unit, marking }
    }
}
