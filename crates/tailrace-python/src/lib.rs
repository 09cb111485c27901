//! The Python module `tailrace._tailrace`: glue only. The package around it gives its values their shape.

mod caller;
mod error;
mod table;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use pyo3::prelude::*;
use tailrace_cli::Host;
use tailrace_config::ScenarioError;
use tailrace_experiment::FluidFile;
use tailrace_scenario::Scenario;
use tailrace_workload::published;

use crate::caller::Caller;
use crate::error::to_python;
use crate::table::Table;

/// What a run leaves.
#[pyclass(frozen, get_all)]
struct RunResult {
    /// The scenario as TOML, with all defaults written out.
    scenario: String,
    /// The run in short, as JSON.
    summary: String,
    /// One row a flow.
    flows: Py<Table>,
    /// One row a task, if there are tasks.
    tasks: Option<Py<Table>>,
    /// One row a port.
    ports: Py<Table>,
    /// Sampled and reported series in long format.
    series: Py<Table>,
}

/// A solved fluid model.
#[pyclass(frozen, get_all)]
struct FluidResult {
    /// The means of its phases, as JSON.
    phases: String,
    /// One row per sample and flow.
    table: Py<Table>,
}

#[pymodule]
mod _tailrace {
    use super::*;

    #[pymodule_export]
    use super::{FluidResult, RunResult, Table};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// Run a scenario given as TOML text; `file` is where it was read from, if it is such a text.
    /// `report(virtual_seconds, started_flows, finished_flows, packet_hops)` is called several times a second.
    #[pyfunction]
    #[pyo3(signature = (text, folder, file=None, report=None))]
    fn run(
        py: Python<'_>,
        text: &str,
        folder: PathBuf,
        file: Option<PathBuf>,
        report: Option<Py<PyAny>>,
    ) -> PyResult<RunResult> {
        let caller = Caller::new(report);
        let result = py.detach(|| tailrace_experiment::run_text(text, &folder, &caller));
        caller.check()?;
        let result = result.map_err(|error| to_python(error, text, file.as_deref()))?;
        Ok(RunResult {
            scenario: result.scenario,
            summary: serde_json::json!(result.summary).to_string(),
            flows: Py::new(py, Table(result.flows))?,
            tasks: result.tasks.map(|tasks| Py::new(py, Table(tasks))).transpose()?,
            ports: Py::new(py, Table(result.ports))?,
            series: Py::new(py, Table(result.series))?,
        })
    }

    /// Run the command line; returns its exit status. `draw(directory)` draws the plots of a result folder
    /// and returns their paths.
    #[pyfunction]
    fn cli(py: Python<'_>, args: Vec<OsString>, draw: Py<PyAny>) -> PyResult<i32> {
        let caller = Caller::new(Some(draw));
        let status = py.detach(|| tailrace_cli::run(args, &caller));
        // Rust flushes its standard output at the end of its own programs only.
        let _ = std::io::stdout().flush();
        caller.check()?;
        Ok(status)
    }

    /// Solve a fluid model given as TOML text; `file` is where it was read from, if it is such a text.
    #[pyfunction]
    #[pyo3(signature = (text, file=None))]
    fn fluid(py: Python<'_>, text: &str, file: Option<PathBuf>) -> PyResult<FluidResult> {
        let caller = Caller::new(None);
        let result = py.detach(|| FluidFile::parse(text)?.solve(&|| Host::interrupted(&caller)));
        caller.check()?;
        let result = result.map_err(|error| to_python(error, text, file.as_deref()))?;
        let phases = serde_json::json!(result.phases).to_string();
        Ok(FluidResult { phases, table: Py::new(py, Table(result.table))? })
    }

    /// What a scenario measures: the warm-up in nanoseconds, the largest short and medium flow in bytes.
    #[pyfunction]
    fn measure(text: &str) -> PyResult<(f64, u64, u64)> {
        let measure = Scenario::parse(text).map_err(|error| to_python(error.into(), text, None))?.measure;
        Ok((measure.warmup.as_ps() as f64 / 1e3, measure.short.get(), measure.long.get()))
    }

    /// The names of all schemes.
    #[pyfunction]
    fn schemes() -> Vec<&'static str> {
        tailrace_schemes::NAMES.to_vec()
    }

    /// The points `(bytes, cumulative probability)` of a published flow-size distribution.
    #[pyfunction]
    fn workload(name: &str) -> PyResult<Vec<(f64, f64)>> {
        let known = published::list().iter().map(|workload| workload.name);
        let unknown = || ScenarioError::new("", tailrace_config::suggest::unknown("workload", name, known));
        let workload = published::find(name).ok_or_else(|| to_python(unknown().into(), "", None))?;
        Ok(workload.distribution().points().to_vec())
    }
}
