"""``kind = "series"``: what ports and policies reported over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
from matplotlib.axes import Axes

from tailrace import _tailrace
from tailrace.plots.drawable import Folder
from tailrace.plots.plot import RunPlot
from tailrace.plots.style import label


@dataclass(frozen=True, kw_only=True)
class Series(RunPlot):
    """A step line for each group, place and index; of the first seed, for series cannot be averaged."""

    kind: ClassVar[str] = "series"
    y: list[str]
    index: list[int]
    places: list[str]

    def draw(self, folder: Folder, axes: Axes) -> str:
        """Draw the lines and return the footnote."""
        rows = self.rows(folder)
        if "seed" in rows.columns:
            rows = rows.filter(pl.col("seed") == pl.col("seed").first())
        (metric,) = self.y
        lines, schemes = {}, []
        for name, part in self.curves(rows).items():
            series = self._chosen(folder.run(part["run"][0]).series.to_polars())
            for (place, index), line in series.group_by("place", "index", maintain_order=True):
                lines[name, str(place), f"{label(metric).lower()} {index}"] = line
                schemes.append(self.scheme_of(part))
        labels = _labels(list(lines))
        unit, nanoseconds = time_unit(max(line["time_ns"][-1] for line in lines.values()))
        for name, line, pen in zip(labels, lines.values(), self.pens(folder, schemes), strict=True):
            times = line["time_ns"] / nanoseconds
            axes.step(times, line["value"], where="post", label=name, color=pen.colour, linestyle=pen.dash)
        self.dress(axes, f"Time ({unit})", label(metric))
        return self.footnote(folder, rows)

    def _chosen(self, series: pl.DataFrame) -> pl.DataFrame:
        """The rows of the metric at the chosen places and indices."""
        choices: dict[str, tuple[str, list[Any]]] = {
            "y": ("metric", self.y),
            "places": ("place", self.places),
            "index": ("index", self.index),
        }
        for key, (column, wanted) in choices.items():
            for value in wanted:
                if value not in series[column]:
                    raise self.wrong(key, unknown(column, value, series))
            if wanted:
                series = series.filter(pl.col(column).is_in(wanted))
        return series


def unknown(column: str, value: Any, series: pl.DataFrame) -> str:
    """What to say about a value that a column of series does not have."""
    known = [str(known) for known in series[column].unique(maintain_order=True)]
    return _tailrace.unknown(column, str(value), known)


def _labels(names: list[tuple[str, ...]]) -> list[str]:
    """A label for each line: those parts of its name in which lines differ."""
    differing = [position for position, parts in enumerate(zip(*names, strict=True)) if len(set(parts)) > 1]
    return [", ".join(name[position] for position in differing) for name in names]


def time_unit(longest_ns: float) -> tuple[str, float]:
    """The unit in which a time axis reads best, and its nanoseconds."""
    units = {"s": 1e9, "ms": 1e6, "µs": 1e3}
    return next((item for item in units.items() if longest_ns >= 2 * item[1]), ("ns", 1.0))
