"""The plots that an experiment file asks for, one module a kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailrace.errors import ScenarioError
from tailrace.fluid_model import Fluid
from tailrace.folder import ResultFolder
from tailrace.plots.flows import Cdf
from tailrace.plots.fluid import fluid_chart
from tailrace.plots.plot import Plot, unknown
from tailrace.plots.series import Series
from tailrace.plots.style import Chart, finish, new_chart, save, styled
from tailrace.plots.summary import Bars, Line
from tailrace.plots.workloads import Workloads

KINDS: dict[str, type[Plot]] = {kind.kind: kind for kind in (Line, Cdf, Series, Bars, Workloads)}


def draw(directory: str | Path) -> list[Path]:
    """Draw all plots of a result folder, also of a fluid model's, into its ``plots/``; returns the files."""
    if (Path(directory) / "fluid.parquet").exists():
        return _draw_fluid(Path(directory))
    folder = ResultFolder(directory)
    files = []
    for name in folder.experiment.get("plot", {}):
        plot = read(folder.experiment, name)
        if plot.left_out(folder):
            continue
        drawn = chart(plot, folder)
        with styled():
            files += save(drawn, folder.path / "plots" / name)
    return files


def _draw_fluid(directory: Path) -> list[Path]:
    drawn = fluid_chart(Fluid.load(directory))
    with styled():
        return save(drawn, directory / "plots" / "fluid")


def read(experiment: dict[str, Any], name: str) -> Plot:
    """Read the table ``[plot.NAME]`` of an experiment file."""
    table = experiment.get("plot", {}).get(name)
    if not isinstance(table, dict):
        raise ScenarioError("there is no such table", f"plot.{name}")
    kind = table.get("kind", "line")
    if kind not in KINDS:
        raise ScenarioError(unknown("kind of plot", str(kind), KINDS), f"plot.{name}.kind")
    return KINDS[kind].read(name, {key: value for key, value in table.items() if key != "kind"})


def chart(plot: Plot, folder: ResultFolder) -> Chart:
    """Draw one plot."""
    with styled():
        figure, (axes,) = new_chart()
        finish(figure, plot.draw(folder, axes))
    return figure
