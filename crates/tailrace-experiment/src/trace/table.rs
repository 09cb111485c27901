//! A file as columns of texts. Whatever the form, a number is the text of a number.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use tailrace_config::{ScenarioError, read_file};

use crate::output::files::read_parquet;

/// Columns of one length.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: usize,
    /// In which lines of a text the rows are.
    lines: Vec<usize>,
    /// What a user should know of how the file was read.
    pub notes: Vec<String>,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    /// Empty where there is nothing.
    pub cells: Vec<String>,
    /// The unit, where its type has one.
    pub unit: Option<&'static str>,
    /// Its type, if that is one of which a trace has no columns. Its cells are then empty.
    pub unreadable: Option<String>,
}

impl Column {
    /// A column of texts.
    pub fn of_texts(name: &str, cells: Vec<String>) -> Self {
        Column { name: name.to_owned(), cells, unit: None, unreadable: None }
    }
}

impl Table {
    /// Reads a file; its ending says which form it has.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("parquet") => of_parquet(path),
            _ => {
                let wrong = |error| ScenarioError::new("", format!("cannot be read: {error}")).in_file(path);
                of_text(&read_file(path).map_err(wrong)?, path)
            }
        }
    }

    /// Of columns that are of one length.
    pub fn of_columns(columns: Vec<Column>, notes: Vec<String>) -> Self {
        let rows = columns.first().map_or(0, |column| column.cells.len());
        Table { columns, rows, lines: Vec::new(), notes }
    }

    /// The line of a row, if the file has lines.
    pub fn line(&self, row: usize) -> Option<usize> {
        self.lines.get(row).copied()
    }
}

/// Reads a CSV file with a header, whose fields are separated by whatever separates those of the header.
pub fn of_text(text: &[u8], path: &Path) -> Result<Table, ScenarioError> {
    let wrong = |line: usize, message: String| ScenarioError::in_line(path, line, message);
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let head =
        text.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty() && line[0] != b'#');
    let head = head.ok_or_else(|| wrong(1, "is empty: the first line names the columns".to_owned()))?;
    let separator = [b',', b'\t', b';', b' '].into_iter().find(|separator| head.contains(separator));
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .comment(Some(b'#'))
        .delimiter(separator.unwrap_or(b','))
        .trim(csv::Trim::All)
        .from_reader(text);
    let mut table = Table::default();
    for record in reader.records() {
        let record = record.map_err(|error| {
            let line = error.position().map_or(1, |position| position.line() as usize);
            wrong(line, error.to_string())
        })?;
        let line = record.position().map_or(1, |position| position.line() as usize);
        if table.columns.is_empty() {
            if record.iter().all(|name| name.parse::<f64>().is_ok()) {
                let message =
                    "has numbers only: the first line names the columns, such as start_s,src,dst,bytes";
                return Err(wrong(line, message.to_owned()));
            }
            table.columns = record.iter().map(|name| Column::of_texts(name, Vec::new())).collect();
            continue;
        }
        for (column, cell) in table.columns.iter_mut().zip(&record) {
            column.cells.push(cell.to_owned());
        }
        table.lines.push(line);
    }
    table.rows = table.lines.len();
    match table.rows {
        0 => Err(wrong(1, "has a header only, and no flows".to_owned())),
        _ => Ok(table),
    }
}

fn of_parquet(path: &Path) -> Result<Table, ScenarioError> {
    let unreadable = |error: crate::Error| ScenarioError::new("", error.to_string());
    let mut table = Table::default();
    for batch in read_parquet(path).map_err(unreadable)? {
        if table.columns.is_empty() {
            let fields = batch.schema();
            let column = |field: &std::sync::Arc<arrow_schema::Field>| Column {
                unit: unit(field.data_type()),
                ..Column::of_texts(field.name(), Vec::new())
            };
            table.columns = fields.fields().iter().map(column).collect();
        }
        for (column, array) in table.columns.iter_mut().zip(batch.columns()) {
            // What nobody needs may be of any type.
            match texts(array) {
                Some(texts) => column.cells.extend(texts),
                None => column.unreadable = Some(array.data_type().to_string()),
            }
        }
        table.rows += batch.num_rows();
    }
    match table.rows {
        0 => Err(ScenarioError::new("", "has no rows").in_file(path)),
        _ => Ok(table),
    }
}

/// The unit of a type of times.
fn unit(of: &DataType) -> Option<&'static str> {
    match of {
        DataType::Timestamp(unit, _) | DataType::Duration(unit) => Some(match unit {
            TimeUnit::Second => "s",
            TimeUnit::Millisecond => "ms",
            TimeUnit::Microsecond => "us",
            TimeUnit::Nanosecond => "ns",
        }),
        _ => None,
    }
}

/// The values of an array as texts; `None` for a type of which a trace has no columns.
fn texts(array: &ArrayRef) -> Option<Vec<String>> {
    use arrow_array::types as of;
    macro_rules! numbers {
        ($type:ty) => {
            array
                .as_primitive_opt::<$type>()?
                .iter()
                .map(|v| v.map_or(String::new(), |v| v.to_string()))
                .collect()
        };
    }
    let owned = |text: Option<&str>| text.unwrap_or_default().to_owned();
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        // Categories of polars and pandas.
        let values = texts(dictionary.values())?;
        let known = if values.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
        let text = |row| if array.is_null(row) { String::new() } else { values[known[row]].clone() };
        return Some((0..array.len()).map(text).collect());
    }
    Some(match array.data_type() {
        DataType::Int8 => numbers!(of::Int8Type),
        DataType::Int16 => numbers!(of::Int16Type),
        DataType::Int32 => numbers!(of::Int32Type),
        DataType::Int64 => numbers!(of::Int64Type),
        DataType::UInt8 => numbers!(of::UInt8Type),
        DataType::UInt16 => numbers!(of::UInt16Type),
        DataType::UInt32 => numbers!(of::UInt32Type),
        DataType::UInt64 => numbers!(of::UInt64Type),
        DataType::Float32 => numbers!(of::Float32Type),
        DataType::Float64 => numbers!(of::Float64Type),
        DataType::Timestamp(TimeUnit::Second, _) => numbers!(of::TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => numbers!(of::TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => numbers!(of::TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => numbers!(of::TimestampNanosecondType),
        DataType::Duration(TimeUnit::Second) => numbers!(of::DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => numbers!(of::DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => numbers!(of::DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => numbers!(of::DurationNanosecondType),
        DataType::Utf8 => array.as_string::<i32>().iter().map(owned).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(owned).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(owned).collect(),
        _ => return None,
    })
}
