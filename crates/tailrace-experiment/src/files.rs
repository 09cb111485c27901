//! Files of results: written whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use tailrace_config::open_file;

use crate::columns::Column;
use crate::error::Error;

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
    encode_parquet(&mut bytes, std::iter::once(table.clone()), &[], &[])
        .map_err(|e| Error::storage(path, e))?;
    Ok(bytes)
}

/// Writes a table, of one piece or several, as a Parquet file that says the version that made it, and more: names, and what
/// they are. Of `columns` those that are varied are encoded without a list of their values, which takes most of the time.
pub(crate) fn encode_parquet(
    into: impl Write + Send,
    pieces: impl IntoIterator<Item = RecordBatch>,
    columns: &[Column],
    about: &[(&str, &str)],
) -> io::Result<()> {
    let version = ("tailrace.version", crate::VERSION);
    let about = std::iter::once(&version).chain(about);
    let about = about.map(|(name, text)| KeyValue::new((*name).to_owned(), (*text).to_owned()));
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(about.collect()));
    let mut pieces = pieces.into_iter();
    let first = pieces.next().ok_or_else(|| io::Error::other("a table without a piece has no columns"))?;
    for column in columns.iter().filter(|column| column.varied) {
        let path = ColumnPath::from(column.name);
        properties = properties.set_column_dictionary_enabled(path.clone(), false);
        if first.column_by_name(column.name).is_some_and(|column| column.data_type().is_integer()) {
            properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    let properties = properties.build();
    let encode = || {
        let mut writer = ArrowWriter::try_new(into, first.schema(), Some(properties))?;
        writer.write(&first)?;
        pieces.try_for_each(|piece| writer.write(&piece))?;
        writer.close()?;
        Ok::<_, parquet::errors::ParquetError>(())
    };
    encode().map_err(|e| io::Error::other(e.to_string()))
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
    use super::*;

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
}
