"""The plots that an experiment file asks for, one module a kind; Rust checks what a plot may ask for."""

from __future__ import annotations

import json
from typing import Any

from tailrace import _tailrace, toml
from tailrace.errors import ScenarioError
from tailrace.plots.drawable import Folder
from tailrace.plots.flows import Cdf
from tailrace.plots.plot import Plot
from tailrace.plots.series import Series
from tailrace.plots.style import PENS, Chart, finish, new_chart, styled
from tailrace.plots.summary import Bars, Line
from tailrace.plots.workloads import Workloads

KINDS: dict[str, type[Plot]] = {kind.kind: kind for kind in (Line, Cdf, Series, Bars, Workloads)}


def tables(folder: Folder) -> dict[str, Any]:
    """The plots that the folder's experiment asks for, or what suits it if it asks for none."""
    own = folder.experiment.get("plot")
    if own is not None:
        return dict(own)
    axes = [axis for axis in folder.axes if axis not in ("scheme", "seed")]
    if folder.summary["scheme"].n_unique() > len(PENS):
        return {}
    if not axes:
        return {"slowdown": {"kind": "cdf", "y": "slowdown", "log": "x", "title": "Slowdown of all flows"}}
    if len(axes) == 1 and folder.summary[axes[0]].n_unique() > 1:
        kind = "line" if folder.summary[axes[0]].dtype.is_numeric() else "bars"
        return {"slowdown": {"kind": kind, "x": axes[0], "y": "slowdown_mean", "title": "Mean slowdown"}}
    return {}


def chart(folder: Folder, name: str) -> Chart:
    """Draw the plot that ``[plot.NAME]`` of the folder's experiment describes."""
    if (figure := chart_if_run(folder, name)) is None:
        raise ScenarioError("is of schemes or points that were not run", f"plot.{name}")
    return figure


def chart_if_run(folder: Folder, name: str) -> Chart | None:
    """The same, or ``None`` if what it is about was not run."""
    if (plot := read(folder, name)) is None:
        return None
    with styled():
        figure, (axes,) = new_chart()
        finish(figure, plot.draw(folder, axes))
    return figure


def read(folder: Folder, name: str) -> Plot | None:
    """Read the table ``[plot.NAME]`` of a folder's experiment; ``None`` if what it is about was not run."""
    known = tables(folder)
    table = known.get(name)
    if not isinstance(table, dict):
        raise ScenarioError(_tailrace.unknown("plot", name, list(known)), f"plot.{name}")
    checked = _tailrace.plot(name, toml.dumps(table), _ground(folder))
    if checked is None:
        return None
    fields = json.loads(checked)
    if "class" in fields:
        fields["class_"] = fields.pop("class")
    return KINDS[fields.pop("kind")](name=name, **fields)


def _ground(folder: Folder) -> str:
    """What there is to draw from, as TOML."""
    runs = folder.summary.select(folder.axes).unique(maintain_order=True)
    return toml.dumps(
        {
            "axes": {axis: runs[axis].to_list() for axis in folder.axes},
            "left_out": sorted(folder.left_out),
            "scale": folder.scale,
            "tasks": "tct_mean_us" in folder.summary.columns,
            "classes": folder.summary["class"].unique(maintain_order=True).to_list(),
        }
    )
