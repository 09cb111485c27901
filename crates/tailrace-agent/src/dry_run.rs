//! What an agent would do.

use comfy_table::Table;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use tailrace_config::ScenarioError;
use tailrace_core::{Bytes, Directive, Directives, HostLaw, MAX_PRIORITIES, SliceId, dscp_of};

use crate::{AgentConfig, HostPart, LawFor};

/// The tags of packets as tables, one for each kind of flows whose tags differ, and what of the scheme is not done.
pub fn tables(config: &AgentConfig, part: &HostPart) -> Result<String, ScenarioError> {
    let all = part.directives()?;
    let mut text =
        format!("TCP packets that leave {} under {}\n", config.interface, config.scenario.scheme.label());
    if part.shim.is_some() {
        text = format!(
            "Windows of TCP connections over {} under {}\n{}\n",
            config.interface,
            config.scenario.scheme.label(),
            weights(&all)
        );
    }
    if let Some(law) = &part.law {
        text += &law_line(config, law, part.tags());
    }
    let tagged = if part.shim.is_some() || !part.tags() { Vec::new() } else { kinds(&all) };
    for (flows, directive) in tagged {
        let colon = if flows.is_empty() { "" } else { ":\n" };
        text += &format!("{flows}{colon}{}\n{}\n", table(&directive), acknowledgements(&directive));
    }
    if part.learns() {
        text += "The first table; others follow from the flows that end.\n";
    }
    text.extend(part.left_out.iter().map(|what| format!("note: {what}\n")));
    Ok(text)
}

/// Which connections have the scheme's law.
fn law_line(config: &AgentConfig, law: &HostLaw, tags: bool) -> String {
    let LawFor { cgroups, to } = config.law.clone().unwrap_or_default();
    let cgroups: Vec<_> = cgroups.iter().map(|path| path.display().to_string()).collect();
    let to: Vec<_> = to.iter().map(|of| of.to_string()).collect();
    let of = if cgroups.is_empty() {
        "all programs".to_owned()
    } else {
        format!("programs in {}", cgroups.join(", "))
    };
    let to = if to.is_empty() { String::new() } else { format!(" to {}", to.join(", ")) };
    let rest = if tags { "" } else { " Packets are left as they are." };
    format!("Connections of {of}{to} have {}'s law, and ECN.{rest}\n", law.kind.name())
}

/// What the flows of each slice weigh.
fn weights(all: &Directives) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header(["slice", "weight: segments that a window grows by in a round trip"]);
    for slice in 0..=all.slices() {
        let name = if slice == 0 { "none".to_owned() } else { slice.to_string() };
        table.add_row([name, format!("{:.4}", all.get(slice, None, false).weight.get())]);
    }
    table
}

/// Flows in words, and their directive; without words if there is but one.
fn kinds(all: &Directives) -> Vec<(String, Directive)> {
    let mut kinds: Vec<(String, Directive)> = Vec::new();
    let mut add = |slice: SliceId, what: String, directive: &Directive| {
        let of = match all.slices() {
            0 => String::new(),
            _ if slice == 0 => " of no slice".to_owned(),
            _ => format!(" of slice {slice}"),
        };
        kinds.push((format!("Flows{of} {what}"), *directive));
    };
    for slice in 0..=all.slices() {
        add(slice, "of unknown size".to_owned(), all.get(slice, None, false));
        for (deadline, kind) in [(false, "known"), (true, "with a deadline")] {
            // What is alike at both sides of an edge is one kind.
            let mut from = Bytes::ZERO;
            let edges = all.edges().iter().copied().map(Some).chain([None]);
            for to in edges {
                let directive = all.get(slice, Some(from), deadline);
                if to.is_some_and(|to| all.get(slice, Some(to), deadline) == directive) {
                    continue;
                }
                let what = match to {
                    Some(to) => format!("{kind}, of less than {to}"),
                    None if from == Bytes::ZERO => format!("{kind}, of any size"),
                    None => format!("{kind}, of {from} and more"),
                };
                let what = if deadline { what } else { what.replacen("known", "of known size", 1) };
                add(slice, what.replace(", of any size", ""), directive);
                from = to.unwrap_or(from);
            }
        }
    }
    if all.are_one() { vec![(String::new(), all.all()[0])] } else { kinds }
}

fn table(directive: &Directive) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header(["queue", "DSCP", "bytes of the flow before it"]);
    for priority in 0..MAX_PRIORITIES {
        let (from, to) = directive.tags.range(priority);
        if from == to {
            continue;
        }
        let range = match to {
            u64::MAX => format!("{} or more", Bytes::new(from)),
            to => format!("{} to below {}", Bytes::new(from), Bytes::new(to)),
        };
        table.add_row([(priority + 1).to_string(), dscp_of(priority).to_string(), range]);
    }
    table
}

fn acknowledgements(directive: &Directive) -> String {
    let acks = usize::from(directive.acks);
    format!("Pure acknowledgements: queue {}, DSCP {}", acks + 1, dscp_of(acks))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(rest: &str) -> Vec<String> {
        let config = AgentConfig::parse(&format!("[agent]\ninterface = \"eth0\"\n{rest}")).unwrap();
        let part = crate::for_agent(&config).unwrap();
        let text = tables(&config, &part).unwrap();
        let lines = text.lines().filter(|line| !line.contains(['─', '═']) && !line.starts_with("note"));
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn each_kind_of_flows_has_a_table_of_its_own() {
        let karuna = "[scheme]\nname = \"karuna\"\nparams = { port = { queues = 4 }, thresholds = { splitting = [\"10KB\", \
                      \"1MB\"], sieving = [\"20KB\", \"2MB\"] } }";
        let lines = said(karuna);
        // As the guide prints it, but for what it leaves out of the tables.
        let guide = include_str!("../../../docs/guide/telling.md");
        let shown = guide.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let mut rest = lines.iter();
        for line in shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")) {
            assert!(rest.any(|found| *found == line), "{line}: {lines:#?}");
        }
        let kinds = lines.iter().filter(|line| line.starts_with("Flows")).count();
        assert_eq!(kinds, 5, "{lines:#?}");
        let pias = "[scheme]\nname = \"pias\"\nparams = { thresholds = [\"10KB\"], port = { queues = 2 } }";
        assert!(said(pias).iter().all(|line| !line.starts_with("Flows")), "one table for all");
    }

    #[test]
    fn windows_have_weights_by_slice() {
        let lines = said("[scheme]\nname = \"wvcc\"\n[[slice]]\nweight = 1\n[[slice]]\nweight = 4\n");
        assert_eq!(lines[0], "Windows of TCP connections over eth0 under wvcc");
        assert_eq!(lines[2..], ["none 1.0000", "1 0.2500", "2 1.0000"]);
    }
}
