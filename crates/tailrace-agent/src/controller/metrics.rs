//! A controller's numbers for Prometheus.
#![expect(clippy::disallowed_methods, reason = "values have an age in real time")]

use std::time::Instant;

use tailrace_linux::Page;

use crate::etcd::Standing;

use super::brain::Counts;

/// What a controller is doing.
#[derive(Default)]
pub struct Doing {
    pub fleet: String,
    pub leads: bool,
    pub leaderships: u64,
    pub slots: u64,
    pub hosts: usize,
    pub flows: usize,
    pub counts: Counts,
    pub standing: Standing,
    /// Bytes after which a flow of which nothing is known leaves a priority.
    pub thresholds: Vec<(usize, u64)>,
}

pub fn text(doing: &Doing) -> String {
    let mut page = Page::default();
    let of = |label: &str| match label {
        "" => format!("fleet=\"{}\"", doing.fleet),
        label => format!("fleet=\"{}\",{label}", doing.fleet),
    };
    let one = |value: u64| [(of(""), value)];
    let Doing { standing, counts, .. } = doing;
    page.family("control_leads", "gauge", "Whether this controller leads.", one(doing.leads.into()));
    let help = "How often it has begun to lead.";
    page.family("control_reigns_total", "counter", help, one(doing.leaderships));
    page.family("control_slots_total", "counter", "How often it has decided.", one(doing.slots));
    page.family("control_hosts", "gauge", "Hosts that report.", one(doing.hosts as u64));
    page.family("control_flows", "gauge", "Flows in progress that have weights.", one(doing.flows as u64));
    let reports = [
        ("heard", counts.reports - counts.strangers),
        ("other_scheme", counts.strangers),
        ("refused", standing.refused),
    ];
    let reports = reports.map(|(result, count)| (of(&format!("result=\"{result}\"")), count));
    page.family("control_reports_total", "counter", "What hosts have reported.", reports);
    page.family("control_flows_ended_total", "counter", "Flows that have ended at hosts.", one(counts.ended));
    let help = "Changes that it has told etcd, as the leader.";
    page.family("control_changes_total", "counter", help, one(standing.sent));
    let connected = u64::from(standing.lost.is_none());
    page.family("control_connected", "gauge", "Whether there is an etcd.", one(connected));
    let lost = standing.lost.as_ref().map_or(0.0, |(since, _)| (Instant::now() - *since).as_secs_f64());
    let help = "For how long there has been none.";
    page.family("control_lost_seconds", "gauge", help, [(of(""), lost)]);
    page.family("control_losses_total", "counter", "How often it was lost.", one(standing.losses));
    let thresholds =
        doing.thresholds.iter().map(|(priority, to)| (of(&format!("priority=\"{priority}\"")), *to));
    let help = "Bytes after which a flow of which nothing is known leaves a priority; 0 is served first.";
    page.family("control_threshold_bytes", "gauge", help, thresholds);
    page.0
}
