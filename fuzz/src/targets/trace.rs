//! Any file is flows of somebody's hosts that can be described, or an error that names the file: of rows and, where its first byte
//! says so, of packets.

use tailrace_core::Time;
use tailrace_experiment::trace::Described;

use super::{Outcome, magnitude, refused};
use crate::scratch;

pub(super) fn check(bytes: &[u8]) -> Outcome {
    let (name, bytes) = match bytes.split_first() {
        Some((0, rest)) => ("trace.pcap", rest),
        _ => ("trace.csv", bytes),
    };
    let path = scratch::write(name, bytes);
    let described = match Described::read(&path, &[], None) {
        Err(error) => {
            assert!(error.to_string().contains(name), "{error}");
            return refused(&error);
        }
        Ok(described) => described,
    };
    let flows = &described.trace.flows;
    let hosts = described.trace.hosts.len();
    assert!(flows[0].start == Time::ZERO && flows.is_sorted_by_key(|flow| flow.start));
    assert!(flows.iter().all(|flow| flow.src != flow.dst && (flow.src.max(flow.dst) as usize) < hosts));
    if let Some(offered) = &described.offered {
        assert!(offered.load.is_finite() && offered.load <= offered.busiest().1 * (1.0 + 1e-9));
    }
    Outcome::Used(format!("2^{} flows, {} warnings", magnitude(flows.len() as u64), described.warnings.len()))
}
