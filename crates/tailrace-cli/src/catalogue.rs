//! `tailrace schemes`, `workloads` and `fabrics`: what there is, with parameters and source.

use schemars::{Schema, schema_for};
use serde_json::{Value, json};
use tailrace_config::{ScenarioError, suggest::unknown};
use tailrace_console::say;
use tailrace_core::{FlowScheme, Knowledge, Scheme};
use tailrace_experiment::Error;
use tailrace_fabric::{ListedFabric, list as fabric_list};
use tailrace_scenario::Scenario;
use tailrace_schemes::{
    FLOW_NAMES, FlowSchemeVisitor, NAMES, SchemeVisitor, Unknown, with_flow_scheme, with_scheme,
};
use tailrace_workload::published;

use crate::args::{Catalogue, Fabrics};
use crate::fabric_text::print_graph;

/// What there is to say of a scheme.
struct Entry {
    name: &'static str,
    summary: &'static str,
    source: &'static str,
    knows: &'static str,
    levels: &'static [&'static str],
    schema: Schema,
    defaults: Value,
}

impl Entry {
    fn json(&self) -> Value {
        json!({
            "name": self.name, "summary": self.summary, "source": self.source, "knows": self.knows,
            "levels": self.levels, "params": self.schema, "defaults": self.defaults,
        })
    }

    fn has_parameters(&self) -> bool {
        self.defaults.as_object().is_some_and(|fields| !fields.is_empty())
    }
}

/// Where a scheme can be asked what it is able to do with its default parameters: any that has all that schemes need.
const ANYWHERE: &str = r#"
fabric = { preset = "tree5x4" }
slice = [{ weight = 1 }]
workload = { sizes = "web-search", load = 0.5, flows = 1, slice = 1 }
"#;

struct Describe;

impl SchemeVisitor for Describe {
    type Output = Result<Entry, ScenarioError>;
    fn visit<S: Scheme>(self) -> Self::Output {
        Ok(Entry {
            name: S::NAME,
            summary: S::SUMMARY,
            source: S::SOURCE,
            knows: in_words(S::KNOWS),
            levels: if has_rule_for_rates::<S>()? { &["packet", "flow"] } else { &["packet"] },
            schema: schema_for!(S::Params),
            defaults: json!(S::Params::default()),
        })
    }
}

impl FlowSchemeVisitor for Describe {
    type Output = Result<Entry, ScenarioError>;
    fn visit<S: FlowScheme>(self) -> Self::Output {
        Ok(Entry {
            name: S::NAME,
            summary: S::SUMMARY,
            source: S::SOURCE,
            knows: in_words(S::KNOWS),
            levels: &["flow"],
            schema: schema_for!(S::Params),
            defaults: json!(S::Params::default()),
        })
    }
}

fn has_rule_for_rates<S: Scheme>() -> Result<bool, ScenarioError> {
    let scenario = Scenario::parse(&format!("{ANYWHERE}scheme = {{ name = \"{}\" }}\n", S::NAME))?;
    let facts = scenario.facts(&scenario.fabric.build());
    Ok(S::new(S::Params::default(), &facts).is_ok_and(|scheme| scheme.rate_rule().is_some()))
}

fn in_words(knows: Knowledge) -> &'static str {
    match (knows.sizes, knows.deadlines) {
        (false, false) => "nothing of a flow's size or deadline",
        (true, false) => "flow sizes",
        (false, true) => "deadlines",
        (true, true) => "flow sizes and deadlines",
    }
}

pub fn schemes(options: &Catalogue) -> Result<i32, Error> {
    let describe = |name: &str| -> Result<Entry, Error> {
        let names = || NAMES.iter().chain(FLOW_NAMES).copied();
        let found = with_scheme(name, Describe).or_else(|Unknown| with_flow_scheme(name, Describe));
        Ok(found.map_err(|Unknown| not_there("scheme", name, names()))??)
    };
    let entries: Vec<Entry> = match &options.name {
        Some(name) => vec![describe(name)?],
        None => NAMES.iter().chain(FLOW_NAMES).map(|name| describe(name)).collect::<Result<_, _>>()?,
    };
    if options.json {
        say!("{:#}", Value::Array(entries.iter().map(Entry::json).collect()));
    } else if options.name.is_some() {
        entries.iter().for_each(print_scheme);
    } else {
        let (both, flows) = entries.split_at(NAMES.len());
        let listed = |e: &Entry| (e.name, e.summary.to_owned(), e.source.to_owned());
        print_list(both.iter().map(listed));
        say!("\nAt flow level only:");
        print_list(flows.iter().map(listed));
        say!("\n`tailrace schemes NAME` shows a scheme's parameters.");
    }
    Ok(0)
}

fn print_scheme(entry: &Entry) {
    say!("{}: {}\nsource: {}\nknows: {}", entry.name, entry.summary, entry.source, entry.knows);
    say!("levels: {}\n", entry.levels.join(", "));
    say!("parameters (scheme.params):{}", if entry.has_parameters() { "" } else { " none" });
    print_fields(entry.schema.as_value(), entry.schema.as_value(), &entry.defaults, "  ");
}

/// Prints the fields of an object schema with their defaults and doc comments, tables within tables.
fn print_fields(root: &Value, schema: &Value, defaults: &Value, indent: &str) {
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, field) in fields {
        let target = resolve(root, field);
        let default = defaults.get(name).unwrap_or(&Value::Null);
        let text = field.get("description").or_else(|| target.get("description")).and_then(Value::as_str);
        let text = text.unwrap_or_default().replace('\n', " ");
        if default.is_object() && target.get("properties").is_some() {
            say!("{indent}{name}: {text}");
            print_fields(root, target, default, &format!("{indent}  "));
        } else {
            say!("{indent}{name} = {default}\n{indent}    {text}");
            for choice in choices(target) {
                say!("{indent}    {choice}");
            }
        }
    }
}

/// Follows a reference within the schema.
fn resolve<'a>(root: &'a Value, field: &'a Value) -> &'a Value {
    let reference = field.get("$ref").and_then(Value::as_str);
    reference.and_then(|r| root.pointer(r.strip_prefix('#')?)).unwrap_or(field)
}

/// The named values or the forms that a field may have, with what they mean.
fn choices(schema: &Value) -> Vec<String> {
    let variants = ["oneOf", "anyOf"].iter().filter_map(|kind| schema.get(kind)?.as_array()).flatten();
    let choice = |variant: &Value| {
        let text = variant.get("description").and_then(Value::as_str)?.replace('\n', " ");
        Some(variant.get("const").map_or(text.clone(), |value| format!("{value}: {text}")))
    };
    variants.filter_map(choice).collect()
}

pub fn workloads(options: &Catalogue) -> Result<i32, Error> {
    let all = published::list();
    let chosen: Vec<_> = all.iter().filter(|w| options.name.as_deref().is_none_or(|n| n == w.name)).collect();
    if let (Some(name), true) = (&options.name, chosen.is_empty()) {
        return Err(not_there("workload", name, all.iter().map(|w| w.name)));
    }
    if options.json {
        let json = |w: &&published::Published| {
            let sizes = w.distribution();
            json!({
                "name": w.name, "source": w.source, "mean_bytes": sizes.mean(),
                "points": sizes.points().iter().map(|(size, p)| json!([size, p])).collect::<Vec<_>>(),
            })
        };
        say!("{:#}", Value::Array(chosen.iter().map(json).collect()));
    } else if options.name.is_some() {
        for workload in chosen {
            let sizes = workload.distribution();
            say!("{}: mean {:.0} bytes\nsource: {}\n", workload.name, sizes.mean(), workload.source);
            say!("{:>14}  cumulative probability", "bytes");
            sizes.points().iter().for_each(|(size, p)| say!("{size:>14}  {p}"));
        }
    } else {
        print_list(
            chosen
                .iter()
                .map(|w| (w.name, format!("mean {:.0} bytes", w.distribution().mean()), w.source.to_owned())),
        );
    }
    Ok(0)
}

pub fn fabrics(options: &Fabrics) -> Result<i32, Error> {
    let Fabrics { catalogue: options, graph } = options;
    if let (Some(name), true) = (&options.name, graph) {
        return Ok(print_graph(name)?);
    }
    let all = fabric_list();
    let chosen: Vec<_> = all.iter().filter(|f| options.name.as_deref().is_none_or(|n| n == f.name)).collect();
    if let (Some(name), true) = (&options.name, chosen.is_empty()) {
        return Err(not_there("fabric", name, all.iter().map(|f| f.name)));
    }
    if options.json {
        let json = |f: &&ListedFabric| {
            let fields: serde_json::Map<String, Value> =
                f.fields.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
            let what = if f.preset { "preset" } else { "kind" };
            json!({ "name": f.name, "is": what, "summary": f.summary, "source": f.source, "fields": fields })
        };
        say!("{:#}", Value::Array(chosen.iter().map(json).collect()));
        return Ok(0);
    }
    for fabric in chosen {
        let what = if fabric.preset { "preset" } else { "kind" };
        say!("{what} = \"{}\": {}", fabric.name, fabric.summary);
        if !fabric.source.is_empty() {
            say!("    source: {}", fabric.source);
        }
        if options.name.is_some() || !fabric.preset {
            for (name, text) in &fabric.fields {
                say!("    {name}: {text}");
            }
        }
    }
    Ok(0)
}

fn not_there<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Error {
    ScenarioError::new("", unknown(what, name, known)).into()
}

/// Name, summary and source, aligned.
fn print_list<'a>(entries: impl Iterator<Item = (&'a str, String, String)>) {
    for (name, summary, source) in entries {
        say!("{name:<18} {summary}\n{:<18} source: {source}", "");
    }
}
