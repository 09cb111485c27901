"""A finished result folder, as ``tailrace run`` leaves it."""

from __future__ import annotations

from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tailrace import _tailrace
from tailrace.errors import RunError
from tailrace.files import frame, load, table, verify
from tailrace.result import Result

if TYPE_CHECKING:
    from tailrace.plots.style import Chart


class ResultFolder:
    """The results of an experiment: its file, its summary, its runs and its plots."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        files = verify(self.path, "experiment")
        self.experiment: dict[str, Any] = load(self.path / "experiment.toml", "experiment", table)
        """The experiment as it was run."""
        if "summary.parquet" not in files:
            message = (
                f"{self.path} holds no summary yet: tailrace.gather makes that of the runs that are finished"
            )
            raise RunError(message)
        self.summary = load(self.path / "summary.parquet", "experiment", frame)
        """One row per run and size class."""

    @cached_property
    def means(self) -> pl.DataFrame:
        """One row per size class of the runs that differ in their seed alone.

        ``seeds`` is how many these are; of each number there is the mean and, in a column whose name ends
        with ``_half95``, half of its 95 % interval by Student's t (null for one seed).
        """
        return load(self.path / "means.parquet", "experiment", frame)

    @property
    def axes(self) -> list[str]:
        """The columns of the summary in which runs may differ: the scheme and what was swept."""
        columns = self.summary.columns
        return columns[: columns.index("class")]

    @property
    def missing(self) -> pl.DataFrame:
        """The runs of the experiment that are not in the summary: scheme, the axes of the sweep, key.

        Where seeds are run until they are enough (``[stop]``), only those that it takes to know more.
        """
        plan = load(self.path / "plan.parquet", "experiment", frame)
        if "stop" in self.experiment:
            return plan.filter(pl.col("run").is_in(_tailrace.missing(self.path)))
        return plan.join(self.summary, on="run", how="anti")

    @property
    def schemes(self) -> list[str]:
        """The labels of the schemes in the experiment's file, run or not, in its order."""
        return [scheme.get("label", scheme["name"]) for scheme in self.experiment.get("scheme", [])]

    @property
    def left_out(self) -> set[str]:
        """The schemes of the experiment's file that were not run, because of ``--only``."""
        return set(self.schemes) - set(self.summary["scheme"])

    @property
    def scale(self) -> float:
        """The scale at which the experiment was run; 1 is the full one."""
        return float(self.experiment.get("scaled", {}).get("scale", 1.0))

    @property
    def set(self) -> dict[str, str]:
        """Fields that were changed on the command line, with their values."""
        return dict(self.experiment.get("set", {}))

    def run(self, key: str) -> Result:
        """One run, by its key in the summary's column ``run``, or by its scheme if that has one run only."""
        known = self.summary.select("scheme", "run").unique(maintain_order=True)
        of_scheme = known.filter(pl.col("scheme") == key)["run"].to_list()
        if len(of_scheme) > 1:
            message = f"{key} has {len(of_scheme)} runs: give the key of one, from the summary's column run"
            raise RunError(f"{self.path}: {message}")
        if not of_scheme and key not in known["run"] and not (self.path / "runs" / key).is_dir():
            schemes = known["scheme"].unique(maintain_order=True).to_list()
            raise RunError(f"{self.path}: {_tailrace.unknown('scheme or run', key, schemes)}")
        return Result.load(self.path / "runs" / (of_scheme[0] if of_scheme else key))

    def plot(self, name: str) -> Chart:
        """The plot that the experiment file describes as ``[plot.NAME]``."""
        from tailrace import plots

        return plots.chart(self, name)

    def __repr__(self) -> str:
        runs = self.summary["run"].n_unique()
        return f"ResultFolder({str(self.path)!r}: {runs} runs over {', '.join(self.axes)})"

    def _repr_html_(self) -> str:
        title = escape(str(self.experiment.get("title", self.path.name)))
        shown = ["seeds", "flows", "unfinished", "fct_mean_us", "fct_p99_us", "slowdown_mean", "slowdown_p99"]
        axes = self.means.columns[: self.means.columns.index("class")]
        rows = self.means.filter(pl.col("class") == "all").select(*axes, *shown)
        missing = self.missing.height
        left = f"<p>{missing} runs are not finished.</p>" if missing else ""
        return f"<p><strong>{title}</strong>, means over all flows</p>{left}{rows._repr_html_()}"
