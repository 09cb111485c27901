//! Any file is a list of flows that can run or an error that names file and line; a list reads back as it was
//! written.

use tailrace_core::{Rate, Time};
use tailrace_fabric::Racks;
use tailrace_workload::Setting;
use tailrace_workload::flow_list::{read_csv, write_csv};

use super::{Outcome, magnitude, refused};
use crate::scratch;

const HOSTS: u32 = 16;
const SETTING: Setting = Setting {
    hosts: HOSTS,
    speeds: Vec::new(),
    racks: Racks::bounded(&[0, 4, 8, 12, 16]),
    racks_per_pod: 4,
    slices: 100,
    host_rate: Rate::from_gbps(10),
    mss: 1460,
    base_rtt: Time::from_us(85),
};

pub(super) fn check(bytes: &[u8]) -> Outcome {
    let path = scratch::write("flows.csv", bytes);
    let flows = match read_csv(&path, &SETTING, &[]) {
        Err(error) => {
            assert!(error.to_string().contains("flows.csv:"), "{error}");
            return refused(&error);
        }
        Ok(flows) => flows,
    };
    assert!(flows.is_sorted_by_key(|flow| flow.start));
    assert!(flows.iter().all(|flow| flow.src != flow.dst && flow.src.max(flow.dst) < HOSTS));
    assert!(flows.iter().all(|flow| usize::from(flow.slice) <= SETTING.slices));
    let mut written = Vec::new();
    write_csv(flows.iter().copied(), &mut written).expect("memory takes what is written");
    let path = scratch::write("flows.csv", &written);
    assert_eq!(read_csv(&path, &SETTING, &[]).expect("what was written is read"), flows);
    Outcome::Used(format!("2^{} flows", magnitude(flows.len() as u64)))
}
