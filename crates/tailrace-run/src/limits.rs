//! How late live packets may be.

use tailrace_core::Time;
use tailrace_fabric::Fabric;

/// Where one packet in a hundred is later than this, or than a tenth of the farthest round trip if that is more, numbers
/// are of the machine and not of the scheme.
const WORST_LAG: Time = Time::from_us(300);

/// What may be the lag of one packet in a hundred.
pub(crate) fn tolerable_lag(fabric: &Fabric) -> Time {
    WORST_LAG.max(Time::from_ps(fabric.base_rtt().as_ps() / 10))
}
