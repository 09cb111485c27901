//! Records of live networks, given to fresh ones.

use std::io::BufReader;
use std::path::Path;

use tailrace_config::{ScenarioError, open_file};
use tailrace_core::Scheme;
use tailrace_linux::{Record, RecordError, Replayed};
use tailrace_scenario::Scenario;
use tailrace_schemes::SchemeVisitor;
use tailrace_workload::feed::Feed;

use tailrace_run::{build, packets};

/// Gives the packets of a record to the network of the scenario that it holds, at the times at which they entered, and
/// compares what leaves and is dropped.
pub fn replay(path: &Path) -> Result<Replayed, ScenarioError> {
    let failed = |error: RecordError| ScenarioError::new("", error.to_string()).in_file(path);
    let file = open_file(path).map_err(|error| failed(error.into()))?;
    let record = Record::open(BufReader::new(file)).map_err(failed)?;
    let scenario = Scenario::parse(record.description()).map_err(|error| error.in_file(path))?;
    build::visit(&scenario, Replay { scenario: &scenario, record })?.map_err(failed)
}

struct Replay<'a> {
    scenario: &'a Scenario,
    record: Record<BufReader<std::fs::File>>,
}

impl SchemeVisitor for Replay<'_> {
    type Output = Result<Result<Replayed, RecordError>, ScenarioError>;

    fn visit<S: Scheme>(self) -> Self::Output {
        let Replay { scenario, mut record } = self;
        let fabric = scenario.fabric.build();
        let world = packets::world::<S>(scenario, &fabric, Feed::from(Vec::new()))?.outside();
        Ok(tailrace_linux::replay(world, &mut record))
    }
}
