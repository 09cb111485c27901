//! Fabrics as text: a graph's links, and what there is of hosts, switches and links in a line.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tailrace_config::ScenarioError;
use tailrace_console::say_part;
use tailrace_core::Rate;
use tailrace_experiment::trace::fabric_named;
use tailrace_fabric::{FabricKind, FabricParams, Graph};
use toml::Table;

/// Prints a preset, or the fabric of a file, as the `[fabric]` of a graph.
pub fn print_graph(name: &str) -> Result<i32, ScenarioError> {
    let params = FabricParams::from_table(&fabric_named(name)?)?.as_graph();
    // Some have more switches than a graph may.
    FabricParams::from_table(&params.to_table())?;
    say_part!("{}", as_graph(&params));
    Ok(0)
}

/// `[fabric]` with one link a line.
fn as_graph(params: &FabricParams) -> String {
    let mut fields = params.to_table();
    let links = fields.remove("link");
    let mut text = "[fabric]\n".to_owned();
    for (name, value) in &fields {
        let _ = writeln!(text, "{name} = {value}");
    }
    text += "link = [\n";
    for link in links.iter().flat_map(|links| links.as_array().into_iter().flatten()) {
        let _ = writeln!(text, "  {link},");
    }
    text + "]\n"
}

/// The fields of `[fabric]` in a line; of a graph what it has.
pub fn in_a_line(fabric: &Table) -> String {
    if fabric.contains_key("link")
        && let Ok(FabricParams { kind: FabricKind::Graph(graph), .. }) = FabricParams::from_table(fabric)
    {
        return graph_in_a_line(&graph);
    }
    fabric.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

fn graph_in_a_line(graph: &Graph) -> String {
    let mut rates: BTreeMap<Rate, usize> = BTreeMap::new();
    graph.links.iter().for_each(|link| *rates.entry(link.rate).or_default() += 1);
    let links: Vec<String> = rates.iter().map(|(rate, count)| format!("{count} of {rate}")).collect();
    let count = |number: usize, what: &str| match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}{}", if what.ends_with('h') { "es" } else { "s" }),
    };
    format!(
        "{}, {}, {}: {}",
        count(graph.hosts.len(), "host"),
        count(graph.switches.len(), "switch"),
        count(graph.links.len(), "link"),
        links.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::Value;

    fn preset(name: &str) -> FabricParams {
        FabricParams::from_table(&format!("preset = \"{name}\"").parse().unwrap()).unwrap()
    }

    #[test]
    fn what_is_printed_is_the_fabric() {
        for name in ["micro4", "spine144", "tree5x4", "rack16"] {
            let params = preset(name);
            let mut read: Table = as_graph(&params.as_graph()).parse().unwrap();
            let Some(Value::Table(fabric)) = read.remove("fabric") else { panic!("{read}") };
            let again = FabricParams::from_table(&fabric).unwrap();
            assert_eq!(again, params.as_graph());
            assert_eq!(
                (&again.build().ports, &again.build().routes),
                (&params.build().ports, &params.build().routes)
            );
        }
    }

    #[test]
    fn a_graph_in_a_line() {
        let line = in_a_line(&preset("spine144").as_graph().to_table());
        assert_eq!(line, "144 hosts, 13 switches, 180 links: 144 of 10Gbps, 36 of 40Gbps");
        assert_eq!(in_a_line(&"preset = \"spine144\"".parse().unwrap()), "preset = \"spine144\"");
    }
}
