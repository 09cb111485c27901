//! WVCC: a shim that makes the windows of unchanged guests share links in proportion to weights.

mod guest;
mod rounding;
mod settling;
mod shim;
#[cfg(test)]
mod tests;

pub use guest::{Guest, GuestKind, GuestScheme};
pub use shim::{Bias, Enforced, ShimParams};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_core::transport::TransportParams;
use tailrace_core::{
    Directive, Facts, FlowInfo, HostPolicy, Knowledge, ParamError, PortFacts, Rate, Scheme, Slice,
    SwitchPlan, TagTable, Weight, WindowShim,
};
use tailrace_queues::{MultiQueue, PortParams};

/// Parameters of `wvcc`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What hosts run behind the shim.
    pub guest: GuestKind,
    /// The shim.
    pub shim: ShimParams,
    /// How ports queue and mark.
    pub port: PortParams,
}

impl Default for Params {
    fn default() -> Self {
        Params { guest: GuestKind::default(), shim: ShimParams::default(), port: PortParams::one_queue() }
    }
}

/// The scheme.
pub struct Wvcc {
    transport: TransportParams,
    params: Params,
    guest: GuestScheme,
    weights: SliceWeights,
}

/// Growth by weight: W += w/W for each segment (Eq. 7).
pub fn by_growth(weight: f64) -> Bias {
    Bias { growth: weight, cut: 1.0 }
}

impl Scheme for Wvcc {
    const NAME: &'static str = "wvcc";
    const SUMMARY: &'static str =
        "a shim at hosts by which flows share in proportion to their slices' weights";
    const SOURCE: &'static str = "Uranus, §4.2";
    const KNOWS: Knowledge = Knowledge { sizes: true, deadlines: true };
    type Params = Params;
    type Header = ();
    type Law = Enforced<Guest>;
    type Host = SliceWeights;
    type Port = MultiQueue;

    fn new(params: Params, facts: &Facts) -> Result<Self, ParamError> {
        params.shim.check().map_err(|e| e.within("shim"))?;
        params.port.check_untagged().map_err(|e| e.within("port"))?;
        let guest = GuestScheme::new(params.guest, facts)?;
        Ok(Wvcc {
            transport: facts.transport,
            params,
            guest,
            weights: SliceWeights::up_to_one(&facts.slices),
        })
    }
    fn ecn(&self) -> bool {
        true
    }
    fn law(&self, flow: &FlowInfo) -> Self::Law {
        Enforced::new(self.guest.law(flow), &self.params.shim, by_growth, flow, &self.transport)
    }
    fn host(&self) -> SliceWeights {
        self.weights.clone()
    }
    fn port(&self, port: &PortFacts) -> MultiQueue {
        MultiQueue::new(&self.params.port, port)
    }
    fn window_shim(&self) -> Option<WindowShim> {
        self.params.shim.in_datapath(&self.transport)
    }
    fn switch_plan(&self, link: Rate) -> Option<SwitchPlan> {
        Some(self.params.port.untagged_plan(link))
    }
}

/// A host that gives each flow the weight of its slice; flows of no slice have the weight of one.
#[derive(Clone, Debug)]
pub struct SliceWeights {
    weights: Vec<Weight>,
    tags: TagTable,
}

impl SliceWeights {
    /// The weights as they are.
    pub fn plain(slices: &[Slice]) -> Self {
        let weights = slices.iter().map(|slice| Weight::nearest(slice.weight)).collect();
        SliceWeights { weights, tags: TagTable::FLAT }
    }

    /// The weights, made smaller together if one is above 1: a flow of that weight is as bold as DCTCP, and WVCC
    /// has none that are bolder.
    pub fn up_to_one(slices: &[Slice]) -> Self {
        let most = slices.iter().map(|slice| slice.weight).fold(1.0, f64::max);
        let weights = slices.iter().map(|slice| Weight::nearest(slice.weight / most)).collect();
        SliceWeights { weights, tags: TagTable::FLAT }
    }

    /// The same with other tags for all flows.
    pub fn tagged(self, tags: TagTable) -> Self {
        SliceWeights { tags, ..self }
    }
}

impl HostPolicy for SliceWeights {
    fn directive(&self, flow: &FlowInfo) -> Directive {
        let place = usize::from(flow.slice).checked_sub(1);
        let weight = place.and_then(|place| self.weights.get(place)).copied().unwrap_or(Weight::ONE);
        Directive { weight, ..Directive::tagged(self.tags) }
    }
}
