//! Any file is a table of flow sizes from which flows can be drawn, or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailrace_core::Bytes;
use tailrace_scenario::Scenario;
use tailrace_traffic::Feed;

mod scratch;

const SCENARIO: &str = r#"
    [fabric]
    preset = "micro4"
    [workload]
    sizes = { file = "sizes.cdf" }
    load = 0.5
    flows = 20
    [scheme]
    name = "fifo"
"#;

fuzz_target!(|bytes: &[u8]| {
    let (folder, _) = scratch::write("sizes.cdf", bytes);
    let mut scenario = Scenario::parse(SCENARIO).expect("the scenario itself is valid");
    match scenario.read_files(&folder) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(()) => {
            if let Ok(flows) = Feed::new(&scenario.workload, &scenario.base, scenario.setting(), scenario.seed) {
                assert!(flows.into_iter().all(|flow| flow.size > Bytes::ZERO));
            }
        }
    }
});
