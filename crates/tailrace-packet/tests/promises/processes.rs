//! Where a logical process fails, the run fails with its error or panic, and no thread goes on.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::setup::{Setup, fabric, flow};
use tailrace_core::{Ending, Scheme, Time};
use tailrace_packet::{LookAheads, Partition, ProcessSpec, World, run_parallel};
use tailrace_schemes::dctcp::{Dctcp, Params};

const FABRIC: &str = "kind = \"leaf-spine\"\nleaves = 3\nspines = 1\nhosts_per_leaf = 2\nhost_rate = \"10Gbps\"\n\
                      spine_rate = \"40Gbps\"";

/// The process that fails, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failing {
    Nowhere,
    /// It cannot be built.
    Building(usize),
    /// It panics, while the others wait for it already. (`nothing_arrives_in_the_past` panics in the middle of a run.)
    Panicking(usize),
}

/// Runs in three logical processes, a rack each.
fn in_parallel(setup: &Setup, failing: Failing) -> Result<Ending, String> {
    let Setup { fabric, transport, flows, horizon, watch, seed } = setup;
    let partition = Arc::new(Partition::by_racks(fabric, 3));
    assert_eq!(partition.processes(), 3);
    let look_aheads = LookAheads::new(&partition, fabric, transport);
    let build = |process: ProcessSpec| {
        let own = process.own;
        if failing == Failing::Building(own) {
            return Err(format!("process {own} is not built"));
        }
        if failing == Failing::Panicking(own) {
            std::thread::sleep(Duration::from_millis(50));
            panic!("process {own} has had enough");
        }
        let scheme = Dctcp::new(Params::default(), &setup.facts()).map_err(|error| error.to_string())?;
        let (flows, watch, process) = (flows.clone().into(), watch.clone(), Some(process));
        Ok(World::for_process(scheme, fabric, *transport, flows, *horizon, watch, *seed, process))
    };
    run_parallel(&partition, &look_aheads, &build, &mut |_| ControlFlow::Continue(()))
        .map(|(_, ending)| ending)
}

fn run(failing: Failing) -> Result<Ending, String> {
    // Everybody sends 3,000 packets to somebody of the next rack.
    let flows = (0..6).map(|host| flow(host, (host + 2) % 6, 3_000 * 1_460, Time::from_us(1))).collect();
    let setup = Setup { horizon: Some(Time::from_ms(1_000)), ..Setup::new(fabric(FABRIC), flows) };
    in_parallel(&setup, failing)
}

/// How it ended, in time: a process that waits for one that is gone would wait for ever.
fn in_time(failing: Failing) -> Result<Result<Ending, String>, String> {
    let (tell, told) = std::sync::mpsc::channel();
    #[expect(clippy::disallowed_methods, reason = "a run that hangs must not hang the test")]
    std::thread::spawn(move || {
        let said = |said: Box<dyn std::any::Any + Send>| match said.downcast::<String>() {
            Ok(text) => *text,
            Err(_) => "no text".to_owned(),
        };
        let ended = catch_unwind(AssertUnwindSafe(|| run(failing))).map_err(said);
        tell.send(ended)
    });
    told.recv_timeout(Duration::from_secs(120)).unwrap_or_else(|_| panic!("{failing:?}: it does not end"))
}

#[test]
fn a_process_that_fails_ends_the_run_with_its_error() {
    assert_eq!(in_time(Failing::Nowhere), Ok(Ok(Ending::Finished)));
    for process in 0..3 {
        assert_eq!(in_time(Failing::Building(process)), Ok(Err(format!("process {process} is not built"))));
        assert_eq!(in_time(Failing::Panicking(process)), Err(format!("process {process} has had enough")));
    }
}
