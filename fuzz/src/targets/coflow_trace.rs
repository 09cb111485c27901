//! Any file is a trace of coflows that can run or an error that names file and line.

use tailrace_core::{Bytes, Time};
use tailrace_scenario::Scenario;
use tailrace_workload::feed::Feed;

use super::{Outcome, magnitude, refused};
use crate::scratch;

const SCENARIO: &str = r#"
    [fabric]
    preset = "rack16"
    [workload]
    coflow_trace = "trace.txt"
    [scheme]
    name = "fifo"
"#;

pub(super) fn check(bytes: &[u8]) -> Outcome {
    scratch::write("trace.txt", bytes);
    let mut scenario = Scenario::parse(SCENARIO).expect("the scenario itself is valid");
    scenario.read_files(&scratch::folder()).expect("the file is there");
    let mut feed = match Feed::new(&scenario.workload, &scenario.base, scenario.setting(), scenario.seed) {
        Err(error) => {
            assert!(error.to_string().contains("trace.txt:"), "{error}");
            return refused(&error);
        }
        Ok(feed) => feed,
    };
    let (mut last, mut flows) = (Time::ZERO, 0u32);
    while let Some(flow) = feed.pop() {
        assert!(flow.src != flow.dst && flow.src.max(flow.dst) < 16 && flow.task > 0);
        assert!(flow.size > Bytes::ZERO && flow.size <= flow.task_size && flow.start >= last);
        last = flow.start;
        feed.ended(last, flow.ticket);
        flows += 1;
    }
    assert!(feed.is_empty());
    Outcome::Used(format!("2^{} flows", magnitude(flows.into())))
}
