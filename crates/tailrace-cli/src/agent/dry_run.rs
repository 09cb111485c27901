//! What an agent would do.

use comfy_table::Table;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use tailrace_core::{Bytes, MAX_PRIORITIES, dscp_of};
use tailrace_run::HostPart;
use tailrace_scenario::AgentConfig;

/// The tags of packets as a table, and what of the scheme is not done.
pub fn tables(config: &AgentConfig, part: &HostPart) -> String {
    let tags = part.tags();
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header(["queue", "DSCP", "bytes of the flow before it"]);
    for priority in 0..MAX_PRIORITIES {
        let (from, to) = tags.data.range(priority);
        if from == to {
            continue;
        }
        let range = match to {
            u64::MAX => format!("{} or more", Bytes::new(from)),
            to => format!("{} to below {}", Bytes::new(from), Bytes::new(to)),
        };
        table.add_row([(priority + 1).to_string(), dscp_of(priority).to_string(), range]);
    }
    let (interface, scheme) = (&config.interface, config.scenario.scheme.label());
    let acks = usize::from(tags.acks);
    let learns = match part.learns() {
        true => "The first table; others follow from the flows that end.\n",
        false => "",
    };
    let left_out: String = part.left_out.iter().map(|what| format!("note: {what}\n")).collect();
    format!(
        "TCP packets that leave {interface} under {scheme}\n{table}\nPure acknowledgements: queue {}, DSCP {}\n{learns}{left_out}",
        acks + 1,
        dscp_of(acks)
    )
}
