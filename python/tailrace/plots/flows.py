"""``kind = "cdf"``: how a value is distributed over flows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl
from matplotlib.axes import Axes

from tailrace.folder import ResultFolder
from tailrace.plots.plot import RunPlot
from tailrace.plots.style import Pen, label

# More steps than a screen has pixels only make files large.
_MOST_STEPS = 2000


@dataclass(frozen=True, kw_only=True)
class Cdf(RunPlot):
    """A curve for each group, over the measured flows of all its seeds."""

    kind: ClassVar[str] = "cdf"
    y: str = "fct_ns"
    log: list[str] = field(default_factory=lambda: ["x"])

    def draw(self, folder: ResultFolder, axes: Axes) -> str:
        """Draw the curves and return the footnote."""
        rows = self.rows(folder)
        curves = self.curves(folder, rows)
        for (name, part), pen in zip(curves.items(), self.pens(curves), strict=True):
            flows = pl.concat(folder.run(key).measured_flows(self.class_).to_polars() for key in part["run"])
            draw_cdf(axes, self.column(flows, self.y), name, pen)
        self.dress(axes, label(self.y), "Share of flows")
        return self.footnote(folder, rows, "flows of")


def draw_cdf(axes: Axes, values: pl.Series, name: str, pen: Pen) -> None:
    """Draw the distribution of values. Missing ones (unfinished flows) keep the curve below 1."""
    known = values.drop_nulls().sort()
    if values.name.endswith("_ns"):
        known = known / 1e3
    steps = min(len(known), _MOST_STEPS)
    ranks = [round(step * len(known) / steps) for step in range(steps + 1)] if steps else []
    steps_at = known.gather([max(rank, 1) - 1 for rank in ranks])
    shares = [rank / len(values) for rank in ranks]
    axes.step(steps_at, shares, where="post", label=name, color=pen.colour, linestyle=pen.dash)
    axes.set_ylim(0, 1.01)
