//! An agent's numbers for Prometheus.

use tailrace_bpf::{Counts, Kept};
use tailrace_linux::Page;

use super::status::{QUANTILES, Status};
use super::types::{DoneToPackets, FleetStatus, LawUse};
use crate::etcd::Standing;

/// All numbers of an agent.
pub fn text(status: &Status) -> String {
    let mut page = Page::default();
    let of = |label: &str| match label {
        "" => format!("interface=\"{}\"", status.interface),
        label => format!("interface=\"{}\",{label}", status.interface),
    };
    let traffic = &status.traffic;
    match &status.done.packets {
        DoneToPackets::Tags(counts) => tags(&mut page, status, counts, &of),
        DoneToPackets::Windows(kept) => windows(&mut page, kept, &of),
        DoneToPackets::Nothing => {}
    }
    if let Some(LawUse { name, connections, .. }) = &status.done.law {
        let help = "Connections that were given the scheme's congestion law.";
        let given = [(of(&format!("law=\"{name}\"")), *connections)];
        page.family("agent_law_connections_total", "counter", help, given);
    }
    let [told, refused] = status.done.announced();
    let said = [(of("result=\"told\""), told), (of("result=\"refused\""), refused)];
    page.family("agent_said_total", "counter", "What programs have said of flows.", said);
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
    let tables = [(of(""), status.tables)];
    page.family("agent_tables_total", "counter", "Tables of tags after the first one.", tables);
    let reloads = [("read", status.reloads), ("mistake", status.failed_reloads)];
    let reloads = reloads.map(|(result, count)| (of(&format!("result=\"{result}\"")), count));
    page.family("agent_reloads_total", "counter", "How often its file was read again.", reloads);
    status.fleet.iter().for_each(|fleet| of_fleet(&mut page, fleet, &of));
    page.family("agent_seconds", "gauge", "For how long it has run.", [(of(""), status.seconds)]);
    page.0
}

fn tags(page: &mut Page, status: &Status, counts: &Counts, of: &dyn Fn(&str) -> String) {
    let packets = [(of("what=\"tagged\""), counts.tagged), (of("what=\"untouched\""), counts.untouched)];
    page.family("agent_packets_total", "counter", "Packets that left the interface.", packets);
    page.family("agent_flows_total", "counter", "Flows that it began to count.", [(of(""), counts.flows)]);
    let help = "Packets of flows for which there was no room: they have the last priority.";
    page.family("agent_crowded_packets_total", "counter", help, [(of(""), counts.crowded)]);
    let thresholds = status.queues().filter(|(.., to)| *to < u64::MAX);
    let thresholds = thresholds.map(|(priority, _, to)| (of(&format!("priority=\"{priority}\"")), to));
    let help = "Bytes after which a flow of which nothing is known leaves a priority; 0 is served first.";
    page.family("agent_threshold_bytes", "gauge", help, thresholds);
}

fn of_fleet(page: &mut Page, fleet: &FleetStatus, of: &dyn Fn(&str) -> String) {
    let Standing { lost, losses, sent, unsent, received, refused, duplicates, .. } = &fleet.standing;
    let connected = [(of(""), u64::from(lost.is_none()))];
    page.family("agent_fleet_connected", "gauge", "Whether there is an etcd.", connected);
    let help = "For how long there has been no etcd; the last values hold.";
    page.family("agent_fleet_lost_seconds", "gauge", help, [(of(""), fleet.lost_seconds())]);
    page.family("agent_fleet_losses_total", "counter", "How often etcd was lost.", [(of(""), losses)]);
    let by_result =
        |results: [(&str, u64); 2]| results.map(|(name, count)| (of(&format!("result=\"{name}\"")), count));
    let reports = by_result([("told", *sent), ("not_told", *unsent)]);
    page.family("agent_fleet_reports_total", "counter", "What it has told the fleet's controller.", reports);
    let help = "How often another host had reported under the same name.";
    page.family("agent_fleet_twins_total", "counter", help, [(of(""), duplicates)]);
    let values = by_result([("heard", *received), ("refused", *refused)]);
    page.family(
        "agent_fleet_values_total",
        "counter",
        "Tables and weights from the fleet's controller.",
        values,
    );
    let age = fleet.age.map(|age| (of(""), age.as_secs_f64()));
    page.family("agent_fleet_values_age_seconds", "gauge", "How long ago the last ones came.", age);
    let differs = [(of(""), u64::from(fleet.differs.is_some()))];
    let help = "Whether the fleet's controller has another scheme, which is not heeded.";
    page.family("agent_fleet_other_scheme", "gauge", help, differs);
    page.family(
        "agent_fleet_weights",
        "gauge",
        "Flows with weights of their own.",
        [(of(""), fleet.weights)],
    );
}

fn windows(page: &mut Page, kept: &Kept, of: &dyn Fn(&str) -> String) {
    let help = "Connections whose both ends have an agent that keeps windows.";
    page.family("agent_window_connections_total", "counter", help, [(of(""), kept.flows)]);
    let help = "Acknowledgements that came with a larger window than was shown.";
    page.family("agent_window_shown_total", "counter", help, [(of(""), kept.shown)]);
    let help = "Payload bytes that came to the other end with marks.";
    page.family("agent_window_marked_bytes_total", "counter", help, [(of(""), kept.marks)]);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;
    use tailrace_bpf::Traffic;
    use tailrace_core::{Bytes, Directive, Directives, TagTable};

    use super::super::types::Done;
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
            directives: Directives::same(Directive::tagged(TagTable::with_limits(&[
                Bytes::new(10_000),
                Bytes::new(50_000),
            ]))),
            has_rules: true,
            tables: 4,
            reloads: 2,
            failed_reloads: 1,
            done: Done {
                packets: DoneToPackets::Tags(Counts {
                    tagged: 70,
                    untouched: 8,
                    flows: 5,
                    crowded: 6,
                    told: 2,
                    refused: 1,
                }),
                law: Some(LawUse { name: "tr_dctcp_1a2b".to_owned(), connections: 4, told: 0, refused: 0 }),
            },
            memory_bytes: 4_096,
            weights: None,
            fleet: Some(FleetStatus {
                age: Some(std::time::Duration::from_secs(3)),
                ..FleetStatus::default()
            }),
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
            "tailrace_agent_law_connections_total{interface=\"eth0\",law=\"tr_dctcp_1a2b\"} 4",
            "tailrace_agent_reloads_total{interface=\"eth0\",result=\"mistake\"} 1",
            "tailrace_agent_said_total{interface=\"eth0\",result=\"refused\"} 1",
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
        let kept = Kept { flows: 1, shown: 2, marks: 3, ..Kept::default() };
        let both = text(&status())
            + &text(&Status { done: Done { packets: DoneToPackets::Windows(kept), law: None }, ..status() });
        let exported = both.lines().filter(|line| line.starts_with("# TYPE")).collect::<String>();
        assert_eq!(names(&found), names(&exported));
    }
}
