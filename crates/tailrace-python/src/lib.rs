//! The Python module `tailrace._tailrace`: glue only. The package around it gives its values their shape.

mod caller;
mod command;
mod error;
mod plan;
mod rule;
mod table;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tailrace_config::ScenarioError;
use tailrace_core::HostId;
use tailrace_experiment::remote::{Destination, Task};
use tailrace_experiment::trace::{Mapping, fabric_named};
use tailrace_experiment::{Error, FluidFile, Ground, Pieces};
use tailrace_fabric::{Fabric, LoadBalancing, Node, read_files};
use tailrace_run::{Control, Threads};
use tailrace_scenario::{Level, Scenario};
use tailrace_workload::published;

use crate::caller::Caller;
use crate::command::Command;
use crate::error::to_python;
use crate::plan::{Entry, Plan};
use crate::rule::{Prospect, own_rule};
use crate::table::{Table, from_ipc};

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
    /// How late it was, one row a bin, if it was live.
    lag: Option<Py<Table>>,
}

/// A solved fluid model.
#[pyclass(frozen, get_all)]
struct FluidResult {
    /// The means of its phases, as JSON.
    phases: String,
    /// One row per sample and flow.
    table: Py<Table>,
}

/// Names of nodes, how many are hosts, and the ends of each port's link.
type Drawn = (Vec<String>, usize, Vec<(usize, usize)>);

/// The fabric of a resolved scenario.
fn built(text: &str) -> PyResult<Arc<Fabric>> {
    Ok(Scenario::parse(text).map_err(|error| to_python(error.into(), text, None))?.fabric.build())
}

#[pymodule]
mod _tailrace {
    use super::*;

    #[pymodule_export]
    use super::{Entry, FluidResult, Plan, Prospect, RunResult, Table};

    /// Gives the package the live level, where this build has it.
    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        tailrace_cli::provide_live();
        Ok(())
    }

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// Run a scenario given as TOML text; `file` is where it was read from, if it is such a text.
    /// `report(virtual_seconds, started_flows, finished_flows, packet_hops)` is called several times a second. `rule` is an object
    /// of `tailrace.Rule`, which then shares out the links in the scheme's place. A run packet by packet may have `threads`
    /// threads; 0 is as many as there are processors.
    #[pyfunction]
    #[pyo3(signature = (text, folder, file=None, report=None, rule=None, threads=None))]
    fn run(
        py: Python<'_>,
        text: &str,
        folder: PathBuf,
        file: Option<PathBuf>,
        report: Option<Py<PyAny>>,
        rule: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<RunResult> {
        let caller = Caller::new(report).with_threads(threads);
        let rule = rule.map(|rule| own_rule(rule, caller.raised())).transpose()?;
        let hears = &caller;
        let run = move || match rule {
            None => tailrace_experiment::run_text(text, &folder, hears),
            Some(rule) => {
                let scenario = tailrace_experiment::read_scenario(text, &folder)?;
                tailrace_experiment::run_by_rule(&scenario, hears, rule)
            }
        };
        let result = py.detach(run);
        caller.check()?;
        let result = result.map_err(|error| to_python(error, text, file.as_deref()))?;
        Ok(RunResult {
            scenario: result.scenario,
            summary: serde_json::json!(result.summary).to_string(),
            flows: Table::new(py, result.flows)?,
            tasks: result.tasks.map(|tasks| Table::new(py, tasks)).transpose()?,
            ports: Table::new(py, result.ports)?,
            series: Table::new(py, result.series)?,
            lag: result.lag.map(|lag| Table::new(py, lag)).transpose()?,
        })
    }

    /// Make a run of a plan of another machine's, given as `Plan.task` gives it, in a folder of results, or `alone` in one of its own.
    #[pyfunction]
    #[pyo3(signature = (text, base, key, folder, alone, fresh, report=None))]
    #[expect(clippy::too_many_arguments, reason = "a task has these parts, each with its name")]
    fn make(
        py: Python<'_>,
        text: String,
        base: PathBuf,
        key: String,
        folder: PathBuf,
        alone: bool,
        fresh: bool,
        report: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let caller = Caller::new(report);
        let task = Task { text, base, files: Vec::new(), key };
        let destination =
            if alone { Destination::Alone(&folder) } else { Destination::Results { folder: &folder, fresh } };
        let made = py.detach(|| task.make(destination, &caller));
        caller.check()?;
        made.map_err(|error| to_python(error, &task.text, None))
    }

    /// Write a run into a folder, as the command does. The summary is JSON, tables are streams of Arrow's IPC format.
    #[pyfunction]
    #[pyo3(signature = (directory, scenario, summary, flows, ports, series, tasks, lag))]
    #[expect(clippy::too_many_arguments, reason = "a run has these parts, each with its name")]
    fn save(
        py: Python<'_>,
        directory: PathBuf,
        scenario: String,
        summary: &str,
        flows: &[u8],
        ports: &[u8],
        series: &[u8],
        tasks: Option<&[u8]>,
        lag: Option<&[u8]>,
    ) -> PyResult<()> {
        let failed = |error: String| Error::storage(&directory, std::io::Error::other(error));
        let table = |stream| {
            let whole = from_ipc(stream).map_err(|error| failed(error.to_string()))?;
            Ok::<_, Error>(Pieces::from(whole))
        };
        let write = || {
            let result = tailrace_experiment::RunResult {
                summary: serde_json::from_str(summary).map_err(|error| failed(error.to_string()))?,
                scenario,
                flows: table(flows)?,
                ports: table(ports)?,
                series: table(series)?,
                tasks: tasks.map(table).transpose()?,
                lag: lag.map(table).transpose()?,
            };
            tailrace_experiment::write_run(&directory, &result, Threads::default().at_most)
        };
        py.detach(write).map_err(|error| to_python(error, "", None))
    }

    /// Put together the runs that are finished in a folder of results: write its summary.
    #[pyfunction]
    fn gather(py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        let caller = Caller::new(None);
        let gathered = py.detach(|| tailrace_experiment::gather(&folder, &mut |text| caller.warn(text)));
        caller.check()?;
        gathered.map(drop).map_err(|error| to_python(error, "", None))
    }

    /// The keys of the runs that a folder of results lacks: where seeds are run until they are enough, of those that it takes to
    /// know more.
    #[pyfunction]
    fn missing(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<String>> {
        let looked = py.detach(|| tailrace_experiment::look(&folder, &mut |_| ()));
        let gathered = looked.map_err(|error| to_python(error, "", None))?;
        Ok(gathered.missing.into_iter().map(|entry| entry.key).collect())
    }

    /// The names of the files in a folder of results. Fails unless all of them are what was written.
    #[pyfunction]
    fn verify(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<String>> {
        let files = py.detach(|| tailrace_experiment::verify(&folder));
        let files = files.map_err(|error| to_python(error, "", None))?;
        Ok(files.into_iter().map(|(name, _)| name).collect())
    }

    /// Write a file, whole or not at all, and the folder that it is in.
    #[pyfunction]
    fn write(py: Python<'_>, path: PathBuf, content: &[u8]) -> PyResult<()> {
        let write = || {
            let folder = path.parent().unwrap_or(Path::new(""));
            std::fs::create_dir_all(folder).map_err(|error| Error::storage(folder, error))?;
            tailrace_experiment::write_whole(&path, content)
        };
        py.detach(write).map_err(|error| to_python(error, "", None))
    }

    /// Check the table `[plot.NAME]`, given as TOML, against what there is to draw from, also as TOML. Returns the plot
    /// as JSON with all that it leaves out, or nothing if what it is about was not run.
    #[pyfunction]
    fn plot(name: &str, table: &str, ground: &str) -> PyResult<Option<String>> {
        let checked = || {
            let table = table.parse().map_err(|error| ScenarioError::syntax(&error, table))?;
            let plot = tailrace_experiment::Plot::read(name, &toml::Value::Table(table))?;
            plot.on(name, &Ground::found(ground)?)
        };
        let checked = checked().map_err(|error| to_python(error.into(), "", None))?;
        Ok(checked.map(|plot| plot.to_string()))
    }

    /// What to say about a name that is not among the known ones.
    #[pyfunction]
    fn unknown(what: &str, name: &str, known: Vec<String>) -> String {
        tailrace_config::suggest::unknown(what, name, known.iter().map(String::as_str))
    }

    /// Run the command line; returns its exit status. `draw(directory)` draws the plots of a result folder; it returns
    /// their paths, and what was wrong with each that could not be drawn. `report(directories, out)` writes the report of
    /// result folders and returns its path. `cluster(plan, place, jobs, store, fresh)` has a cluster make runs, and yields the number of
    /// each that is finished.
    #[pyfunction]
    fn cli(
        py: Python<'_>,
        args: Vec<OsString>,
        draw: Py<PyAny>,
        report: Py<PyAny>,
        cluster: Py<PyAny>,
    ) -> PyResult<i32> {
        let command = Command { caller: Caller::new(None), draw, report, cluster };
        let status = py.detach(|| tailrace_cli::run(args, &command));
        // Rust flushes its standard output at the end of its own programs only.
        let _ = std::io::stdout().flush();
        command.caller.check()?;
        Ok(status)
    }

    /// Solve a fluid model given as TOML text; `file` is where it was read from, if it is such a text.
    #[pyfunction]
    #[pyo3(signature = (text, file=None))]
    fn fluid(py: Python<'_>, text: &str, file: Option<PathBuf>) -> PyResult<FluidResult> {
        let caller = Caller::new(None);
        let result = py.detach(|| FluidFile::parse(text)?.solve(&|| Control::interrupted(&caller)));
        caller.check()?;
        let result = result.map_err(|error| to_python(error, text, file.as_deref()))?;
        let phases = serde_json::json!(result.phases).to_string();
        Ok(FluidResult { phases, table: Table::new(py, result.table)? })
    }

    /// What a scenario measures: the warm-up in nanoseconds, the largest short and medium flow in bytes.
    #[pyfunction]
    fn measure(text: &str) -> PyResult<(f64, u64, u64)> {
        let measure = Scenario::parse(text).map_err(|error| to_python(error.into(), text, None))?.measure;
        Ok((measure.warmup.as_ps() as f64 / 1e3, measure.short.get(), measure.long.get()))
    }

    /// The fabric of a resolved scenario, to be drawn: names of its nodes, hosts first; how many of them are hosts; the nodes
    /// at the two ends of each port's link.
    #[pyfunction]
    fn drawn(text: &str) -> PyResult<Drawn> {
        let fabric = built(text)?;
        let number = |node: Node| match node {
            Node::Host(host) => host as usize,
            Node::Switch(switch) => fabric.hosts + usize::from(switch),
        };
        let hosts = fabric.host_ids().map(|host| fabric.host_name(host).into_owned());
        let names = hosts.chain(fabric.switch_names.iter().cloned()).collect();
        let ends = fabric.ports.iter().map(|port| (number(port.from), number(port.to))).collect();
        Ok((names, fabric.hosts, ends))
    }

    /// The ports that each flow `(source, destination, number)` passes in the fabric of a resolved scenario; nothing where its
    /// packets have a choice of ways, or links fail.
    #[pyfunction]
    fn ways(py: Python<'_>, text: &str, flows: Vec<(HostId, HostId, u32)>) -> PyResult<Vec<Vec<u32>>> {
        let fabric = built(text)?;
        let is_only = |port: u32, dst| match fabric.ports[port as usize].to {
            Node::Host(_) => true,
            Node::Switch(switch) => fabric.next_hops(switch, dst).count <= 1,
        };
        let way = |(src, dst, flow): (HostId, HostId, u32)| {
            let way: Vec<u32> = fabric.hashed_path(src, dst, flow).collect();
            let is_fixed = fabric.outages.is_empty()
                && (fabric.load_balancing == LoadBalancing::Ecmp
                    || way.iter().all(|&port| is_only(port, dst)));
            if is_fixed { way } else { Vec::new() }
        };
        if let Some((src, dst, _)) =
            flows.iter().find(|(src, dst, _)| (*src.max(dst)) as usize >= fabric.hosts)
        {
            return Err(PyValueError::new_err(format!(
                "{src} or {dst} is no host: there are {}",
                fabric.hosts
            )));
        }
        Ok(py.detach(|| flows.into_iter().map(way).collect()))
    }

    /// What a resolved scenario asks for that its level cannot express, a sentence each.
    #[pyfunction]
    fn leaves_out(text: &str, folder: PathBuf) -> PyResult<Vec<String>> {
        let scenario = tailrace_experiment::read_scenario(text, &folder);
        let left_out = scenario.and_then(|scenario| tailrace_run::leaves_out(&scenario));
        left_out.map_err(|error| to_python(error.into(), text, None))
    }

    /// The fields of a fabric that the text of a graph's file amounts to, as JSON.
    #[pyfunction]
    #[pyo3(signature = (text, rate_unit=None, delay_unit=None, file=None))]
    fn graph(
        text: &str,
        rate_unit: Option<String>,
        delay_unit: Option<String>,
        file: Option<PathBuf>,
    ) -> PyResult<String> {
        let table = tailrace_fabric::graph_of_text(text, rate_unit, delay_unit);
        let table = table.map_err(|error| to_python(error.into(), "", file.as_deref()))?;
        Ok(serde_json::json!(table).to_string())
    }

    /// Writes the experiment that compares schemes on the flows of a trace; returns its file, and what the trace holds.
    /// The fabric has a name, or is the text of its fields.
    #[pyfunction]
    #[pyo3(signature = (trace, columns, name, fields, schemes, level, folder, fresh))]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "as Python passes them")]
    fn comparison(
        py: Python<'_>,
        trace: PathBuf,
        columns: Vec<String>,
        name: Option<String>,
        fields: Option<String>,
        schemes: Vec<String>,
        level: &str,
        folder: PathBuf,
        fresh: bool,
    ) -> PyResult<(PathBuf, String)> {
        let made = py.detach(|| -> Result<_, Error> {
            let level = Level::named(level)?;
            let mapping = |text: &String| {
                text.parse().map_err(|message: String| ScenarioError::new("columns", message))
            };
            let columns = columns.iter().map(mapping).collect::<Result<Vec<Mapping>, _>>()?;
            let fabric = match (name, fields) {
                (Some(name), _) => Some(fabric_named(&name)?),
                (None, Some(text)) => {
                    let mut table = text.parse().map_err(|error| ScenarioError::syntax(&error, &text))?;
                    read_files(&mut table, Path::new("")).map_err(|error| error.within("fabric"))?;
                    Some(table)
                }
                (None, None) => None,
            };
            tailrace_cli::comparison_of(&trace, &columns, fabric, &schemes, level, &folder, fresh)
        });
        made.map_err(|error| to_python(error, "", None))
    }

    /// The flows of runs under two schemes beside one another, by size class, as JSON: `runs` are pairs of folders, one a seed,
    /// and `scenario` is the resolved scenario of one of them.
    #[pyfunction]
    fn paired(py: Python<'_>, runs: Vec<(PathBuf, PathBuf)>, scenario: &str) -> PyResult<String> {
        let measure =
            Scenario::parse(scenario).map_err(|error| to_python(error.into(), scenario, None))?.measure;
        let runs: Vec<(&Path, &Path)> = runs.iter().map(|(a, b)| (a.as_path(), b.as_path())).collect();
        let found = py.detach(|| tailrace_experiment::paired::by_size(&runs, &measure));
        let found = found.map_err(|error| to_python(error, "", None))?;
        let by_class = found.into_iter().map(|(class, pairs)| (class.to_owned(), serde_json::json!(pairs)));
        Ok(by_class.collect::<serde_json::Value>().to_string())
    }

    /// Seconds as people say them.
    #[pyfunction]
    fn duration(seconds: f64) -> String {
        tailrace_core::duration(seconds)
    }

    /// The value below which Student's t with so many degrees of freedom is with this probability.
    #[pyfunction]
    fn student(probability: f64, freedom: u32) -> PyResult<f64> {
        let message = || format!("no quantile at {probability} with {freedom} degrees of freedom");
        tailrace_experiment::student(probability, freedom).ok_or_else(|| PyValueError::new_err(message()))
    }

    /// The fields of a scenario as JSON Schema.
    #[pyfunction]
    fn schema() -> PyResult<String> {
        serde_json::to_string(&Scenario::schema()).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The names of all schemes, those that are at flow level alone last.
    #[pyfunction]
    fn schemes() -> Vec<&'static str> {
        [tailrace_schemes::NAMES, tailrace_schemes::FLOW_NAMES].concat()
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
