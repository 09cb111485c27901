//! Any text is a scenario or an error with words in it; what is a scenario reads back from its resolved text
//! as the same. `fuzz/scenario.dict` has the words that chance would not find: `-- -dict=fuzz/scenario.dict`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailrace_scenario::Scenario;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Scenario::parse(text) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(scenario) => {
            let resolved = scenario.resolved();
            let again = Scenario::parse(&resolved)
                .unwrap_or_else(|error| panic!("a resolved scenario is refused: {error}\n{resolved}"));
            assert_eq!(again.resolved(), resolved);
            assert_eq!(again.key(), scenario.key());
        }
    }
});
