//! Finds the line of a dotted path in a TOML text, so that errors found long after parsing still say where.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line, counted from 1, of the byte at `offset`.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|&b| b == b'\n').count() + 1
}

/// The line where `path` (such as `workload.rule[1].load`) is written in `text`, or else the nearest thing
/// around it that is written there; `None` if nothing of it is.
pub fn line_of(text: &str, path: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let (mut table, mut line) = (document.get_ref(), None);
    for segment in path.split('.') {
        let (name, indices) = segment.split_once('[').unwrap_or((segment, ""));
        let Some((key, mut value)) = table.iter().find(|(key, _)| key.get_ref() == name) else { break };
        line = Some(line_at(text, key.span().start));
        for index in indices.split('[').filter_map(|index| index.strip_suffix(']')?.parse::<usize>().ok()) {
            let Some(element) = element(value, index) else { break };
            line = Some(line_at(text, element.span().start));
            value = element;
        }
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    line
}

fn element<'a, 'i>(value: &'a Spanned<DeValue<'i>>, index: usize) -> Option<&'a Spanned<DeValue<'i>>> {
    match value.get_ref() {
        DeValue::Array(array) => array.get(index),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"seed = 1

[fabric]
kind = "star"

[workload]
sizes = { mix = [
    { weight = 1, sizes = "web-search" },
    { weight = 2, sizes = "web" },
] }

[[workload.rule]]
load = 0.1

[[workload.rule]]
class = 1
load = 0.2
"#;

    #[test]
    fn paths_lead_to_lines() {
        for (path, line) in [
            ("seed", 1),
            ("fabric", 3),
            ("fabric.kind", 4),
            ("workload.sizes", 7),
            ("workload.sizes.mix[1].sizes", 9),
            ("workload.rule[0].load", 13),
            ("workload.rule[1].load", 17),
        ] {
            assert_eq!(line_of(TEXT, path), Some(line), "{path}");
        }
    }

    #[test]
    fn what_is_missing_leads_to_what_should_hold_it() {
        assert_eq!(line_of(TEXT, "fabric.hosts"), Some(3));
        assert_eq!(line_of(TEXT, "workload.rule[1].sizes.fixed"), Some(15));
        assert_eq!(line_of(TEXT, "workload.rule[7].load"), Some(12));
        assert_eq!(line_of(TEXT, "transport.mss"), None);
        assert_eq!(line_of("not toml at all [", "fabric"), None);
    }
}
