//! Where schemes are checked: what they are told about their network, and the flows they get.

use tailrace_core::random::Stream;
use tailrace_core::{
    Bytes, Facts, FlowId, FlowInfo, Objective, Rate, Reveals, Scheme, SizeDistribution, Slice, Time, Traffic,
};

/// Unloaded round trip between two hosts.
pub const BASE_RTT: Time = Time::from_us(80);

/// What schemes are told: sixteen hosts on links of 10 Gbps in four racks, with traffic that is planned and two slices.
pub fn facts() -> Result<Facts, String> {
    let sizes = SizeDistribution::new(vec![(1_000.0, 0.0), (20_000.0, 0.6), (5_000_000.0, 1.0)]);
    let sizes = sizes.map_err(|error| error.to_string())?;
    let slice = |objective| Slice { weight: 1.0, objective };
    Ok(Facts {
        traffic: Some(Traffic { sizes, workload: None, load: 0.6, classes: vec![] }),
        slices: vec![slice(Objective::Completion), slice(Objective::Deadline)],
        racks: (0..16).map(|host| host / 4).collect(),
        ..Facts::new(16, Rate::from_gbps(10), BASE_RTT, 4)
    })
}

/// The scheme with its default parameters.
pub fn scheme<S: Scheme>() -> Result<S, String> {
    let scheme = S::new(S::Params::default(), &facts()?);
    scheme.map_err(|error| format!("refuses its own defaults: {error}"))
}

/// A flow of `size` from host 0 to host 1, with what scheme `S` may know of it: with a deadline, with its size only, or
/// with nothing revealed.
pub fn flow<S: Scheme>(id: FlowId, size: u64, start: Time, stream: &mut Stream) -> FlowInfo {
    let reveals = [Reveals::Deadline, Reveals::Size, Reveals::Nothing][stream.below(3) as usize];
    let info = FlowInfo {
        id,
        src: 0,
        dst: 1,
        size: Some(Bytes::new(size)),
        start,
        // From what cannot be kept to what is easily kept.
        deadline: Some(start + Time::from_us(20 << stream.below(12))),
        slice: stream.below(3) as u16,
        task: stream.below(4),
    };
    S::KNOWS.filter(reveals.filter(info))
}
