//! Tables for every library that reads Arrow, and tables that come back from there.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, StringArray};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat_batches;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tailrace_experiment::Pieces;

/// A table that speaks the Arrow PyCapsule interface. Its pieces are made when it is asked for them.
#[pyclass(frozen)]
pub(crate) struct Table(Arc<Pieces>);

impl Table {
    pub(crate) fn new(py: Python<'_>, table: impl Into<Pieces>) -> PyResult<Py<Self>> {
        Py::new(py, Table(Arc::new(table.into())))
    }
}

#[pymethods]
impl Table {
    /// Export the table as an Arrow C stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface leaves it to the producer whether to convert; consumers do it as well.
        let _ = requested_schema;
        let (table, schema) = (Arc::clone(&self.0), self.0.piece(0).schema());
        let pieces = (0..table.count()).map(move |number| Ok(table.piece(number)));
        let batches = RecordBatchIterator::new(pieces, schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

/// The table in a stream of Arrow's IPC format, with the types that Tailrace writes: libraries have several for text,
/// and do not say whether a column could lack values.
pub(crate) fn from_ipc(stream: &[u8]) -> Result<RecordBatch, ArrowError> {
    let reader = StreamReader::try_new(stream, None)?;
    let schema = reader.schema();
    let whole = concat_batches(&schema, &reader.collect::<Result<Vec<_>, _>>()?)?;
    let column = |(field, column): (&Arc<arrow_schema::Field>, &ArrayRef)| {
        let column: ArrayRef = match column.data_type() {
            DataType::LargeUtf8 => Arc::new(column.as_string::<i64>().iter().collect::<StringArray>()),
            DataType::Utf8View => Arc::new(column.as_string_view().iter().collect::<StringArray>()),
            _ => column.clone(),
        };
        let nullable = column.null_count() > 0;
        (field.name().clone(), column, nullable)
    };
    RecordBatch::try_from_iter_with_nullable(schema.fields().iter().zip(whole.columns()).map(column))
}
