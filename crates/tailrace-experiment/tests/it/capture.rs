//! What the simulator writes of a port as a capture is read back as the flows that passed it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use tailrace_experiment::{Capture, run, trace};
use tailrace_run::Unattended;
use tailrace_scenario::Scenario;

#[test]
fn flows_of_a_capture_are_those_that_were_sent() {
    let place = tempfile::tempdir().unwrap();
    let scenario = "[fabric]\nkind = \"star\"\nhosts = 4\nhost_rate = \"10Gbps\"\nbuffer = \"60KB\"\n\
                    [workload]\nsizes = \"web-search\"\nload = 0.8\nflows = 300\n[scheme]\nname = \"tcp\"\n";
    let scenario = Scenario::parse(scenario).unwrap();
    let path = place.path().join("port.pcap");
    let capture = Capture { port: "switch0->host2".into(), path: path.clone() };
    let result = run(&scenario, &Unattended, std::slice::from_ref(&capture)).unwrap();
    let flows = result.flows.piece(0);
    assert_eq!(flows.num_rows(), 300);
    let column = |name: &str| flows.column_by_name(name).unwrap().clone();
    let (dst, size) = (column("dst"), column("size_bytes"));
    let (dst, size) = (dst.as_primitive::<UInt32Type>(), size.as_primitive::<UInt64Type>());
    let mut sent: Vec<u64> =
        (0..flows.num_rows()).filter(|row| dst.value(*row) == 2).map(|row| size.value(row)).collect();
    let read = trace::read(&path, &[], None).unwrap();
    let to = read.hosts.iter().position(|name| name == "10.0.0.3").unwrap();
    let mut found: Vec<u64> =
        read.flows.iter().filter(|flow| flow.dst as usize == to).map(|flow| flow.size.get()).collect();
    assert_eq!(found.len(), read.flows.len(), "the port leads to one host");
    sent.sort_unstable();
    found.sort_unstable();
    assert!(sent.len() > 50);
    assert_eq!(found, sent);
}
