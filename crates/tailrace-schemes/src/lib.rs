//! The schemes. Each lives in one folder, and the registry has one line for each. Other crates know them by what their
//! traits say, not by name.

pub mod acdc;
pub mod awafs;
pub mod baraat;
pub mod cubic;
pub mod d2tcp;
pub mod d3;
pub mod dctcp;
pub mod edf;
pub mod fifo;
pub mod hull;
pub mod karuna;
pub mod l2dct;
pub mod las;
pub mod mlfq;
pub mod orchestra;
pub mod pdq;
pub mod pfabric;
pub mod pias;
pub mod qjump;
pub mod rcp;
mod registry;
pub mod scc;
pub mod sff;
pub mod srpt;
pub mod stf;
pub mod tcp;
pub mod uranus;
pub mod wvcc;

pub use registry::{
    FLOW_NAMES, FlowSchemeVisitor, NAMES, SchemeVisitor, Unknown, with_flow_scheme, with_scheme,
};
