"""What all kinds of plots share: how their tables are read, and how runs are chosen and grouped."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Self, get_type_hints

import polars as pl
from matplotlib.axes import Axes

from tailrace.errors import ScenarioError
from tailrace.folder import ResultFolder
from tailrace.plots.style import PENS, Pen, label

# Units of times, in microseconds.
UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6}


@dataclass(frozen=True, kw_only=True)
class Plot(ABC):
    """A plot. The fields of a kind are the keys that its table may have."""

    kind: ClassVar[str]
    name: str
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    log: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, name: str, table: dict[str, Any]) -> Self:
        """Read the table ``[plot.NAME]``, less its kind."""
        types = get_type_hints(cls)
        known = {f.name.rstrip("_"): f for f in fields(cls) if f.name != "name"}
        values: dict[str, Any] = {"name": name}
        for key, value in table.items():
            where = f"plot.{name}.{key}"
            if key not in known:
                raise ScenarioError(unknown(f"key of a {cls.kind} plot", key, known), where)
            values[known[key].name] = _fit(value, types[known[key].name], where)
        for key, f in known.items():
            if f.name not in values and f.default is MISSING and f.default_factory is MISSING:
                raise ScenarioError(f"is missing, and a {cls.kind} plot needs it", f"plot.{name}.{key}")
        return cls(**values)

    @abstractmethod
    def draw(self, folder: ResultFolder, axes: Axes) -> str:
        """Draw the curves and return the footnote."""

    def left_out(self, folder: ResultFolder) -> bool:
        """Whether the schemes that the plot is about were not run."""
        return False

    def dress(self, axes: Axes, x_label: str, y_label: str) -> None:
        """Set title, labels and scales: the table's own where it has them."""
        axes.set_title(self.title or self.name.replace("_", " ").replace("-", " "))
        axes.set_xlabel(self.x_label or x_label)
        axes.set_ylabel(self.y_label or y_label)
        for axis in self.log:
            if axis not in ("x", "y"):
                raise self.wrong("log", f'must be a list of "x" and "y", not "{axis}"')
            axes.set(**{f"{axis}scale": "log"})

    def wrong(self, key: str, message: str) -> ScenarioError:
        """An error about one of the table's keys."""
        return ScenarioError(message, f"plot.{self.name}.{key}")


@dataclass(frozen=True, kw_only=True)
class RunPlot(Plot):
    """A plot of an experiment's runs."""

    group: list[str] = field(default_factory=lambda: ["scheme"])
    at: dict[str, Any] = field(default_factory=dict)
    class_: str = "all"

    def left_out(self, folder: ResultFolder) -> bool:
        """Whether the schemes that ``at`` names were not run; a wrong name is a mistake instead."""
        return bool(folder.left_out) and set(self.schemes(folder)) <= folder.left_out

    def schemes(self, folder: ResultFolder) -> list[str]:
        """The schemes that ``at`` names; all that were run if it names none."""
        named = self.at.get("scheme", folder.summary["scheme"].unique().to_list())
        return named if isinstance(named, list) else [named]

    def rows(self, folder: ResultFolder) -> pl.DataFrame:
        """The summary's rows of the plot's class, at the points that ``at`` names."""
        rows = folder.summary.filter(pl.col("class") == self.class_)
        if rows.is_empty():
            raise self.wrong("class", unknown("class", self.class_, folder.summary["class"]))
        for axis, wanted in self.at.items():
            if axis not in folder.axes:
                raise self.wrong("at", unknown("axis", axis, folder.axes))
            wanted = wanted if isinstance(wanted, list) else [wanted]
            found = rows[axis].unique(maintain_order=True).to_list()
            rows = rows.filter(pl.Series([value in wanted for value in rows[axis]], dtype=pl.Boolean))
            if rows.is_empty():
                raise self.wrong("at", f"no run has {axis} = {_listed(wanted)}; there are {_listed(found)}")
        return rows

    def curves(self, folder: ResultFolder, rows: pl.DataFrame, *others: str) -> dict[str, pl.DataFrame]:
        """The rows of each curve by its label. What no one chose between must not differ, but for seeds."""
        group = [*self.group]
        if "scheme" in group and "level" in folder.axes and "level" not in (*group, *others):
            group.append("level")  # packets and rates are never one curve
        for axis in group:
            if axis not in folder.axes:
                raise self.wrong("group", unknown("axis", axis, folder.axes))
        for axis in folder.axes:
            if axis not in (*group, *others, "seed") and rows[axis].n_unique() > 1:
                message = f'leaves out "{axis}", in which runs differ: add it here, or choose one in "at"'
                raise self.wrong("group", message)
        if not group:
            return {"": rows}
        varied = [axis for axis in group if rows[axis].n_unique() > 1] or group[:1]
        groups = rows.partition_by(group, maintain_order=True, as_dict=False)
        return {", ".join(_named(axis, part[axis][0]) for axis in varied): part for part in groups}

    def column(self, rows: pl.DataFrame, name: str) -> pl.Series:
        """A column of numbers to draw."""
        numbers = [column for column, dtype in rows.schema.items() if dtype.is_numeric()]
        if name not in numbers:
            raise self.wrong("y", unknown("column", name, numbers))
        return rows[name]

    def footnote(self, folder: ResultFolder, rows: pl.DataFrame, several_seeds: str = "") -> str:
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

    def pens(self, labels: Collection[str]) -> list[Pen]:
        """A line style for each label."""
        if len(labels) > len(PENS):
            message = f'would draw {len(labels)} curves, more than anyone can tell apart: choose some in "at"'
            raise self.wrong("group", message)
        return PENS[: len(labels)]


@dataclass(frozen=True, kw_only=True)
class TimesPlot(RunPlot):
    """A plot of columns that may be times."""

    unit: str = "us"

    def in_unit(self, values: pl.Series) -> pl.Series:
        """A column's values, times in the plot's unit."""
        microseconds = {"_ns": 1e-3, "_us": 1.0}.get(values.name[-3:])
        if microseconds is None:
            return values
        if self.unit not in UNITS:
            raise self.wrong("unit", f'must be {_either(UNITS)}, not "{self.unit}"')
        return values * microseconds / UNITS[self.unit]

    def label(self, column: str) -> str:
        """What a column is called, with the plot's unit."""
        return label(column).replace("(µs)", f"({self.unit.replace('us', 'µs')})")


def unknown(what: str, name: str, known: Any) -> str:
    """What to say about a name that is not among the known ones."""
    known = list(dict.fromkeys(str(candidate) for candidate in known))
    near = difflib.get_close_matches(name, known, 1)
    hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(known) or 'none'}"
    return f'unknown {what} "{name}"; {hint}'


def _fit(value: Any, wanted: Any, where: str) -> Any:
    """Make a value fit a field's type; where a list is wanted, one value will do."""
    if wanted == list[str] or wanted == list[int]:
        (kind,) = wanted.__args__
        values = value if isinstance(value, list) else [value]
        if all(type(item) is kind for item in values):
            return values
        raise ScenarioError(f"must be {'text' if kind is str else 'a whole number'} or a list of it", where)
    if wanted is str and not isinstance(value, str):
        raise ScenarioError("must be text", where)
    if wanted == dict[str, Any] and not isinstance(value, dict):
        raise ScenarioError('must be a table, such as { "workload.load" = 0.8 }', where)
    return value


def _named(axis: str, value: Any) -> str:
    if axis == "level":
        return f"{_text(value)} level"
    return _text(value) if axis == "scheme" else f"{label(axis).lower()} {_text(value)}"


def _either(names: Collection[str]) -> str:
    *others, last = (f'"{name}"' for name in names)
    return f"{', '.join(others)} or {last}"


def _listed(values: Any) -> str:
    return ", ".join(_text(value) for value in values)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
