//! Failures of commands on real packets.

use tailrace_core::LiveError;
use tailrace_experiment::Error;

/// The failure of a build without the host agent.
pub fn absent() -> Error {
    let message = "this build has no host agent: apt-get install clang-19 libelf-dev zlib1g-dev pkg-config protobuf-compiler libprotobuf-dev, then make \
                   .venv/built (or cargo build -p tailrace-cli --features agent)";
    Error::Live(LiveError::SetUp(message.to_owned()))
}

#[cfg(feature = "agent")]
/// The failure of an agent or a controller as the command reports it.
pub fn of_agent(error: tailrace_agent::Error) -> Error {
    match error {
        tailrace_agent::Error::Input(error) => Error::Input(error),
        tailrace_agent::Error::Live(error) => Error::Live(error),
        tailrace_agent::Error::File { path, source } => Error::storage(&path, source),
    }
}
