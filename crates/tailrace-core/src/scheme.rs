//! A scheme: the parts that belong together.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{
    CongestionLaw, Controller, Facts, FlowInfo, Header, HostLaw, HostPolicy, Knowledge, ParamError,
    PortFacts, PortPolicy, Rate, RateRule, SwitchPlan, WindowShim,
};

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
