//! The registry: the one place where a scheme's name becomes its type.

use tailrace_core::{FlowScheme, Scheme};

/// Something to do with a scheme whose type is known only by name.
pub trait SchemeVisitor {
    /// What comes of it.
    type Output;
    /// Does it for scheme `S`.
    fn visit<S: Scheme>(self) -> Self::Output;
}

/// The same for schemes that exist at flow level only.
pub trait FlowSchemeVisitor {
    /// What comes of it.
    type Output;
    /// Does it for scheme `S`.
    fn visit<S: FlowScheme>(self) -> Self::Output;
}

/// No scheme has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown;

macro_rules! flow_schemes {
    ($($scheme:ty),* $(,)?) => {
        /// The names of all schemes that exist at flow level only.
        pub const FLOW_NAMES: &[&str] = &[$(<$scheme>::NAME),*];

        /// Lets `visitor` work with the scheme called `name`, which exists at flow level only.
        pub fn with_flow_scheme<V: FlowSchemeVisitor>(name: &str, visitor: V) -> Result<V::Output, Unknown> {
            $(if name == <$scheme>::NAME { return Ok(visitor.visit::<$scheme>()); })*
            Err(Unknown)
        }
    };
}

macro_rules! schemes {
    ($($scheme:ty),* $(,)?) => {
        /// The names of all schemes.
        pub const NAMES: &[&str] = &[$(<$scheme>::NAME),*];

        /// Lets `visitor` work with the scheme called `name`.
        pub fn with_scheme<V: SchemeVisitor>(name: &str, visitor: V) -> Result<V::Output, Unknown> {
            $(if name == <$scheme>::NAME { return Ok(visitor.visit::<$scheme>()); })*
            Err(Unknown)
        }
    };
}

schemes! {
    crate::fifo::Fifo,
    crate::tcp::Tcp,
    crate::cubic::Cubic,
    crate::dctcp::Dctcp,
    crate::hull::Hull,
    crate::qjump::Qjump,
    crate::mlfq::Mlfq,
    crate::pias::Pias,
    crate::awafs::Awafs,
    crate::d2tcp::D2tcp,
    crate::l2dct::L2dct,
    crate::karuna::Karuna,
    crate::pfabric::Pfabric,
    crate::las::Las,
    crate::rcp::Rcp,
    crate::d3::D3,
    crate::pdq::Pdq,
    crate::baraat::Baraat,
    crate::wvcc::Wvcc,
    crate::acdc::Acdc,
    crate::uranus::Uranus,
    crate::scc::Scc,
}

flow_schemes! {
    crate::orchestra::Orchestra,
    crate::stf::Stf,
    crate::sff::Sff,
    crate::srpt::Srpt,
    crate::edf::Edf,
}
