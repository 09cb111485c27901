//! Lists of flows in CSV files: one flow a line, named columns.

mod check;
mod nanoseconds;

pub use self::check::in_order;

use std::io;
use std::path::Path;

use tailrace_config::{ScenarioError, read_file, suggest};
use tailrace_core::{Bytes, HostId, Reveals};

use self::check::check;
use self::nanoseconds::{nanoseconds, picoseconds};
use super::{FlowSpec, Setting};

const COLUMNS: [&str; 9] =
    ["src", "dst", "size_bytes", "start_ns", "deadline_ns", "class", "slice", "task", "flow_type"];
/// Columns of a result's `flows.parquet` that say how flows fared: a list may have them, and they mean nothing.
const OUTCOMES: [&str; 7] =
    ["flow", "fct_ns", "ideal_ns", "slowdown", "retransmitted_bytes", "timeouts", "stopped"];
/// The first of the columns must be there.
const REQUIRED: usize = 4;

/// Reads a list of flows from a CSV file, ordered by start. Columns, in any order:
/// `src,dst,size_bytes,start_ns` and, where wanted, `deadline_ns` (after the start; empty for none), `class`,
/// `slice`, `task`, and `flow_type`, what the flow tells of itself: 1 deadline and size, 2 size, 3 nothing; all
/// that it has if left out. Times may have up to three decimals. Columns that only results have are passed over, and those
/// named `extra`.
pub fn read_csv(path: &Path, setting: &Setting, extra: &[String]) -> Result<Vec<FlowSpec>, ScenarioError> {
    let text = read_file(path)
        .map_err(|error| ScenarioError::new("", format!("cannot be read: {error}")).in_file(path))?;
    parse(&text, path, setting, extra)
}

/// Writes a list of flows that [`read_csv`] reads back.
pub fn write_csv(flows: impl IntoIterator<Item = FlowSpec>, mut to: impl io::Write) -> io::Result<()> {
    writeln!(to, "{}", COLUMNS.join(","))?;
    for flow in flows {
        let deadline = flow.deadline.map_or(String::new(), |at| nanoseconds(at.saturating_sub(flow.start)));
        let FlowSpec { src, dst, size, start, class, slice, task, .. } = flow;
        let (size, start, flow_type) = (size.get(), nanoseconds(start), flow.reveals.flow_type());
        writeln!(to, "{src},{dst},{size},{start},{deadline},{class},{slice},{task},{flow_type}")?;
    }
    Ok(())
}

/// What a flow of that type tells; 0 for all that it has.
pub fn reveals(flow_type: u8, has_deadline: bool) -> Result<Reveals, String> {
    match (flow_type, has_deadline) {
        (0 | 1, true) => Ok(Reveals::Deadline),
        (1, false) => Err("flow_type is 1, but there is no deadline_ns".to_owned()),
        (0 | 2, _) => Ok(Reveals::Size),
        (3, _) => Ok(Reveals::Nothing),
        _ => Err(no_type(flow_type)),
    }
}

fn no_type(given: impl std::fmt::Display) -> String {
    format!(
        "flow_type is {given}, but must be 1, 2 or 3 (what the flow tells: deadline and size, size, nothing)"
    )
}

fn parse(
    text: &[u8],
    path: &Path,
    setting: &Setting,
    extra: &[String],
) -> Result<Vec<FlowSpec>, ScenarioError> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text);
    let mut records = reader.records();
    let wrong = |line: usize, message: String| ScenarioError::in_line(path, line, message);
    let broken = |error: csv::Error| {
        let line = error.position().map_or(1, |position| position.line() as usize);
        wrong(line, error.to_string())
    };
    let header = match records.next() {
        None => {
            return Err(wrong(
                1,
                format!("is empty; the first line must be {}", COLUMNS[..REQUIRED].join(",")),
            ));
        }
        Some(header) => header.map_err(broken)?,
    };
    let column_of = columns(header.iter(), extra).map_err(|message| wrong(line_of(&header), message))?;
    let mut flows = Vec::new();
    for record in records {
        let record = record.map_err(broken)?;
        let flow = flow(&record, &column_of).and_then(|flow| check(&flow, setting).map(|()| flow));
        flows.push(flow.map_err(|message| wrong(line_of(&record), message))?);
    }
    flows.sort_by_key(|flow| flow.start);
    Ok(flows)
}

fn line_of(record: &csv::StringRecord) -> usize {
    record.position().map_or(1, |position| position.line() as usize)
}

/// Where each of `COLUMNS` is among those of a file, the first four at least; those named `extra` are passed over.
pub fn columns<'a>(
    header: impl IntoIterator<Item = &'a str>,
    extra: &[String],
) -> Result<[Option<usize>; COLUMNS.len()], String> {
    let mut column_of = [None; COLUMNS.len()];
    for (index, name) in header.into_iter().enumerate() {
        if OUTCOMES.contains(&name) || extra.iter().any(|column| column == name) {
            continue;
        }
        let known = COLUMNS.iter().position(|column| *column == name);
        let column = known.ok_or_else(|| unknown_column(name))?;
        if column_of[column].replace(index).is_some() {
            return Err(format!("column {name} is there twice"));
        }
    }
    match COLUMNS[..REQUIRED].iter().zip(column_of).find(|(_, index)| index.is_none()) {
        Some((name, _)) => Err(format!("column {name} is missing")),
        None => Ok(column_of),
    }
}

fn unknown_column(name: &str) -> String {
    let near =
        suggest::closest(name, COLUMNS).map_or(String::new(), |near| format!(" did you mean \"{near}\"?"));
    format!(
        "unknown column \"{name}\";{near} known are {}; one that means nothing to the run is named in flow_list_extra",
        COLUMNS.join(", ")
    )
}

fn flow(record: &csv::StringRecord, column_of: &[Option<usize>; COLUMNS.len()]) -> Result<FlowSpec, String> {
    // A required field that is empty fails as a number; an optional one is left out.
    let text = |column: usize| {
        let field = column_of[column].and_then(|index| record.get(index)).unwrap_or_default();
        Some(field).filter(|field| column < REQUIRED || !field.is_empty())
    };
    let number = |column: usize, most: u64| match text(column) {
        None => Ok(0),
        Some(text) => text.parse::<u64>().ok().filter(|&value| value <= most).ok_or_else(|| {
            format!("{} is \"{text}\", but must be a whole number from 0 to {most}", COLUMNS[column])
        }),
    };
    let time = |column: usize| {
        text(column)
            .map(|text| {
                picoseconds(text).ok_or_else(|| {
                    format!("{} is \"{text}\", but must be a number of nanoseconds", COLUMNS[column])
                })
            })
            .transpose()
    };
    let flow_type = match text(8) {
        None => 0,
        Some(text) => text.parse().map_err(|_| no_type(format!("\"{text}\"")))?,
    };
    let start = time(3)?.unwrap_or_default();
    let deadline = time(4)?.map(|span| start.saturating_add(span));
    Ok(FlowSpec {
        src: number(0, HostId::MAX.into())? as HostId,
        dst: number(1, HostId::MAX.into())? as HostId,
        size: Bytes::new(number(2, u64::MAX)?),
        start,
        deadline,
        reveals: reveals(flow_type, deadline.is_some())?,
        controlled: false,
        class: number(5, u8::MAX.into())? as u8,
        slice: number(6, u16::MAX.into())? as u16,
        task: number(7, u32::MAX.into())? as u32,
        ..FlowSpec::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tailrace_core::{Rate, Time};
    use tailrace_fabric::Racks;

    fn read(text: &str) -> Result<Vec<FlowSpec>, String> {
        parse(text.as_bytes(), Path::new("f.csv"), &setting(), &[]).map_err(|error| error.to_string())
    }

    fn setting() -> Setting {
        // A terabyte takes 8.8 seconds: any deadline of the tests is possible.
        Setting {
            hosts: 4,
            speeds: Vec::new(),
            racks: Racks::bounded(&[0, 4]),
            racks_per_pod: 1,
            slices: 0,
            host_rate: Rate::from_bps(1 << 40),
            mss: 1460,
            base_rtt: Time::ZERO,
        }
    }

    #[test]
    fn columns_come_in_any_order_and_flows_are_sorted() {
        let flows = read(
            "start_ns, dst, src, size_bytes, deadline_ns\n2000,1,0,10,\n# comment\n1000.5,2,3,20,500\n1000.5,1,2,30,\n",
        )
        .unwrap();
        let starts: Vec<u64> = flows.iter().map(|flow| flow.start.as_ps()).collect();
        assert_eq!(starts, [1_000_500, 1_000_500, 2_000_000]);
        assert_eq!((flows[0].src, flows[0].dst, flows[0].size.get()), (3, 2, 20));
        assert_eq!(flows[0].deadline, Some(Time::from_ps(1_500_500)));
        assert_eq!((flows[1].src, flows[1].deadline), (2, None));
    }

    #[test]
    fn errors_name_file_and_line() {
        let error = |text: &str| read(text).unwrap_err();
        let head = "src,dst,size_bytes,start_ns\n";
        assert!(error("").starts_with("f.csv:1: is empty"));
        assert!(error("src,dst,size_bytes\n").starts_with("f.csv:1: column start_ns is missing"));
        assert!(error("src,dst,size_byte,start_ns\n").contains("did you mean \"size_bytes\"?"));
        assert!(error("src,dst,src,start_ns\n").contains("column src is there twice"));
        assert!(error(&format!("{head}0,1,5,0\n0,4,5,0\n")).starts_with("f.csv:3: host 4 does not exist"));
        assert!(error(&format!("{head}1,1,5,0\n")).starts_with("f.csv:2: src and dst are both host 1"));
        assert!(error(&format!("{head}0,1,0,0\n")).starts_with("f.csv:2: size_bytes is 0"));
        assert!(error(&format!("{head}0,1,-3,0\n")).starts_with("f.csv:2: size_bytes is \"-3\""));
        assert!(error(&format!("{head}0,1,3,0.0001\n")).starts_with("f.csv:2: start_ns is \"0.0001\""));
        assert!(
            error(&format!("{head}0,1,3\n")).starts_with("f.csv:2: CSV error"),
            "{}",
            error(&format!("{head}0,1,3\n"))
        );
        let due = "src,dst,size_bytes,start_ns,deadline_ns,flow_type\n";
        assert!(error(&format!("{due}0,1,5,7,0,\n")).starts_with("f.csv:2: deadline_ns is 0"));
        let impossible = error(&format!("{due}0,1,1000000000,7,1000,\n"));
        assert!(impossible.starts_with("f.csv:2: deadline_ns is 1000, but 1GB alone take"), "{impossible}");
        assert!(error(&format!("{due}0,1,5,7,,1\n")).contains("there is no deadline_ns"));
        assert!(error(&format!("{due}0,1,5,7,,4\n")).contains("must be 1, 2 or 3"));
        assert!(error(&format!("{head},1,3,5\n")).starts_with("f.csv:2: src is \"\""));
        assert!(error(&format!("{head}0,1,3,99999999999999999999\n")).starts_with("f.csv:2: start_ns"));
    }

    #[test]
    fn slices_of_flows_are_those_that_are_described() {
        let list = "src,dst,size_bytes,start_ns,slice\n0,1,5,0,2\n0,2,5,0,\n0,1,5,0,3\n";
        let with = |slices| {
            let setting = Setting { slices, ..setting() };
            parse(list.as_bytes(), Path::new("f.csv"), &setting, &[])
                .map(|flows| flows.iter().map(|flow| flow.slice).collect::<Vec<_>>())
                .map_err(|error| error.to_string())
        };
        assert_eq!(with(0), Ok(vec![2, 0, 3]), "numbers for statistics");
        assert_eq!(with(3), Ok(vec![2, 0, 3]));
        let error = with(2).unwrap_err();
        assert_eq!(error, "f.csv:4: slice is 3, but there are 2 slices: 1 to 2, or 0 for flows of no slice");
        assert!(with(1).unwrap_err().starts_with("f.csv:2: slice is 2, but there is 1 slice: 1, or 0"));
    }

    #[test]
    fn other_columns_are_declared_or_refused_with_those_that_there_are() {
        let error = read("src,dst,size,start_ns\n").unwrap_err();
        assert!(error.contains(
            "unknown column \"size\"; did you mean \"size_bytes\"? known are src, dst, size_bytes,"
        ));
        let list = "src,dst,size_bytes,rack,start_ns,job\n0,1,5,a,7,\n";
        let with = |extra: &[&str]| {
            let extra: Vec<String> = extra.iter().map(|&name| name.to_owned()).collect();
            parse(list.as_bytes(), Path::new("f.csv"), &setting(), &extra).map_err(|error| error.to_string())
        };
        assert_eq!(with(&["rack", "job"]).unwrap()[0].start, Time::from_ns(7));
        let error = with(&["rack"]).unwrap_err();
        assert!(
            error.starts_with("f.csv:1: unknown column \"job\"; known are")
                && error.ends_with("flow_list_extra")
        );
    }

    fn any_flow() -> impl Strategy<Value = FlowSpec> {
        let numbers = (any::<u8>(), any::<u16>(), any::<u32>());
        let types = (0u8..3, any::<bool>());
        (0u32..3, 1u64..1 << 42, 0u64..1 << 58, (1u64 << 46)..1 << 58, numbers, types).prop_map(
            |(src, size, start, span, (class, slice, task), (reveals, due))| FlowSpec {
                src,
                dst: 3,
                size: Bytes::new(size),
                start: Time::from_ps(start),
                deadline: due.then(|| Time::from_ps(start + span)),
                reveals: match reveals {
                    0 if due => Reveals::Deadline,
                    1 => Reveals::Nothing,
                    _ => Reveals::Size,
                },
                controlled: false,
                class,
                slice,
                task,
                ..FlowSpec::default()
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(mut flows in prop::collection::vec(any_flow(), 0..20)) {
            flows.sort_by_key(|flow| flow.start);
            let mut text = Vec::new();
            write_csv(flows.iter().copied(), &mut text).unwrap();
            prop_assert_eq!(read(std::str::from_utf8(&text).unwrap()), Ok(flows));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, Path::new("f.csv"), &setting(), &[]);
        }

        #[test]
        fn any_text_after_the_header_is_read_or_refused(text in "[0-9,.\\-\"\n #a]{0,100}") {
            let _ = read(&format!("src,dst,size_bytes,start_ns\n{text}"));
        }
    }
}
