//! Any file is a trace of coflows that can run or an error that names file and line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailrace_core::{Bytes, Time};
use tailrace_scenario::Scenario;
use tailrace_traffic::Feed;

mod scratch;

const SCENARIO: &str = r#"
    [fabric]
    preset = "rack16"
    [workload]
    coflow_trace = "trace.txt"
    [scheme]
    name = "fifo"
"#;

fuzz_target!(|bytes: &[u8]| {
    let (folder, _) = scratch::write("trace.txt", bytes);
    let mut scenario = Scenario::parse(SCENARIO).expect("the scenario itself is valid");
    scenario.read_files(&folder).expect("the file is there");
    match Feed::new(&scenario.workload, &scenario.base, scenario.setting(), scenario.seed) {
        Err(error) => assert!(error.to_string().contains("trace.txt:"), "{error}"),
        Ok(mut feed) => {
            let mut last = Time::ZERO;
            while let Some(flow) = feed.pop() {
                assert!(flow.src != flow.dst && flow.src.max(flow.dst) < 16 && flow.task > 0);
                assert!(flow.size > Bytes::ZERO && flow.size <= flow.task_size && flow.start >= last);
                last = flow.start;
                feed.ended(last, flow.ticket);
            }
            assert!(feed.is_empty());
        }
    }
});
