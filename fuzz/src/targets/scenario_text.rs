//! Any text is a scenario or an error with words in it; what is a scenario reads back from its resolved text as the
//! same.

use tailrace_scenario::Scenario;

use super::{Outcome, refused};

pub(super) fn check(bytes: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(bytes) else { return Outcome::Refused("no text".to_owned()) };
    match Scenario::parse(text) {
        Err(error) => {
            assert!(!error.message.is_empty());
            refused(&error)
        }
        Ok(scenario) => {
            let resolved = scenario.resolved();
            let again = Scenario::parse(&resolved)
                .unwrap_or_else(|error| panic!("a resolved scenario is refused: {error}\n{resolved}"));
            assert_eq!(again.resolved(), resolved);
            assert_eq!(again.key(), scenario.key());
            let (rules, tasks) = (scenario.workload.rules.len(), scenario.workload.tasks.len());
            Outcome::Used(format!("{:?}, {rules} rules, {tasks} tasks", scenario.level))
        }
    }
}
