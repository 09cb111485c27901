"""What is drawn and said of a folder's flows, point by point."""

from __future__ import annotations

from typing import Any

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
)
from tailrace.reports.page import section, text


class OfFlows:
    """Charts and texts. The flows of one point are in memory at a time."""

    def __init__(self, folder: ResultFolder, of: list[Point], pens: dict[str, int], grids: Grids) -> None:
        self._pairs: list[tuple[Point, str, dict[str, dict[str, Any]]]] = []
        self._lost: list[tuple[Point, list[str]]] = []
        views: dict[str, list[View]] = {"distributions": [], "sizes": [], "ratios": [], "losers": []}
        compared = len(pens) > 1
        for at in of:
            measured = Measured(at, at.flows(), pens)
            views["distributions"] += distributions(measured, grids)
            views["sizes"] += by_size(measured)
            base = next(iter(at.runs))
            pairs = {scheme: at.pairs(base, scheme) for scheme in at.runs if scheme != base}
            same = {scheme: found for scheme, found in pairs.items() if found and "all" in found}
            self._pairs.append((at, base, same))
            others = {scheme: flows for scheme, flows in beside(measured, base).items() if scheme in same}
            if compared:
                views["ratios"] += ratios(measured, base, others, grids)
                views["losers"].append(ratios_by_size(measured, base, others))
            self._lost.append((at, [words.losers(base, scheme, flows) for scheme, flows in others.items()]))
        names = [at.name or "everywhere" for at in of]
        self.distributions = Chart(
            "distributions",
            "How long flows take",
            "Slowdown: completion time over that of the flow alone. The further left, the better.",
            {"at": names, "flows": SIZES, "metric": list(METRICS)},
            views["distributions"],
            log=["x"],
            tail=True,
        )
        self.sizes = Chart(
            "sizes",
            "Slowdown by size",
            f"Flows in order of size, in at most {BINS} parts of about as many flows.",
            {"at": names, "statistic": list(STATISTICS)},
            views["sizes"],
            log=["x", "y"],
        )
        some = any(same for _, _, same in self._pairs)
        self.ratios = (
            None
            if not some
            else Chart(
                "ratios",
                "Faster and slower flows",
                "The same flows met every scheme. Left of 1 a flow is faster than under the first one.",
                {"at": names, "flows": SIZES},
                views["ratios"],
                log=["x"],
                tail=True,
            )
        )
        self.losers = (
            None
            if not some
            else Chart(
                "losers",
                "Who wins and who loses, by size",
                "The median of flows of like size, and between which ratios eight of ten are.",
                {"at": names},
                views["losers"],
                log=["x", "y"],
            )
        )

    def verdicts(self) -> str:
        """The order of schemes at each point."""
        said = [words.verdict(at, words.order(at, base, same)) for at, base, same in self._pairs if same]
        return f'<ul class="verdict">{"".join(said)}</ul>' if any(said) else ""

    def compared(self) -> str:
        """Schemes beside the first one, by size class, point by point."""
        return "".join(
            section(at.name, words.pair_table(base, same, SIZES), level=3)
            if at.name
            else words.pair_table(base, same, SIZES)
            for at, base, same in self._pairs
            if same
        )

    def lost(self) -> str:
        """What flows that lose have in common, point by point."""
        parts = (
            f"{f'<p>At {text(at.name)}:</p>' if at.name else ''}<ul>{''.join(said)}</ul>"
            for at, said in self._lost
            if said
        )
        return "".join(parts)
