"""What a run leaves."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from tailrace import _tailrace
from tailrace.errors import RunError, ScenarioError
from tailrace.files import lazy, load, text, verify
from tailrace.table import Table

if TYPE_CHECKING:
    from tailrace.plots.style import Chart

_TABLES = ("flows", "ports", "series")
_OTHERS = ("tasks", "lag")


class Result:
    """The tables of one run. Names of columns end with their unit."""

    def __init__(
        self,
        scenario: str,
        info: dict[str, Any],
        flows: Table,
        ports: Table,
        series: Table,
        tasks: Table | None = None,
        lag: Table | None = None,
    ) -> None:
        self.scenario = scenario
        """The scenario as TOML, with all defaults written out."""
        self.info = info
        """The run in short: scheme, version, digest of its events, packet counts, statistics."""
        self.flows = flows
        """One row a flow, flows of the warm-up included."""
        self.ports = ports
        """One row a port: what it sent, dropped and marked."""
        self.series = series
        """What was sampled and reported over time: ``time_ns, place, metric, index, value``."""
        self.tasks = tasks
        """One row a task, those of the warm-up included; ``None`` if the workload has no tasks."""
        self.lag = lag
        """How late a live run was, one row a bin: ``what, up_to_ns, count``; ``None`` at other levels."""

    @classmethod
    def load(cls, directory: str | Path) -> Self:
        """Read the folder of one run, as `save` and ``tailrace run`` write it. Its checksums must match."""
        directory = Path(directory)
        files = verify(directory, "run")
        scenario = load(directory / "scenario.toml", "run", text)
        info = load(directory / "summary.json", "run", _info)
        tables = {name: Table(load(directory / f"{name}.parquet", "run", lazy)) for name in _TABLES}
        others = {
            name: Table(load(directory / f"{name}.parquet", "run", lazy))
            for name in _OTHERS
            if f"{name}.parquet" in files
        }
        return cls(scenario, info, **tables, **others)

    def save(self, directory: str | Path) -> None:
        """Write the run into a folder: Parquet, JSON and the scenario, as ``tailrace run`` does.

        Not one by a rule of Python's, which the scenario does not have. Its tables can be written by
        themselves: ``result.flows.to_polars().write_parquet(…)``.
        """
        if "rule" in self.info:
            message = "cannot be saved, since a scenario cannot say its rule: write its tables"
            raise RunError(f"{self!r} {message}")
        flows, ports, series = self.flows.to_ipc(), self.ports.to_ipc(), self.series.to_ipc()
        others = [table.to_ipc() if table is not None else None for table in (self.tasks, self.lag)]
        try:
            _tailrace.save(
                Path(directory), self.scenario, json.dumps(self.info), flows, ports, series, *others
            )
        except RunError as error:
            message = f"{directory} must be a folder that can be made and written: {error}"
            raise RunError(message) from error

    def summary(self) -> Table:
        """Statistics of the measured flows, one row a size class."""
        return Table(pl.DataFrame(self.info["classes"]))

    @property
    def queues(self) -> Table:
        """The rows of `series` that sample queues and ports."""
        return self._series_where(pl.col("metric").str.contains("^(queue|port)_"))

    @property
    def thresholds(self) -> Table:
        """The rows of `series` that are thresholds of a scheme."""
        return self._series_where(pl.col("metric").str.starts_with("threshold_"))

    def _series_where(self, condition: pl.Expr) -> Table:
        return Table(self.series.to_lazy().filter(condition))

    def measured_flows(self, size_class: str = "all") -> Table:
        """The flows of a size class ("all", "short", "medium", "long") that started after the warm-up.

        As in the summary, "short@1" means the short flows of traffic class 1, "all@deadline" the flows that
        have a deadline, "all@no-deadline" those that have none.
        """
        warmup_ns, short, long = _tailrace.measure(self.scenario)
        size_class, at, group = size_class.partition("@")
        size = pl.col("size_bytes")
        of_size = {
            "all": pl.lit(True),
            "short": size <= short,
            "medium": (size > short) & (size <= long),
            "long": size > long,
        }
        if size_class not in of_size:
            raise ScenarioError(f'unknown size class "{size_class}"; known are {", ".join(of_size)}')
        chosen = of_size[size_class] & (pl.col("start_ns") >= warmup_ns)
        if at:
            chosen &= _in_group(group)
        return Table(self.flows.to_lazy().filter(chosen))

    def measured_tasks(self, task_class: str = "all") -> Table:
        """The tasks that arrived after the warm-up: "all", or those of a traffic class, "all@1" and so on."""
        if self.tasks is None:
            raise ScenarioError("there are no tasks: the workload has none")
        everything, at, group = task_class.partition("@")
        if everything != "all" or (at and group not in map(str, range(256))):
            message = f'must be "all" or, of a traffic class, "all@0" to "all@255", not "{task_class}"'
            raise ScenarioError(message)
        warmup_ns, _, _ = _tailrace.measure(self.scenario)
        chosen = pl.col("start_ns") >= warmup_ns
        if at:
            chosen &= _in_group(group)
        return Table(self.tasks.to_lazy().filter(chosen))

    def plot(self) -> Chart:
        """Completion times and slowdowns by size class, as distributions."""
        from tailrace.plots.overview import overview

        return overview(self)

    def __repr__(self) -> str:
        flows, hops = self.info["classes"][0]["flows"], self.info.get("packet_hops")
        level = "at flow level" if hops is None else f"{hops} packet-hops"
        rule = f" by the rule {self.info['rule']}" if "rule" in self.info else ""
        return f"Result({self.info['scheme']}{rule}: {flows} measured flows, {level})"

    def _repr_html_(self) -> str:
        shown = ["class", "flows", "unfinished", "fct_mean_us", "fct_p99_us", "slowdown_mean", "slowdown_p99"]
        return f"<p>{escape(repr(self))}</p>{self.summary().to_polars().select(shown)._repr_html_()}"


def _info(file: Path) -> dict[str, Any]:
    info = json.loads(text(file))
    if not (isinstance(info, dict) and "classes" in info):
        raise ValueError('must be a JSON object with "classes"')
    return info


def _in_group(group: str) -> pl.Expr:
    if group == "deadline":
        return pl.col("deadline_ns").is_not_null()
    if group == "no-deadline":
        return pl.col("deadline_ns").is_null()
    if group not in map(str, range(256)):
        raise ScenarioError(f'"@{group}" is neither a traffic class, 0 to 255, nor @deadline or @no-deadline')
    return pl.col("class") == int(group)
