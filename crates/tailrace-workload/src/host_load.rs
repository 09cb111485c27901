//! How much a host's link carries.

/// Expected load of a host's link in both directions, as shares of its own rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostLoad {
    /// What the host sends.
    pub sends: f64,
    /// What it receives.
    pub receives: f64,
}

/// The largest load of any link.
pub(super) fn busiest(loads: &[HostLoad]) -> f64 {
    loads.iter().map(|load| load.sends.max(load.receives)).fold(0.0, f64::max)
}
