"""Several runs in one plot, without an experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailrace.errors import ScenarioError
from tailrace.plots.flows import draw_cdf
from tailrace.plots.style import PENS, Chart, finish, label, log_scale, new_chart, styled
from tailrace.result import Result


def plot(
    results: Mapping[str, Result] | Iterable[Result],
    y: str = "slowdown",
    *,
    size_class: str = "all",
    log: Iterable[str] = ("x",),
    title: str = "",
) -> Chart:
    """How a column of the flows is distributed in each of several runs, a curve a run.

    Runs are called by the names that a mapping gives them, or by their schemes. ``y`` is a column of flows
    that has numbers, ``size_class`` as in `Result.measured_flows`, ``log`` the axes that are logarithmic. Of
    flows that did not end the curve stays below 1. Times are shown in microseconds.
    """
    named = results if isinstance(results, Mapping) else _by_scheme(results)
    if not 0 < len(named) <= len(PENS):
        message = f"are {len(named)}: there must be 1 to {len(PENS)}, which one can tell apart"
        raise ScenarioError(message, "results")
    with styled():
        chart, (axes,) = new_chart()
        for (name, result), pen in zip(named.items(), PENS, strict=False):
            flows = result.measured_flows(size_class).to_polars()
            known = [column for column, kind in flows.schema.items() if kind.is_numeric()]
            if y not in known:
                raise ScenarioError(f'has no column "{y}" of numbers; there are {", ".join(known)}', "y")
            draw_cdf(axes, flows[y] / 1e3 if y.endswith("_ns") else flows[y], name, pen)
        for axis in log:
            log_scale(axes, axis)
        of_what = "flows" if size_class == "all" else f"{size_class} flows"
        axes.set(xlabel=label(y).replace("(ns)", "(µs)"), ylabel="Share of flows", title=title)
        finish(chart, f"measured {of_what}")
    return chart


def _by_scheme(results: Iterable[Result]) -> dict[str, Result]:
    named: dict[str, Result] = {}
    for result in results:
        scheme = result.info["scheme"]
        twice = sum(name.partition(" ")[0] == scheme for name in named)
        named[f"{scheme} {twice + 1}" if twice else scheme] = result
    return named
