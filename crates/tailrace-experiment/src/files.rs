//! Files of results: written whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::error::Error;

/// Writes a file aside and renames it into place, so that it is whole or not there.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), Error> {
    let aside = aside(path);
    fs::write(&aside, content).and_then(|()| fs::rename(&aside, path)).map_err(|e| {
        let _ = fs::remove_file(&aside);
        Error::storage(path, e)
    })
}

/// Where a file is written before it is renamed.
fn aside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".tmp-{name}"))
}

/// Writes a table as a Parquet file, whole or not at all.
pub fn write_parquet(path: &Path, table: &RecordBatch) -> Result<(), Error> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let encode = || {
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, table.schema(), Some(properties))?;
        writer.write(table)?;
        writer.close()?;
        Ok::<_, parquet::errors::ParquetError>(bytes)
    };
    let bytes = encode().map_err(|e| Error::storage(path, std::io::Error::other(e.to_string())))?;
    write_whole(path, &bytes)
}

/// Reads a Parquet file.
pub fn read_parquet(path: &Path) -> Result<Vec<RecordBatch>, Error> {
    let file = fs::File::open(path).map_err(|e| Error::storage(path, e))?;
    let failed = |error: String| {
        let reason = match error.split_once("Disabled feature at compile time: ") {
            Some((_, codec)) => format!("compressed with {codec}; supported are zstd, snappy and none"),
            None => error,
        };
        Error::storage(path, std::io::Error::other(reason))
    };
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.build())
        .map_err(|e| failed(e.to_string()))?;
    reader.collect::<Result<_, _>>().map_err(|e| failed(e.to_string()))
}
