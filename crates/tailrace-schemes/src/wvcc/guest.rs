//! The stacks that guests may run behind a shim.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error};
use tailrace_core::{
    AckSample, Allowance, CongestionLaw, Directive, Facts, FlowInfo, FlowView, Loss, ParamError, Scheme,
    Segment, SeriesSink, Standing, Time,
};

use crate::cubic::Cubic;
use crate::d2tcp::D2tcp;
use crate::dctcp::Dctcp;
use crate::l2dct::L2dct;
use crate::tcp::Tcp;

macro_rules! guests {
    ($($(#[$doc:meta])* $name:ident: $scheme:ty),* $(,)?) => {
        /// A guest's transport. Any scheme that does no more than keep a window by acknowledgements will do;
        /// schemes that tag packets or talk to switches cannot be wrapped.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        pub enum GuestKind { #[default] $($(#[$doc])* $name),* }

        impl GuestKind {
            /// The names that files know them by: those of their schemes.
            pub const NAMES: &[&str] = &[$(<$scheme>::NAME),*];

            fn named(name: &str) -> Option<Self> {
                $(if name == <$scheme>::NAME { return Some(GuestKind::$name); })*
                None
            }
        }

        /// A guest's scheme, with its own defaults.
        #[expect(missing_docs, reason = "as in GuestKind")]
        pub enum GuestScheme { $($name($scheme)),* }

        /// A guest's law.
        #[expect(missing_docs, reason = "as in GuestKind")]
        pub enum Guest { $($name(<$scheme as Scheme>::Law)),* }

        impl GuestScheme {
            /// The scheme of that kind.
            pub fn new(kind: GuestKind, facts: &Facts) -> Result<Self, ParamError> {
                Ok(match kind {
                    $(GuestKind::$name => GuestScheme::$name(<$scheme>::new(Default::default(), facts)?)),*
                })
            }

            /// The law of one flow.
            pub fn law(&self, flow: &FlowInfo) -> Guest {
                match self { $(GuestScheme::$name(scheme) => Guest::$name(scheme.law(flow))),* }
            }
        }

        // Clippy reports a method that is missing here: whatever a guest's law does, it does as a guest.
        #[deny(clippy::missing_trait_methods)]
        impl CongestionLaw for Guest {
            #[inline]
            fn stamp(&mut self, now: Time, segment: &Segment, flow: &FlowView) {
                match self { $(Guest::$name(law) => law.stamp(now, segment, flow)),* }
            }
            #[inline]
            fn on_feedback(&mut self, now: Time, rtt: Time, echo: &(), flow: &FlowView) {
                match self { $(Guest::$name(law) => law.on_feedback(now, rtt, echo, flow)),* }
            }
            #[inline]
            fn on_ack(&mut self, ack: &AckSample, flow: &FlowView) {
                match self { $(Guest::$name(law) => law.on_ack(ack, flow)),* }
            }
            fn on_loss(&mut self, now: Time, loss: Loss, flow: &FlowView) {
                match self { $(Guest::$name(law) => law.on_loss(now, loss, flow)),* }
            }
            #[inline]
            fn allowance(&self) -> Allowance {
                match self { $(Guest::$name(law) => law.allowance()),* }
            }
            #[inline]
            fn burst(&self) -> u16 {
                match self { $(Guest::$name(law) => law.burst()),* }
            }
            #[inline]
            fn probe_at(&self) -> Time {
                match self { $(Guest::$name(law) => law.probe_at()),* }
            }
            fn probe(&mut self, now: Time, flow: &FlowView) {
                match self { $(Guest::$name(law) => law.probe(now, flow)),* }
            }
            fn farewell(&mut self, now: Time) -> Option<()> {
                match self { $(Guest::$name(law) => law.farewell(now)),* }
            }
            #[inline]
            fn standing(&self) -> Standing {
                match self { $(Guest::$name(law) => law.standing()),* }
            }
            fn directed(&mut self, directive: &Directive) {
                match self { $(Guest::$name(law) => law.directed(directive)),* }
            }
            fn demoted(&mut self) {
                match self { $(Guest::$name(law) => law.demoted()),* }
            }
            fn trace(&mut self, now: Time, series: &mut dyn SeriesSink) {
                match self { $(Guest::$name(law) => law.trace(now, series)),* }
            }
        }
    };
}

guests! {
    /// CUBIC, what hosts run if nobody chose.
    Cubic: Cubic,
    /// NewReno.
    Tcp: Tcp,
    /// DCTCP.
    Dctcp: Dctcp,
    /// D2TCP: by deadlines.
    D2tcp: D2tcp,
    /// L2DCT: by what has been sent.
    L2dct: L2dct,
}

/// The names of all other schemes. Each does more, or other, than to keep a window by acknowledgements.
pub(super) const NO_GUESTS: &[&str] = &[
    "fifo", "hull", "qjump", "mlfq", "pias", "awafs", "karuna", "pfabric", "las", "rcp", "d3", "pdq",
    "baraat", "wvcc", "acdc", "uranus", "scc",
];

impl<'de> Deserialize<'de> for GuestKind {
    /// A scheme that cannot be a guest is no slip of the pen: its user is told why.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        GuestKind::named(&name).ok_or_else(|| {
            if NO_GUESTS.contains(&&*name) {
                D::Error::custom(format!(
                    "\"{name}\" cannot be wrapped: a guest keeps a window by acknowledgements and does no more, but \
                     schemes that tag packets, talk to switches or wrap others need more; known guests are {}",
                    GuestKind::NAMES.join(", ")
                ))
            } else {
                D::Error::unknown_variant(&name, GuestKind::NAMES)
            }
        })
    }
}
