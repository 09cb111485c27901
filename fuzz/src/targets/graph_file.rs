//! Any file is a graph that flows can cross, or an error.

use tailrace_core::{HostId, Time};
use tailrace_fabric::{FabricParams, Node, graph_of_text};
use toml::Value;

use super::{Outcome, magnitude, refused};

pub(super) fn check(bytes: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(bytes);
    let gbps = || Some("Gbps".to_owned());
    let graph = graph_of_text(&text, gbps(), Some("us".to_owned())).and_then(|mut fields| {
        for (field, value) in [("kind", "graph"), ("rate", "10Gbps")] {
            fields.insert(field.to_owned(), Value::String(value.to_owned()));
        }
        FabricParams::from_table(&fields)
    });
    let params = match graph {
        Err(error) => {
            assert!(!error.message.is_empty());
            return refused(&error);
        }
        Ok(params) => params,
    };
    assert_eq!(
        FabricParams::from_table(&params.to_table()).as_ref(),
        Ok(&params),
        "what is written is read back"
    );
    let fabric = params.build();
    assert!(fabric.base_rtt() > Time::ZERO);
    let last = (fabric.hosts - 1) as HostId;
    let path: Vec<_> = fabric.hashed_path(0, last, 7).collect();
    assert_eq!(fabric.ports[path[path.len() - 1] as usize].to, Node::Host(last));
    assert!(path.len() <= fabric.longest_path());
    Outcome::Used(format!("{} {}", magnitude(fabric.switches as u64), magnitude(path.len() as u64)))
}
