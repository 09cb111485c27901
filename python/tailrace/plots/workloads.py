"""``kind = "workloads"``: published flow-size distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from matplotlib.axes import Axes

from tailrace import _tailrace
from tailrace.plots.drawable import Folder
from tailrace.plots.plot import Plot
from tailrace.plots.style import PENS, label


@dataclass(frozen=True, kw_only=True)
class Workloads(Plot):
    """A curve for each named distribution."""

    kind: ClassVar[str] = "workloads"
    names: list[str]

    def draw(self, folder: Folder, axes: Axes) -> str:
        """Draw the curves and return the footnote."""
        for name, pen in zip(self.names, PENS, strict=False):
            sizes, shares = zip(*_tailrace.workload(name), strict=True)
            axes.plot(sizes, shares, label=name, color=pen.colour, linestyle=pen.dash)
        self.dress(axes, label("size_bytes"), "Share of flows")
        return "as published; no run"
