//! Any file is a list of flows that can run or an error that names file and line; a list reads back as it was
//! written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailrace_core::{Rate, Time};
use tailrace_fabric::Racks;
use tailrace_workload::Setting;
use tailrace_workload::flow_list::{read_csv, write_csv};

mod scratch;

const HOSTS: u16 = 16;
const SETTING: Setting = Setting {
    hosts: HOSTS,
    racks: Racks { first: 4, each: 4 },
    racks_per_pod: 4,
    slices: 100,
    host_rate: Rate::from_gbps(10),
    mss: 1460,
    base_rtt: Time::from_us(85),
};

fuzz_target!(|bytes: &[u8]| {
    let (_, path) = scratch::write("flows.csv", bytes);
    match read_csv(&path, &SETTING) {
        Err(error) => assert!(error.to_string().contains("flows.csv:"), "{error}"),
        Ok(flows) => {
            assert!(flows.is_sorted_by_key(|flow| flow.start));
            assert!(flows.iter().all(|flow| flow.src != flow.dst && flow.src.max(flow.dst) < HOSTS));
            assert!(flows.iter().all(|flow| usize::from(flow.slice) <= SETTING.slices));
            let mut written = Vec::new();
            write_csv(flows.iter().copied(), &mut written).expect("memory takes what is written");
            let (_, path) = scratch::write("flows.csv", &written);
            assert_eq!(read_csv(&path, &SETTING).expect("what was written is read"), flows);
        }
    }
});
