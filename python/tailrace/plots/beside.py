"""Several runs in one plot, without an experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailrace import toml
from tailrace.errors import ScenarioError
from tailrace.plots.flows import draw_cdf
from tailrace.plots.style import COLOURS, DASHES, PENS, Chart, finish, label, log_scale, new_chart, styled
from tailrace.result import Result


def plot(
    results: Mapping[str, Result] | Iterable[Result] | Result,
    y: str = "slowdown",
    *,
    size_class: str = "all",
    log: Iterable[str] = ("x",),
    title: str = "",
) -> Chart:
    """How a column of the flows is distributed in each of several runs, a curve a run.

    Runs are called by the names that a mapping gives them, or by their schemes. ``y`` is a column of flows
    that has numbers, ``size_class`` as in `Result.measured_flows`, ``log`` the axes that are logarithmic. Of
    flows that did not end the curve stays below 1. Times are shown in microseconds. Runs of one scheme have
    one colour and several dashes.
    """
    results = [results] if isinstance(results, Result) else results
    named = results if isinstance(results, Mapping) else _by_scheme(list(results))
    if not 0 < len(named) <= len(PENS):
        message = f"are {len(named)}: there must be 1 to {len(PENS)}, which one can tell apart"
        raise ScenarioError(message, "results")
    with styled():
        chart, (axes,) = new_chart()
        for (name, result), place in zip(named.items(), _pens(list(named.values())), strict=True):
            flows = result.measured_flows(size_class)
            kinds = flows.to_lazy().collect_schema()
            known = [column for column, kind in kinds.items() if kind.is_numeric()]
            if y not in known:
                raise ScenarioError(f'has no column "{y}" of numbers; there are {", ".join(known)}', "y")
            draw_cdf(axes, flows[y] / 1e3 if y.endswith("_ns") else flows[y], name, PENS[place])
        for axis in log:
            log_scale(axes, axis)
        of_what = "flows" if size_class == "all" else f"{size_class} flows"
        axes.set(xlabel=label(y).replace("(ns)", "(µs)"), ylabel="Share of flows", title=title)
        finish(chart, f"measured {of_what}")
    return chart


def _by_scheme(results: list[Result]) -> dict[str, Result]:
    """Results by their scheme; by the seed, too, where several are of one scheme, or else by their turn."""
    named: dict[str, Result] = {}
    for result in results:
        scheme = result.info["scheme"]
        if sum(other.info["scheme"] == scheme for other in results) > 1:
            scheme = f"{scheme}, seed {toml.loads(result.scenario).get('seed', 1)}"
        name, turn = scheme, 1
        while name in named:
            turn += 1
            name = f"{scheme} ({turn})"
        named[name] = result
    return named


def _pens(results: list[Result]) -> list[int]:
    """A pen for each run: a colour for its scheme, a dash for its turn; in turn if there are not so many."""
    schemes = list(dict.fromkeys(result.info["scheme"] for result in results))
    turns: dict[str, int] = {}
    places = []
    for result in results:
        scheme = result.info["scheme"]
        turn = turns.get(scheme, 0)
        turns[scheme] = turn + 1
        places.append(schemes.index(scheme) + COLOURS * turn)
    several = len(schemes) > 1 and len(schemes) <= COLOURS and max(turns.values()) <= len(DASHES)
    return places if several else list(range(len(results)))
