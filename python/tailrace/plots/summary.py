"""Plots of the summary table: ``kind = "line"`` and ``kind = "bars"``.

``series:NAME`` among their columns is the mean over time of a series, in each run.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import ClassVar

import polars as pl
from matplotlib.axes import Axes

from tailrace._tailrace import student
from tailrace.plots.drawable import Folder
from tailrace.plots.plot import TimesPlot
from tailrace.plots.series import unknown
from tailrace.plots.style import Pen, label, shown

SERIES = "series:"


@dataclass(frozen=True, kw_only=True)
class SummaryPlot(TimesPlot):
    """One or several columns of the summary against an axis of the sweep; seeds give mean and spread."""

    x: str
    y: list[str]
    relative_to: str
    places: list[str]
    spread: str

    def points(self, folder: Folder) -> tuple[pl.DataFrame, dict[str, pl.DataFrame], list[Pen]]:
        """The rows that are drawn, each curve's x, mean, low and high by its label, and their pens."""
        rows = self._with_series(folder, self.rows(folder))
        for column in self.y:
            self.column(rows, column)
        if self.relative_to:
            rows = self._relative(folder, rows)
        else:
            rows = rows.with_columns(self.in_unit(rows[column]) for column in self.y)
        curves, schemes = {}, []
        for name, part in self.curves(rows).items():
            for column in self.y:
                what = self.label(column) if len(self.y) > 1 else ""
                what = what.partition(" (")[0] if self.relative_to else what  # changes have no unit
                full_name = ", ".join(filter(None, [name, what]))
                curves[full_name] = self._over_seeds(part, column)
                schemes.append(self.scheme_of(part))
        return rows, curves, self.pens(folder, schemes)

    def _with_series(self, folder: Folder, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with the mean over time of each series that is to be drawn."""
        for column in self.y:
            if column.startswith(SERIES):
                metric = column.removeprefix(SERIES)
                means = [self._mean(folder.run(run).series.to_polars(), metric) for run in rows["run"]]
                rows = rows.with_columns(pl.Series(column, means, dtype=pl.Float64))
        return rows

    def _mean(self, series: pl.DataFrame, metric: str) -> float | None:
        """The mean over time of a metric, at the places that were chosen."""
        for key, column, wanted in (("y", "metric", [metric]), ("places", "place", self.places)):
            for value in wanted:
                if value not in series[column]:
                    raise self.wrong(key, unknown(column, value, series))
            if wanted:
                series = series.filter(pl.col(column).is_in(wanted))
        mean = series["value"].mean()
        return mean if isinstance(mean, float) else None

    def _over_seeds(self, rows: pl.DataFrame, column: str) -> pl.DataFrame:
        y = pl.col(column)
        points = (
            rows.filter(y.is_finite())
            .group_by(pl.col(self.x).alias("x"), maintain_order=True)
            .agg(mean=y.mean(), low=y.min(), high=y.max(), error=y.std() / y.len().sqrt(), seeds=y.len())
        )
        if self.spread == "confidence":
            factors = [student(0.975, seeds - 1) if seeds > 1 else 0.0 for seeds in points["seeds"]]
            half = pl.Series(factors, dtype=pl.Float64) * points["error"].fill_null(0.0)
            points = points.with_columns(low=points["mean"] - half, high=points["mean"] + half)
            if not self.relative_to and (rows[column].drop_nulls() >= 0).all():
                # What cannot be negative has no interval below zero, and a share none above one.
                most = 1.0 if column.endswith(("_rate", "_share")) else math.inf
                points = points.with_columns(
                    low=pl.col("low").clip(lower_bound=0.0), high=pl.col("high").clip(upper_bound=most)
                )
        return points.sort("x") if points.schema["x"].is_numeric() else points

    def _relative(self, folder: Folder, rows: pl.DataFrame) -> pl.DataFrame:
        """The other schemes' rows as percentage changes from the run that differs only in the scheme."""
        is_base = pl.col("scheme") == self.relative_to
        base = rows.filter(is_base)
        point = [axis for axis in folder.axes if axis != "scheme"] + ["class"]
        joined = rows.filter(~is_base).join(base, on=point, suffix=" of base", maintain_order="left")
        return joined.with_columns(
            pl.when(pl.col(y) == pl.col(f"{y} of base"))
            .then(0.0)  # two counts of zero (timeouts, say) are equal
            .otherwise(100 * (pl.col(y) / pl.col(f"{y} of base") - 1))
            .alias(y)
            for y in self.y
        )

    def several_seeds(self) -> str:
        """What the footnote says of several seeds."""
        return f"mean and {'95 % confidence interval' if self.spread == 'confidence' else 'range'} of"

    def dress_summary(self, axes: Axes) -> None:
        """Set title and labels."""
        what = self.label(self.y[0]) if len(self.y) == 1 else ""
        if self.relative_to:
            axes.axhline(0, color="0.4", linewidth=1)
            change = f"change from {self.relative_to} (%)"
            what = f"{what.partition(' (')[0]}: {change}" if what else change.capitalize()
        self.dress(axes, label(self.x), what)


@dataclass(frozen=True, kw_only=True)
class Line(SummaryPlot):
    """A curve for each group and column."""

    kind: ClassVar[str] = "line"

    def draw(self, folder: Folder, axes: Axes) -> str:
        """Draw the curves and return the footnote."""
        rows, curves, pens = self.points(folder)
        for (name, points), pen in zip(curves.items(), pens, strict=True):
            x, mean, low, high = points.select("x", "mean", "low", "high")
            if x.dtype.is_numeric():
                axes.plot(x, mean, label=name, color=pen.colour, marker=pen.marker, linestyle=pen.dash)
                axes.fill_between(x, low, high, color=pen.colour, alpha=0.2, linewidth=0)
            else:
                # Between names there is nothing that a line could stand for.
                names = [shown(value) for value in x]
                axes.plot(names, mean, label=name, color=pen.colour, marker=pen.marker, linestyle="none")
                if (high > low).any():
                    axes.errorbar(names, mean, yerr=[mean - low, high - mean], fmt="none", ecolor=pen.colour)
        self.dress_summary(axes)
        return self.footnote(folder, rows, self.several_seeds())


@dataclass(frozen=True, kw_only=True)
class Bars(SummaryPlot):
    """A cluster of bars for each value of ``x``, a bar in it for each group and column."""

    kind: ClassVar[str] = "bars"

    def draw(self, folder: Folder, axes: Axes) -> str:
        """Draw the bars and return the footnote."""
        rows, curves, pens = self.points(folder)
        clusters = [str(value) for value in rows[self.x].unique(maintain_order=True)]
        width = 0.8 / len(curves)
        for index, ((name, points), pen) in enumerate(zip(curves.items(), pens, strict=True)):
            left = (index - (len(curves) - 1) / 2) * width
            places = [clusters.index(str(value)) + left for value in points["x"]]
            reach = [points["mean"] - points["low"], points["high"] - points["mean"]]
            # One seed says nothing of chance.
            several = (points["high"] > points["low"]).any()
            axes.bar(
                places,
                points["mean"],
                width,
                label=name,
                color=pen.colour,
                yerr=reach if several else None,
                capsize=2,
            )
        # So many characters fit below a cluster.
        room = max(75 // len(clusters), 1)
        labels = [textwrap.fill(shown(cluster), room, break_long_words=False) for cluster in clusters]
        axes.set_xticks(range(len(clusters)), labels)
        axes.grid(axis="x", visible=False)
        self.dress_summary(axes)
        return self.footnote(folder, rows, self.several_seeds())
