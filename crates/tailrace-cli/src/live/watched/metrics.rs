//! The fabric's counters as a page of metrics.

use tailrace_core::{Lateness, PortCounts, View};
use tailrace_linux::Page;

use crate::watch::Board;

/// All numbers of a fabric.
pub fn text(board: &Board) -> String {
    let mut page = Page::default();
    let Some(view) = board.latest() else { return page.0 };
    ports(board, view, &mut page);
    let queues = board.ports.iter().zip(&view.ports).flat_map(|(port, seen)| {
        let of =
            |(queue, bytes): (usize, &u64)| (format!("port=\"{}\",priority=\"{queue}\"", port.name), *bytes);
        seen.queues.iter().enumerate().map(of).collect::<Vec<_>>()
    });
    page.family("queue_bytes", "gauge", "Bytes that wait at a port, by priority; 0 is served first.", queues);
    let left = "How late frames left the fabric, since its start.";
    page.family("lag_seconds", "gauge", left, quantiles(&view.lateness));
    let entered = "How late frames were let into the fabric, since its start.";
    page.family("entry_lag_seconds", "gauge", entered, quantiles(&view.entry));
    let ledger = &view.ledger;
    let frames = [
        ("entered", ledger.injected),
        ("delivered", ledger.delivered),
        ("dropped_buffer", ledger.dropped_buffer),
        ("dropped_evicted", ledger.dropped_evicted),
        ("dropped_failure", ledger.dropped_failure),
    ];
    let frames = frames.map(|(what, count)| (format!("what=\"{what}\""), count.packets));
    page.family("frames_total", "counter", "Frames that came to a port, and what became of them.", frames);
    let frame_counters = view.frame_counters;
    let frame_counters = [
        ("unroutable", frame_counters.unroutable),
        ("too_long", frame_counters.too_long),
        ("answered", frame_counters.answered),
        ("link_down", frame_counters.link_down),
        ("lost", frame_counters.lost),
        ("back", frame_counters.back),
        ("no_room", frame_counters.no_room),
        ("strange", frame_counters.strange),
    ];
    let frame_counters = frame_counters.map(|(why, count)| (format!("why=\"{why}\""), count));
    page.family(
        "stray_frames_total",
        "counter",
        "Frames that no port has seen, or no host got.",
        frame_counters,
    );
    let reported = board.reports.iter().flat_map(|((spot, metric), report)| {
        let labels = format!("place=\"{}\",metric=\"{metric}\"", board.name(*spot));
        let of = move |(index, value): (usize, &f64)| (format!("{labels},index=\"{index}\""), *value);
        report.values.iter().enumerate().map(of).collect::<Vec<_>>()
    });
    page.family("reported", "gauge", "What policies reported last, such as thresholds.", reported);
    page.0
}

fn quantiles(lag: &Lateness) -> [(String, f64); 3] {
    let quantiles = [("0.5", lag.median), ("0.99", lag.p99), ("1", lag.worst)];
    quantiles.map(|(q, lag)| (format!("quantile=\"{q}\""), lag.as_secs_f64()))
}

fn ports(board: &Board, view: &View, page: &mut Page) {
    let mut family = |name, help, of: &dyn Fn(&PortCounts) -> u64| {
        let samples = board.ports.iter().zip(&view.ports);
        let samples = samples.map(|(port, seen)| (format!("port=\"{}\"", port.name), of(&seen.counts)));
        page.family(name, "counter", help, samples);
    };
    family("port_bytes_total", "Bytes of IP packets that a port has sent.", &|port| port.sent.bytes);
    family("port_packets_total", "Packets that a port has sent.", &|port| port.sent.packets);
    family("port_marked_packets_total", "Packets that a port has marked.", &|port| port.marked);
    family("port_dropped_packets_total", "Packets that a port has dropped.", &|port| port.dropped.packets);
    family("port_dropped_bytes_total", "Bytes that a port has dropped.", &|port| port.dropped.bytes);
    let rates = board.ports.iter().map(|port| (format!("port=\"{}\"", port.name), port.rate.as_bps()));
    page.family("port_link_bits_per_second", "gauge", "Rate of a port's link.", rates);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::tests::{board, view};

    #[test]
    fn each_number_has_a_line_with_its_labels() {
        let mut board = board(2);
        assert_eq!(text(&board), "");
        board.take(view(1_000, &[(500_000, 0), (7_000, 1_500)], &[1_000.0, 2_500.5]));
        let page = text(&board);
        for line in [
            "# TYPE tailrace_port_bytes_total counter",
            "tailrace_port_bytes_total{port=\"leaf0->host0\"} 500000",
            "tailrace_port_marked_packets_total{port=\"leaf0->host0\"} 5",
            "tailrace_queue_bytes{port=\"leaf0->host1\",priority=\"7\"} 1500",
            "tailrace_lag_seconds{quantile=\"0.99\"} 0",
            "tailrace_entry_lag_seconds{quantile=\"1\"} 0",
            "tailrace_stray_frames_total{why=\"strange\"} 0",
            "tailrace_reported{place=\"leaf0->host0\",metric=\"threshold_bytes\",index=\"1\"} 2500.5",
        ] {
            assert!(page.lines().any(|other| other == line), "{line}: {page}");
        }
        // A name, labels and a number in every line that is no comment, and each family once.
        let samples = page.lines().filter(|line| !line.starts_with('#'));
        assert!(samples.clone().all(|line| line.rsplit(' ').next().unwrap().parse::<f64>().is_ok()));
        let types: Vec<&str> = page.lines().filter(|line| line.starts_with("# TYPE")).collect();
        assert_eq!(types.len(), 12);
    }
}
