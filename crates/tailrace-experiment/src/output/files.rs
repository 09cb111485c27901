//! Files of results: written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, compute_leaves};
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use tailrace_config::open_file;

use crate::error::Error;
use crate::output::columns::Column;
use crate::output::in_order::in_order;

/// Writes a file aside and renames it into place, so that it is whole or not there. A link is followed; what is there and is no
/// regular file, such as a device, stays what it is.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), Error> {
    write_whole_by(path, |file| file.write_all(content))
}

/// Writes a file as [`write_whole`] does, with what `write` writes.
pub(crate) fn write_whole_by(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Error> {
    let there = fs::metadata(path);
    if there.as_ref().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Err(Error::storage(
            path,
            io::Error::other("is a pipe or a device, but must be a regular file"),
        ));
    }
    let followed = there.and_then(|_| fs::canonicalize(path));
    let path = followed.as_deref().unwrap_or(path);
    let (aside, mut file) = create_aside(path).map_err(|e| Error::storage(path, e))?;
    write(&mut file).and_then(|()| fs::rename(&aside, path)).map_err(|e| {
        let _ = fs::remove_file(&aside);
        Error::storage(path, e)
    })
}

/// Makes a file beside `path` that is nobody else's: two processes, on two machines even, may write the same file.
fn create_aside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let process = std::process::id();
    let mut number = 0;
    loop {
        let aside = path.with_file_name(format!(".tmp-{process}-{number}-{name}"));
        match File::create_new(&aside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            made => return made.map(|file| (aside, file)),
        }
    }
}

/// Writes a table as a Parquet file, whole or not at all.
pub fn write_parquet(path: &Path, table: &RecordBatch) -> Result<(), Error> {
    write_whole(path, &parquet_bytes(path, table)?)
}

/// A table as the Parquet file that `path` will be.
pub(crate) fn parquet_bytes(path: &Path, table: &RecordBatch) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let pieces = usize::from(table.num_rows() > 0);
    encode_parquet(&mut bytes, table.schema(), pieces, |_| table.clone(), &[], &[], 1)
        .map_err(|e| Error::storage(path, e))?;
    Ok(bytes)
}

/// So many pieces of a table are a row group, which one thread encodes.
const GROUP: usize = 4;

/// Writes a table, of pieces with rows or of none, as a Parquet file that says the version that made it, and more: names, and what
/// they are. `columns` say which have so many values that a list of these takes most of the time. The file is the same
/// however many threads encode it.
pub(crate) fn encode_parquet(
    into: impl Write + Send,
    schema: SchemaRef,
    pieces: usize,
    piece: impl Fn(usize) -> RecordBatch + Sync,
    columns: &[Column],
    about: &[(&str, &str)],
    threads: usize,
) -> io::Result<()> {
    let encode = || {
        let properties = properties(&schema, columns, about);
        let writer = ArrowWriter::try_new(into, schema, Some(properties))?;
        let (mut file, factory) = writer.into_serialized_writer()?;
        let group = |number: usize| {
            let pieces = (number * GROUP..pieces.min((number + 1) * GROUP)).map(&piece);
            encode_group(factory.create_column_writers(number)?, pieces)
        };
        in_order(threads, pieces.div_ceil(GROUP), group, |columns| {
            let mut group = file.next_row_group()?;
            columns?.into_iter().try_for_each(|column| column.append_to_row_group(&mut group))?;
            group.close().map(drop)
        })?;
        file.close().map(drop)
    };
    encode().map_err(|e: ParquetError| io::Error::other(e.to_string()))
}

/// How a table of this schema is encoded.
fn properties(schema: &SchemaRef, columns: &[Column], about: &[(&str, &str)]) -> WriterProperties {
    let version = ("tailrace.version", crate::VERSION);
    let about = std::iter::once(&version).chain(about);
    let about = about.map(|(name, text)| KeyValue::new((*name).to_owned(), (*text).to_owned()));
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(about.collect()));
    for field in schema.fields() {
        let path = ColumnPath::from(field.name().as_str());
        let whole = field.data_type().is_integer();
        if whole {
            properties = properties.set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED);
        }
        if whole || columns.iter().any(|column| column.varied && column.name == field.name()) {
            properties = properties.set_column_dictionary_enabled(path, false);
        }
    }
    properties.build()
}

/// Encodes a row group.
fn encode_group(
    mut columns: Vec<ArrowColumnWriter>,
    pieces: impl Iterator<Item = RecordBatch>,
) -> Result<Vec<ArrowColumnChunk>, ParquetError> {
    for piece in pieces {
        let schema = piece.schema();
        let arrays = schema.fields().iter().zip(piece.columns());
        let leaves = arrays.map(|(field, array)| compute_leaves(field, array));
        let leaves: Vec<_> = leaves.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        assert_eq!(leaves.len(), columns.len(), "a column of a table is a leaf");
        columns.iter_mut().zip(&leaves).try_for_each(|(column, leaf)| column.write(leaf))?;
    }
    columns.into_iter().map(ArrowColumnWriter::close).collect()
}

/// Reads a Parquet file.
pub fn read_parquet(path: &Path) -> Result<Vec<RecordBatch>, Error> {
    let file = open_file(path).map_err(|e| Error::storage(path, e))?;
    let failed = |error: String| {
        let reason = match error.split_once("Disabled feature at compile time: ") {
            Some((_, codec)) => format!("compressed with {codec}; supported are zstd, snappy and none"),
            None => error,
        };
        Error::storage(path, io::Error::other(reason))
    };
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.build())
        .map_err(|e| failed(e.to_string()))?;
    reader.collect::<Result<_, _>>().map_err(|e| failed(e.to_string()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::ArrayRef;

    use super::*;
    use crate::output::columns::columns_of;

    #[test]
    fn links_are_followed_and_what_is_no_file_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_whole(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let pipe = place.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = write_whole(&pipe, b"new").unwrap_err().to_string();
        assert!(error.contains("is a pipe or a device"), "{error}");
        assert!(!fs::metadata(&pipe).unwrap().is_file());
    }

    /// Of a table of several row groups, with numbers of each kind and some that are missing.
    #[test]
    fn a_table_s_file_is_the_same_on_any_number_of_threads() {
        use arrow_array::{BooleanArray, Float64Array, StringArray, UInt8Array, UInt64Array};
        let place = tempfile::tempdir().unwrap();
        let pieces = 2 * GROUP + 1;
        let piece = |number: usize| {
            let rows = if number + 1 == pieces { 7 } else { 100 };
            let numbers = (0..rows).map(|row| (number * 100 + row) as u64);
            let float = |number: u64| (!number.is_multiple_of(7)).then(|| (number as f64).sqrt());
            RecordBatch::try_from_iter_with_nullable([
                ("size_bytes", Arc::new(UInt64Array::from_iter_values(numbers.clone())) as ArrayRef, false),
                ("slowdown", Arc::new(Float64Array::from_iter(numbers.clone().map(float))), true),
                ("class", Arc::new(UInt8Array::from_iter_values(numbers.clone().map(|n| n as u8))), false),
                (
                    "stopped",
                    Arc::new(BooleanArray::from_iter(numbers.clone().map(|n| Some(n % 3 == 0)))),
                    false,
                ),
                (
                    "name",
                    Arc::new(StringArray::from_iter_values(numbers.map(|n| format!("port{}", n % 9)))),
                    false,
                ),
            ])
            .unwrap()
        };
        let encoded = |threads| {
            let mut bytes = Vec::new();
            encode_parquet(
                &mut bytes,
                piece(0).schema(),
                pieces,
                piece,
                columns_of("flows"),
                &[("tailrace.seed", "1")],
                threads,
            )
            .unwrap();
            bytes
        };
        let bytes = encoded(1);
        for threads in [2, 3, 8] {
            assert!(encoded(threads) == bytes, "{threads} threads");
        }
        let path = place.path().join("flows.parquet");
        fs::write(&path, &bytes).unwrap();
        let found = read_parquet(&path).unwrap();
        let whole: Vec<RecordBatch> = (0..pieces).map(piece).collect();
        let rows = |batches: &[RecordBatch]| -> Vec<RecordBatch> {
            batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| batch.slice(row, 1))).collect()
        };
        let (found, whole) = (rows(&found), rows(&whole));
        assert_eq!(found.len(), whole.len());
        assert!(found.iter().zip(&whole).all(|(found, whole)| found.columns() == whole.columns()));
    }

    /// Some readers refuse row groups without rows.
    #[test]
    fn a_table_without_rows_has_no_row_group() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("series.parquet");
        let groups = |rows: u64| {
            let numbers = Arc::new(arrow_array::UInt64Array::from_iter_values(0..rows)) as ArrayRef;
            write_parquet(&path, &RecordBatch::try_from_iter([("value", numbers)]).unwrap()).unwrap();
            let file = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(&path).unwrap()).unwrap();
            (file.metadata().num_row_groups(), file.schema().fields().len())
        };
        assert_eq!([groups(0), groups(3)], [(0, 1), (1, 1)]);
    }
}
