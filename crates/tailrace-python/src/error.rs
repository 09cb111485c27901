//! Rust's errors as Python's exceptions, which `tailrace.errors` defines.

use std::path::Path;

use pyo3::prelude::*;
use tailrace_config::{LONGEST_FIELD, LONGEST_MESSAGE, shown};
use tailrace_experiment::Error;

mod python {
    pyo3::import_exception!(tailrace.errors, RunError);
    pyo3::import_exception!(tailrace.errors, ScenarioError);
    pyo3::import_exception!(tailrace.errors, TailraceError);
}

pub(crate) use python::{ScenarioError as PythonScenarioError, TailraceError};

/// An error in `text`, which was read from `file`. A text that came from none was put together, and has no
/// lines that anyone could look up.
pub(crate) fn to_python(error: Error, text: &str, file: Option<&Path>) -> PyErr {
    match error {
        Error::Input(mut error) => {
            match file {
                Some(file) => error = error.locate(text).in_file(file),
                None if error.file.is_none() => error.line = None,
                None => {}
            }
            let (message, field) =
                (shown(&error.message, LONGEST_MESSAGE), shown(&error.field, LONGEST_FIELD));
            python::ScenarioError::new_err((message, field, error.file, error.line))
        }
        error => python::RunError::new_err(error.to_string()),
    }
}
