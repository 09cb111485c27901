//! What is given any input, one file each.

mod agenda;
mod cdf_file;
mod coflow_trace;
mod experiment_file;
mod flow_list;
mod frames;
mod graph_file;
mod headers;
mod live_record;
mod memcached;
mod scenario_text;
mod trace;
mod transport;

use tailrace_config::ScenarioError;

/// A function that takes any bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What it is called: the folder of its corpus.
    pub name: &'static str,
    /// Panics if a promise is broken.
    pub check: fn(&[u8]) -> Outcome,
    /// What mutations know of the input.
    pub syntax: Syntax,
}

/// What mutations know of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Nothing.
    Bytes,
    /// It is a TOML document.
    Toml,
}

/// What came of an input, in a few words. One with a new outcome is worth building upon.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It was used.
    Used(String),
    /// It was refused.
    Refused(String),
}

/// All targets.
pub const TARGETS: [Target; 13] = [
    Target { name: "agenda", check: agenda::check, syntax: Syntax::Bytes },
    Target { name: "cdf_file", check: cdf_file::check, syntax: Syntax::Bytes },
    Target { name: "coflow_trace", check: coflow_trace::check, syntax: Syntax::Bytes },
    Target { name: "experiment_file", check: experiment_file::check, syntax: Syntax::Toml },
    Target { name: "flow_list", check: flow_list::check, syntax: Syntax::Bytes },
    Target { name: "frames", check: frames::check, syntax: Syntax::Bytes },
    Target { name: "graph_file", check: graph_file::check, syntax: Syntax::Bytes },
    Target { name: "headers", check: headers::check, syntax: Syntax::Bytes },
    Target { name: "live_record", check: live_record::check, syntax: Syntax::Bytes },
    Target { name: "memcached", check: memcached::check, syntax: Syntax::Bytes },
    Target { name: "scenario_text", check: scenario_text::check, syntax: Syntax::Toml },
    Target { name: "trace", check: trace::check, syntax: Syntax::Bytes },
    Target { name: "transport", check: transport::check, syntax: Syntax::Bytes },
];

/// The outcome that an error is: its field and words, without what they quote and count.
fn refused(error: &ScenarioError) -> Outcome {
    let unquoted = error.message.split(['"', '`']).step_by(2);
    let words = unquoted.flat_map(|part| part.split(|c: char| !c.is_ascii_alphabetic()));
    let words = words.filter(|word| word.len() > 2).take(12);
    let field = error.field.split(|c: char| !c.is_ascii_alphabetic() && c != '_');
    Outcome::Refused(field.chain(words).collect::<Vec<_>>().join(" "))
}

/// The magnitude of a count.
fn magnitude(count: u64) -> u32 {
    count.checked_ilog2().unwrap_or_default()
}
