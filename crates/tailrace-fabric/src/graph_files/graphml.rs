//! GraphML, as NetworkX, yEd, Gephi and igraph write it.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};
use tailrace_config::ScenarioError;

use super::drawn::{Attributes, Drawn, DrawnLink};

/// Reads the first graph of a file.
pub(super) fn read(text: &str) -> Result<Drawn, ScenarioError> {
    let document = Document::parse(text).map_err(|error| {
        let line = error.pos().row as usize;
        ScenarioError { line: Some(line), ..ScenarioError::new("", format!("is no XML: {error}")) }
    })?;
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        let message = format!("is XML, but its root is <{}>, not <graphml>", root.tag_name().name());
        return Err(ScenarioError::new("", message));
    }
    let elements = |of: Node<'_, '_>, name: &'static str| {
        of.children()
            .filter(move |child| child.tag_name().name() == name)
            .map(|child| child.id())
            .collect::<Vec<_>>()
    };
    let element = |id| document.get_node(id).expect("it is of this document");
    let keys: BTreeMap<&str, Key<'_>> =
        elements(root, "key").into_iter().filter_map(|id| Key::of(element(id))).collect();
    let Some(&graph) = elements(root, "graph").first() else {
        return Err(ScenarioError::new("", "holds no <graph>"));
    };
    let graph = element(graph);
    let mut drawn = Drawn {
        directed: graph.attribute("edgedefault") == Some("directed"),
        attributes: data(graph, &keys, "graph"),
        ..Drawn::default()
    };
    for child in graph.children().filter(Node::is_element) {
        let line = document.text_pos_at(child.range().start).row as usize;
        let attribute = |name: &str| {
            child.attribute(name).map(str::to_owned).ok_or_else(|| {
                let message = format!("<{}> has no {name}", child.tag_name().name());
                ScenarioError { line: Some(line), ..ScenarioError::new("", message) }
            })
        };
        match child.tag_name().name() {
            "node" => drawn.nodes.push((attribute("id")?, data(child, &keys, "node"))),
            "edge" if !drawn.directed && child.attribute("directed") == Some("true") => {
                let error =
                    ScenarioError::new("", "<edge> is directed in a graph that is not: links lead both ways");
                return Err(ScenarioError { line: Some(line), ..error });
            }
            "edge" => drawn.links.push(DrawnLink {
                ends: [attribute("source")?, attribute("target")?],
                attributes: data(child, &keys, "edge"),
                line: Some(line),
            }),
            "hyperedge" => {
                let error = ScenarioError::new("", "<hyperedge>: a link joins two nodes");
                return Err(ScenarioError { line: Some(line), ..error });
            }
            _ => {}
        }
    }
    Ok(drawn)
}

/// What `<data key="d0">` is about.
struct Key<'a> {
    name: &'a str,
    of: &'a str,
    default: Option<&'a str>,
}

impl<'a> Key<'a> {
    fn of(element: Node<'a, '_>) -> Option<(&'a str, Self)> {
        let default = element.children().find(|child| child.tag_name().name() == "default");
        let key = Key {
            name: element.attribute("attr.name")?,
            of: element.attribute("for").unwrap_or("all"),
            default: default.and_then(|default| default.text()),
        };
        Some((element.attribute("id")?, key))
    }
}

/// The attributes of an element, with the defaults of those that it leaves out.
fn data(element: Node<'_, '_>, keys: &BTreeMap<&str, Key<'_>>, of: &str) -> Attributes {
    let applies = |key: &&Key<'_>| key.of == of || key.of == "all";
    let defaults = keys.values().filter(applies).filter_map(|key| Some((key.name, key.default?)));
    let own = element.children().filter(|child| child.tag_name().name() == "data").filter_map(|child| {
        let key = keys.get(child.attribute("key")?)?;
        Some((key.name, child.text()?))
    });
    defaults.chain(own).map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}
