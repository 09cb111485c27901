"""What all kinds of plots share: their fields, and how runs are chosen and grouped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
from matplotlib.axes import Axes

from tailrace.errors import ScenarioError
from tailrace.plots.drawable import Folder
from tailrace.plots.style import COLOURS, DASHES, PENS, Pen, label, log_scale
from tailrace.table import Table

# Units of times, in microseconds.
UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6}


@dataclass(frozen=True, kw_only=True)
class Plot(ABC):
    """A plot. Its fields are those of its kind in an experiment file, checked and complete."""

    kind: ClassVar[str]
    name: str
    title: str
    x_label: str
    y_label: str
    log: list[str]

    @abstractmethod
    def draw(self, folder: Folder, axes: Axes) -> str:
        """Draw the curves and return the footnote."""

    def dress(self, axes: Axes, x_label: str, y_label: str) -> None:
        """Set title, labels and scales: the table's own where it has them."""
        axes.set_title(self.title or self.name.replace("_", " ").replace("-", " "))
        axes.set_xlabel(self.x_label or x_label)
        axes.set_ylabel(self.y_label or y_label)
        for axis in self.log:
            log_scale(axes, axis)

    def wrong(self, key: str, message: str) -> ScenarioError:
        """An error about one of the table's keys."""
        return ScenarioError(message, f"plot.{self.name}.{key}")


@dataclass(frozen=True, kw_only=True)
class RunPlot(Plot):
    """A plot of an experiment's runs."""

    group: list[str]
    at: dict[str, list[float | str]]
    class_: str

    def rows(self, folder: Folder) -> pl.DataFrame:
        """The summary's rows of the plot's class, at the points that ``at`` names."""
        rows = folder.summary.filter(pl.col("class") == self.class_)
        for axis, wanted in self.at.items():
            rows = rows.filter(pl.col(axis).is_in(wanted))
        return rows

    def curves(self, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """The rows of each curve by its label."""
        if not self.group:
            return {"": rows}
        varied = [axis for axis in self.group if rows[axis].n_unique() > 1] or self.group[:1]
        groups = rows.partition_by(self.group, maintain_order=True, as_dict=False)
        return {", ".join(_named(axis, part[axis][0]) for axis in varied): part for part in groups}

    def column(self, rows: pl.DataFrame | Table, name: str) -> pl.Series:
        """A column to draw."""
        if name not in rows.columns:
            raise self.wrong("y", f"these results have no column {name}")
        return rows[name]

    def footnote(self, folder: Folder, rows: pl.DataFrame, several_seeds: str = "") -> str:
        """What a reader must know: the class, the scale and the seeds."""
        seeds = [folder.experiment.get("seed", 1)]
        if "seed" in folder.axes:
            seeds = rows["seed"].unique(maintain_order=True).to_list()
        notes = [
            "" if self.class_ == "all" else f"{self.class_} flows",
            "full scale" if folder.scale == 1 else f"scale {folder.scale:g}",
            ", ".join(f"{field}={value}" for field, value in folder.set.items() if "sweep" not in field),
            f"{several_seeds} seeds {_listed(seeds)}" if len(seeds) > 1 else f"seed {_text(seeds[0])}",
        ]
        return "; ".join(filter(None, notes))

    def pens(self, folder: Folder, schemes: Sequence[str | None]) -> list[Pen]:
        """A line style for each curve: a scheme has one colour in all plots of an experiment.

        Several curves of a scheme differ in their dash. Curves of no scheme, or of one only, have pens
        in turn.
        """
        if len(schemes) > len(PENS):
            message = (
                f'would draw {len(schemes)} curves, more than anyone can tell apart: choose some in "at"'
            )
            raise self.wrong("group", message)
        of_schemes = Counter(schemes)
        places = {scheme: place for place, scheme in enumerate(folder.schemes[: len(PENS)])}
        in_turn = PENS[: len(schemes)]
        if any(scheme not in places for scheme in schemes) or (len(of_schemes) == 1 < len(schemes)):
            return in_turn
        if max(of_schemes.values()) == 1:
            return [PENS[places[scheme]] for scheme in schemes if scheme is not None]
        if max(of_schemes.values()) > len(DASHES) or max(places[scheme] for scheme in places) >= COLOURS:
            return in_turn
        drawn: Counter[str | None] = Counter()
        pens = []
        for scheme in schemes:
            pens.append(PENS[places[scheme or ""] + COLOURS * drawn[scheme]])
            drawn[scheme] += 1
        return pens

    @staticmethod
    def scheme_of(rows: pl.DataFrame) -> str | None:
        """The scheme that a curve's rows are of, if it is one."""
        schemes = rows["scheme"].unique()
        return str(schemes[0]) if len(schemes) == 1 else None


@dataclass(frozen=True, kw_only=True)
class TimesPlot(RunPlot):
    """A plot of columns that may be times."""

    unit: str

    def in_unit(self, values: pl.Series) -> pl.Series:
        """A column's values, times in the plot's unit."""
        microseconds = {"_ns": 1e-3, "_us": 1.0}.get(values.name[-3:])
        if microseconds is None:
            return values
        return values * microseconds / UNITS[self.unit]

    def label(self, column: str) -> str:
        """What a column is called, with the plot's unit."""
        return label(column).replace("(µs)", f"({self.unit.replace('us', 'µs')})")


def _named(axis: str, value: Any) -> str:
    if axis == "level":
        return f"{_text(value)} level"
    return _text(value) if axis == "scheme" else f"{label(axis).lower()} {_text(value)}"


def _listed(values: Any) -> str:
    return ", ".join(_text(value) for value in values)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
