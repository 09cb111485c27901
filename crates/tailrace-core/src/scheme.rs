//! A scheme: the parts that belong together, and what they are told about where they run.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::transport::TransportParams;
use crate::{
    Bytes, CongestionLaw, Controller, FlowInfo, Header, HostId, HostLaw, HostPolicy, MarkingAt, PortPolicy,
    QueueUnit, Rate, RateRule, Reveals, SizeDistribution, Slice, SwitchPlan, Time, WindowShim,
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
    /// What `buffer`, the room of [`PortPolicy::enqueue`] and thresholds count.
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

/// A parameter that cannot be used: which field, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct ParamError {
    /// The field, relative to the scheme's parameters.
    pub field: String,
    /// What was wrong and what would be right.
    pub message: String,
}

impl ParamError {
    /// An error about `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        ParamError { field: field.into(), message: message.into() }
    }

    /// The same error, seen from outside the table `parent`.
    pub fn within(mut self, parent: &str) -> Self {
        self.field = format!("{parent}.{}", self.field);
        self
    }
}

/// A scheme. Its parts are plain values; see the traits in [`crate::policy`].
pub trait Scheme: Sized + 'static {
    /// The name in files and on the command line.
    const NAME: &'static str;
    /// One line: what it does.
    const SUMMARY: &'static str;
    /// Where it was published.
    const SOURCE: &'static str;
    /// What it may know of flows.
    const KNOWS: Knowledge;
    /// Whether all packets of a flow must take one way through the fabric: ports keep state for it.
    const ONE_PATH: bool = false;

    /// Its parameters; doc comments become help, schema and web page.
    type Params: DeserializeOwned + Serialize + JsonSchema + Default + Clone;
    /// What it writes into packets.
    type Header: Header;
    /// Its congestion law.
    type Law: CongestionLaw<Self::Header>;
    /// Its part at hosts.
    type Host: HostPolicy;
    /// Its part at ports.
    type Port: PortPolicy<Self::Header>;

    /// Checks the parameters against where the scheme will run.
    fn new(params: Self::Params, facts: &Facts) -> Result<Self, ParamError>;
    /// Whether data packets are ECN-capable.
    fn ecn(&self) -> bool;
    /// The law of one flow.
    fn law(&self, flow: &FlowInfo) -> Self::Law;
    /// The policy of one host.
    fn host(&self) -> Self::Host;
    /// The policy of one port.
    fn port(&self, port: &PortFacts) -> Self::Port;
    /// What decides for the whole network, if the scheme has such.
    fn controller(&self) -> Option<Box<dyn Controller>> {
        None
    }
    /// How links would be shared if its feedback were instant and exact: its rule at flow level, if it has one.
    fn rate_rule(&self) -> Option<Box<dyn RateRule>> {
        None
    }
    /// Whether its ports can do nothing with packets that lack its header, as those of programs do.
    fn needs_header(&self) -> bool {
        Self::Header::WIRE_BYTES > 0
    }
    /// The window that hosts keep for connections of programs, if the scheme's law is one that a datapath can keep.
    fn window_shim(&self) -> Option<WindowShim> {
        None
    }
    /// The congestion law of hosts, if it is one that the TCP of their own kernel can have: for flows that have no other.
    fn host_law(&self) -> Option<HostLaw> {
        None
    }
    /// What switch ports of this rate must be told for the scheme to work with real hosts, if queues, DSCP and
    /// ECN are all that it asks of them.
    fn switch_plan(&self, _link: Rate) -> Option<SwitchPlan> {
        None
    }
}
