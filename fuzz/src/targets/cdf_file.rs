//! Any file is a table of flow sizes from which flows can be drawn, or an error.

use tailrace_config::ScenarioError;
use tailrace_core::Bytes;
use tailrace_scenario::Scenario;
use tailrace_workload::feed::Feed;

use super::{Outcome, refused};
use crate::scratch;

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

fn flows(scenario: &Scenario) -> Result<Feed, ScenarioError> {
    Feed::new(&scenario.workload, &scenario.base, scenario.setting(), scenario.seed)
}

pub(super) fn check(bytes: &[u8]) -> Outcome {
    scratch::write("sizes.cdf", bytes);
    let mut scenario = Scenario::parse(SCENARIO).expect("the scenario itself is valid");
    let flows = match scenario.read_files(&scratch::folder()).and_then(|()| flows(&scenario)) {
        Err(error) => {
            assert!(!error.message.is_empty());
            return refused(&error);
        }
        Ok(flows) => flows,
    };
    let mut drawn = 0;
    for flow in flows {
        assert!(flow.size > Bytes::ZERO, "a flow of no bytes");
        drawn += 1;
    }
    assert_eq!(drawn, 20, "flows drawn");
    Outcome::Used(String::new())
}
