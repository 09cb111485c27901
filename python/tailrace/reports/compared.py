"""What is drawn and said of a folder's flows, point by point."""

from __future__ import annotations

from typing import Any

import polars as pl

from tailrace.folder import ResultFolder
from tailrace.reports import words
from tailrace.reports.charts import Chart, Grids, View
from tailrace.reports.flows import (
    BINS,
    METRICS,
    SIZES,
    STATISTICS,
    Measured,
    Point,
    beside,
    by_size,
    distributions,
    ratios,
    ratios_by_size,
    task_times,
)
from tailrace.reports.page import folded, section, text

Clusters = list[tuple[str, dict[str, dict[str, Any]]]]
# More verdicts than this are folded.
_VERDICTS = 12


class OfFlows:
    """Charts and texts. The flows of one point are in memory at a time."""

    def __init__(self, folder: ResultFolder, of: list[Point], pens: dict[str, int], grids: Grids) -> None:
        self._folder = folder
        self._clusters: list[tuple[Point, Clusters]] = []
        self._lost: list[tuple[Point, list[str]]] = []
        # Points at which no flow has completed.
        self._without: list[str] = []
        self._names = [at.name or "everywhere" for at in of]
        views: dict[str, list[View]] = {
            name: [] for name in ("distributions", "sizes", "ratios", "losers", "tasks")
        }
        for at in of:
            measured = Measured(at, at.flows(), pens)
            views["distributions"] += distributions(measured, grids)
            views["sizes"] += by_size(measured)
            tasks = task_times(measured, grids)
            views["tasks"] += [tasks] if tasks else []
            clusters = at.clusters()
            self._clusters.append((at, clusters))
            others: dict[str, pl.DataFrame] = {}
            said: list[str] = []
            for base, pairs in clusters:
                own = beside(measured, base, pairs)
                said += [words.losers(base, scheme, pairs[scheme]["all"], own[scheme]) for scheme in own]
                others |= own
            self._lost.append((at, said))
            bases = [base for base, pairs in clusters if pairs]
            under = bases[0] if len(bases) == 1 else "the first with the same flows"
            views["ratios"] += ratios(measured, others, under, grids)
            views["losers"].append(ratios_by_size(measured, others, under))
            if not any(flows["fct_ns"].count() for flows in measured.shown.values()):
                self._without.append(at.name)
        some = any(pairs for _, clusters in self._clusters for _, pairs in clusters)
        self.distributed = [
            self._chart("distributions", views, {"flows": SIZES, "metric": list(METRICS)}),
            self._chart("sizes", views, {"statistic": list(STATISTICS)}),
            self._chart("tasks", views, {}) if len(views["tasks"]) == len(of) else None,
        ]
        """Charts of how long things take."""
        self.ratios = self._chart("ratios", views, {"flows": SIZES}) if some else None
        self.losers = self._chart("losers", views, {}) if some else None

    def _chart(self, name: str, views: dict[str, list[View]], choices: dict[str, list[str]]) -> Chart | None:
        """A chart, unless all of its curves are empty."""
        if not any(curve.x for view in views[name] for curve in view.curves):
            return None
        title, about, log, tail = _CHARTS[name]
        return Chart(name, title, about, {"at": self._names, **choices}, views[name], log=log, tail=tail)

    def completed(self) -> str:
        """Where no flow has completed, so that there is no distribution."""
        if not self._without:
            return ""
        at = f"At {'; '.join(self._without)} no" if len(self._without) < len(self._names) else "No"
        return f"<p>{text(at)} flow has completed, so that there are no distributions.</p>"

    def verdicts(self) -> str:
        """The order of schemes at each point, and what it leaves out."""
        said: list[str] = []
        for at, clusters in self._clusters:
            orders = [words.verdict(at, base, pairs) for base, pairs in clusters]
            said += [line for line in orders if line]
            said += words.out_of_order(at, _alone(clusters))
        shown = "".join(said[:_VERDICTS])
        rest = "".join(said[_VERDICTS:])
        more = folded(f"{len(said) - _VERDICTS} more", f"<ul>{rest}</ul>") if rest else ""
        lines = words.beside_flows(self._folder)
        return (f'<ul class="verdict">{shown}</ul>{more}' if said else "") + lines

    def compared(self) -> str:
        """Schemes beside the first one with the same flows, by size class, point by point."""
        parts = []
        for at, clusters in self._clusters:
            for base, pairs in clusters:
                if pairs:
                    made = words.pair_table(base, pairs, SIZES)
                    parts.append(section(at.name, made, level=3) if at.name else made)
            where = f"At {at.name}: " if at.name else ""
            for why, schemes in words.apart(at, _alone(clusters)).items():
                what = f"{where}{', '.join(schemes)}: {why}, so that nothing is compared."
                parts.append(f"<p>{text(what)}</p>")
        return "".join(parts)

    def lost(self) -> str:
        """What flows that lose have in common, point by point."""
        parts = (
            f"{f'<p>At {text(at.name)}:</p>' if at.name else ''}<ul>{''.join(said)}</ul>"
            for at, said in self._lost
            if said
        )
        return "".join(parts)


def _alone(clusters: Clusters) -> list[str]:
    """The schemes beside which there are others, but none to be compared with."""
    return [base for base, pairs in clusters if not pairs] if len(clusters) > 1 else []


# Title, text, logarithmic axes, and whether the tail may be shown.
_CHARTS: dict[str, tuple[str, str, list[str], bool]] = {
    "distributions": (
        "How long flows take",
        "Slowdown: completion time over that of the flow alone. The further left, the better. "
        "A curve that ends below 1 has flows that did not complete.",
        ["x"],
        True,
    ),
    "sizes": (
        "Slowdown by size",
        f"Flows in order of size, in at most {BINS} parts of about as many flows.",
        ["x", "y"],
        False,
    ),
    "tasks": ("How long tasks take", "From a task's arrival to the end of its last flow.", ["x"], True),
    "ratios": (
        "Faster and slower flows",
        "The same flows met every scheme. Left of 1 a flow is faster than under the first one.",
        ["x"],
        True,
    ),
    "losers": (
        "Who wins and who loses, by size",
        "The median of flows of like size, and between which ratios eight of ten are.",
        ["x", "y"],
        False,
    ),
}
