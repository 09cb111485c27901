//! An agent's numbers for Prometheus.

use super::status::{QUANTILES, Status};
use crate::watch::Page;

/// All numbers of an agent.
pub fn text(status: &Status) -> String {
    let mut page = Page::default();
    let of = |label: &str| match label {
        "" => format!("interface=\"{}\"", status.interface),
        label => format!("interface=\"{}\",{label}", status.interface),
    };
    let (counts, traffic) = (&status.counts, &status.traffic);
    let packets = [(of("what=\"tagged\""), counts.tagged), (of("what=\"untouched\""), counts.untouched)];
    page.family("agent_packets_total", "counter", "Packets that left the interface.", packets);
    page.family("agent_flows_total", "counter", "Flows that it began to count.", [(of(""), counts.flows)]);
    let help = "Packets of flows for which there was no room: they have the last priority.";
    page.family("agent_crowded_packets_total", "counter", help, [(of(""), counts.crowded)]);
    let help = "What flows take of the kernel's memory.";
    page.family("agent_memory_bytes", "gauge", help, [(of(""), status.memory_bytes)]);
    let ended = [(of(""), traffic.whole)];
    page.family("agent_connections_total", "counter", "Connections that began and ended.", ended);
    let bytes = [("sent", traffic.sent), ("received", traffic.received)];
    let bytes = bytes.map(|(direction, bytes)| (of(&format!("direction=\"{direction}\"")), bytes));
    page.family("agent_connection_bytes_total", "counter", "Payload bytes of connections that ended.", bytes);
    let lost = [(of(""), status.lost)];
    page.family("agent_lost_total", "counter", "Times the kernel had no room to tell of a connection.", lost);
    let sizes = QUANTILES
        .into_iter()
        .filter_map(|(name, u)| Some((of(&format!("quantile=\"{name}\"")), traffic.sizes.quantile(u)?)));
    page.family("agent_flow_size_bytes", "gauge", "Sizes of flows that have ended, since its start.", sizes);
    let thresholds = status.queues().filter(|(.., to)| *to < u64::MAX);
    let thresholds = thresholds.map(|(priority, _, to)| (of(&format!("priority=\"{priority}\"")), to));
    let help = "Bytes after which a flow leaves a priority; 0 is served first.";
    page.family("agent_threshold_bytes", "gauge", help, thresholds);
    let tables = [(of(""), status.tables)];
    page.family("agent_tables_total", "counter", "Tables of tags after the first one.", tables);
    let reloads = [("read", status.reloads), ("mistake", status.failed_reloads)];
    let reloads = reloads.map(|(result, count)| (of(&format!("result=\"{result}\"")), count));
    page.family("agent_reloads_total", "counter", "How often its file was read again.", reloads);
    page.family("agent_seconds", "gauge", "For how long it has run.", [(of(""), status.seconds)]);
    page.0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;
    use tailrace_agent::{Counts, Traffic};
    use tailrace_core::{Bytes, TagTable};
    use tailrace_linux::Tags;

    use super::*;

    fn status() -> Status {
        let mut traffic = Traffic::default();
        (traffic.whole, traffic.sent, traffic.received) = (3, 3_000, 9);
        [1_000, 1_000, 5_000].into_iter().for_each(|size| traffic.sizes.add(size));
        Status {
            interface: "eth0".to_owned(),
            scheme: "pias".to_owned(),
            user: "nobody".to_owned(),
            seconds: 2.5,
            tags: Tags { data: TagTable::with_limits(&[Bytes::new(10_000), Bytes::new(50_000)]), acks: 0 },
            tables: 4,
            reloads: 2,
            failed_reloads: 1,
            counts: Counts { tagged: 70, untouched: 8, flows: 5, crowded: 6 },
            memory_bytes: 4_096,
            traffic,
            lost: 0,
        }
    }

    #[test]
    fn each_number_has_a_line_with_its_labels() {
        let page = text(&status());
        for line in [
            "# TYPE tailrace_agent_packets_total counter",
            "tailrace_agent_packets_total{interface=\"eth0\",what=\"tagged\"} 70",
            "tailrace_agent_flows_total{interface=\"eth0\"} 5",
            "tailrace_agent_crowded_packets_total{interface=\"eth0\"} 6",
            "tailrace_agent_threshold_bytes{interface=\"eth0\",priority=\"1\"} 50000",
            "tailrace_agent_reloads_total{interface=\"eth0\",result=\"mistake\"} 1",
        ] {
            assert!(page.lines().any(|other| other == line), "{line}: {page}");
        }
        assert_eq!(page.matches("agent_threshold_bytes{").count(), 2, "the last queue has no end");
    }

    /// Names of metrics in a text.
    fn names(text: &str) -> BTreeSet<String> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = text.split(|c| !word(c)).filter(|word| word.starts_with("tailrace_agent_"));
        words.map(str::to_owned).collect()
    }

    fn expressions(value: &Value, found: &mut String) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| match value {
                Value::String(text) if name == "expr" || name == "query" => *found += &format!("{text}\n"),
                other => expressions(other, found),
            }),
            Value::Array(values) => values.iter().for_each(|value| expressions(value, found)),
            _ => {}
        }
    }

    #[test]
    fn the_dashboard_shows_what_is_exported_and_nothing_else() {
        let dashboard = include_str!("../../../../examples/grafana/agent.json");
        let mut found = String::new();
        expressions(&serde_json::from_str(dashboard).unwrap(), &mut found);
        let exported = text(&status()).lines().filter(|line| line.starts_with("# TYPE")).collect::<String>();
        assert_eq!(names(&found), names(&exported));
    }
}
