use super::*;
use crate::trace::table;
use tailrace_core::{HostId, Reveals};
use tailrace_fabric::FabricParams;

fn text(text: &str, mapping: &[&str], fabric: Option<u16>) -> Result<Trace, String> {
    let path = Path::new("t.csv");
    let mapping: Vec<Mapping> = mapping.iter().map(|text| text.parse().unwrap()).collect();
    let table = table::of_text(text.as_bytes(), path).map_err(|error| error.to_string())?;
    let star = |hosts| format!("kind = \"star\"\nhosts = {hosts}\nhost_rate = \"10Gbps\"");
    let fabric = fabric.map(|hosts| FabricParams::from_table(&star(hosts).parse().unwrap()).unwrap().build());
    of_table(&table, &mapping, fabric.as_deref()).map_err(|error| error.in_file(path).to_string())
}

fn flows(trace: &Trace) -> Vec<(HostId, HostId, u64, u64)> {
    trace.flows.iter().map(|flow| (flow.src, flow.dst, flow.size.get(), flow.start.as_ns())).collect()
}

#[test]
fn units_are_those_of_names() {
    let by = |head: &str, rows: &str| flows(&text(&format!("{head}\n{rows}"), &[], None).unwrap());
    let expected = [(0, 1, 2000, 0), (1, 0, 5000, 250_000)];
    assert_eq!(by("start_s,src,dst,bytes", "10.5,0,1,2000\n10.50025,1,0,5000\n"), expected);
    assert_eq!(by("src,dst,size_kb,start_us", "0,1,2,0\n1,0,5,250\n"), expected);
    assert_eq!(by("start src dst size", "0.0 0 1 2000\n2.5e-4 1 0 5000"), expected);
    assert_eq!(
        by("ts;from;to;length", "1700000000000000000;0;1;2000\n1700000000000250000;1;0;5000"),
        expected
    );
    assert_eq!(by("time (ms)\tsrc\tdst\tflow size [KB]", "1\t0\t1\t2\n1.25\t1\t0\t5"), expected);
    assert_eq!(by("\u{feff}# made by hand\nstart_ns,src,dst,bytes", "0,0,1,2000\n250000,1,0,5000"), expected);
}

#[test]
fn hosts_have_numbers_names_or_addresses() {
    let trace =
        text("start_s,src,dst,bytes\n0,10.0.0.9,10.0.0.10,1\n1,10.0.0.2,10.0.0.9,1\n", &[], None).unwrap();
    assert_eq!(trace.hosts, ["10.0.0.2", "10.0.0.9", "10.0.0.10"]);
    assert_eq!(flows(&trace)[1], (0, 1, 1, 1_000_000_000));
    assert_eq!(trace.notes, ["hosts are numbered from 0, in order: 10.0.0.2 is 0, 10.0.0.10 is 2"]);
    let trace = text("start_s,src,dst,bytes\n0,web,db,1\n", &[], None).unwrap();
    assert_eq!((trace.hosts.join(" "), flows(&trace)[0]), ("db web".to_owned(), (1, 0, 1, 0)));
    // Numbers stand where more than half of them take part, or the fabric has them.
    let numbers = "start_s,src,dst,bytes\n0,1,2,1\n1,4,2,1\n";
    let trace = text(numbers, &[], None).unwrap();
    assert_eq!((trace.hosts.len(), flows(&trace)[1].0), (5, 4));
    assert_eq!(trace.notes, ["2 of the hosts 0 to 4 have no flows"]);
    let sparse = "start_s,src,dst,bytes\n0,100,2000,1\n1,40,100,1\n";
    assert_eq!(flows(&text(sparse, &[], None).unwrap())[1].0, 0);
    assert_eq!(flows(&text(sparse, &[], Some(3000)).unwrap())[1].0, 40);
    assert_eq!(flows(&text(sparse, &[], Some(3)).unwrap())[0], (1, 2, 1, 0));
    assert!(text(sparse, &[], Some(2)).unwrap_err().contains("names 3 hosts, but the fabric has 2"));
}

#[test]
fn what_does_not_cross_the_network_is_left_out_and_said() {
    let rows = "start_s,src,dst,bytes\n3,0,1,5\n1,0,0,5\n2,1,0,0\n2.5,1,0,7\n";
    let trace = text(rows, &[], None).unwrap();
    assert_eq!(flows(&trace), [(1, 0, 7, 0), (0, 1, 5, 500_000_000)]);
    assert_eq!(
        trace.notes,
        [
            "rows are not in order of start: they were put into it",
            "1 of 4 flows have no bytes: they were left out",
            "1 of 4 flows stay on their host: they were left out"
        ]
    );
    assert!(
        text("start_s,src,dst,bytes\n1,0,0,5\n", &[], None).unwrap_err().contains("no flow that crosses")
    );
}

#[test]
fn what_flows_say_of_themselves_is_kept() {
    let rows = "start_us,src,dst,bytes,deadline_ms,job,tenant,rack,flow_type\n0,0,1,5,2,b,1,x,\n1,1,0,5,,a,2,y,3\n2,1,0,5,,b,2,y,\n";
    let trace = text(rows, &[], None).unwrap();
    let due: Vec<_> = trace.flows.iter().map(|flow| flow.deadline.map(|at| at.as_ns() / 1000)).collect();
    assert_eq!(due, [Some(2000), None, None]);
    let told: Vec<_> = trace.flows.iter().map(|flow| (flow.task, flow.slice, flow.reveals)).collect();
    assert_eq!(told, [(1, 1, Reveals::Deadline), (2, 2, Reveals::Nothing), (1, 2, Reveals::Size)]);
    assert_eq!(trace.unused, ["rack"]);
}

#[test]
fn mistakes_name_line_and_column() {
    let head = "start_s,src,dst,bytes\n";
    for (rows, why) in [
        ("", "t.csv:1: is empty"),
        ("start_s,src,dst,bytes\n", "t.csv:1: has a header only"),
        ("1,2,3,4\n", "t.csv:1: has numbers only: the first line names the columns"),
        ("0,0,1,NaN", "t.csv:2: bytes: is \"NaN\", but must be a finite number"),
        ("0,0,1,-5", "t.csv:2: bytes: is -5 bytes, but must be from 0 to"),
        ("0,0,1,5\n1,0,1,10KB", "t.csv:3: bytes: is \"10KB\", but all values of a column have one unit"),
        ("0,0,1,", "t.csv:2: bytes: is empty"),
        ("noon,0,1,5", "t.csv:2: start_s: is \"noon\", but must be a number"),
        ("0,0,1,5\n1e12,0,1,5", "t.csv:3: start_s: is not from 0 to"),
        ("0,,1,5", "t.csv: has flows without source"),
        ("0,0,1\n", "t.csv:2: CSV error"),
    ] {
        let whole = if rows.starts_with("start") || rows.is_empty() || rows == "1,2,3,4\n" {
            rows.to_owned()
        } else {
            format!("{head}{rows}")
        };
        let error = text(&whole, &[], None).unwrap_err();
        assert!(error.starts_with(why), "{rows}: {error}");
    }
    let error = text("start,src,dst,bytes\n0,0,1,5\n", &[], None).unwrap_err();
    assert!(error.starts_with("t.csv: start: has whole numbers and no unit"), "{error}");
    assert_eq!(flows(&text("start,src,dst,bytes\n3,0,1,5\n", &["start=start:us"], None).unwrap()).len(), 1);
}

mod any {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_is_read_or_refused(rows in "[0-9a-c,.\\-;\t\"\n #µ]{0,200}") {
            let _ = text(&rows, &[], None);
            let _ = text(&format!("start_s,src,dst,bytes\n{rows}"), &[], Some(4));
        }
    }
}
