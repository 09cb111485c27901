"""The flows of a folder's runs, point by point: distributions, and the same flows under several schemes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from tailrace import _tailrace
from tailrace.errors import RunError
from tailrace.files import frame, load, text, verify
from tailrace.folder import ResultFolder
from tailrace.reports.charts import Curve, Grids, View, distribution, short

SIZES = ["all", "short", "medium", "long"]
METRICS = {"slowdown": ("slowdown", 1.0), "completion time (µs)": ("fct_ns", 1e-3)}
_COLUMNS = ["flow", "src", "dst", "size_bytes", "start_ns", "fct_ns", "slowdown"]
# Parts of the flows in a curve by size.
BINS = 24
# More flows at a point than this are those of its first seeds: two gigabytes hold no more.
_MOST_FLOWS = 6_000_000


class Apart(Enum):
    """Why two schemes are not compared flow by flow."""

    FLOWS = auto()
    COMPLETED = auto()
    SEEDS = auto()


@dataclass(frozen=True)
class Point:
    """A point of the sweep, seeds aside: the key of each scheme's run by seed."""

    name: str
    runs: dict[str, dict[Any, str]]
    folder: Path
    unfinished: tuple[str, ...] = ()
    """Schemes that were to be run here, and of which no run is finished."""

    @cached_property
    def scenario(self) -> str:
        """The resolved scenario of its first run."""
        first = next(iter(next(iter(self.runs.values())).values()))
        return load(self.folder / "runs" / first / "scenario.toml", "run", text)

    @cached_property
    def seeds(self) -> list[Any]:
        """The seeds that all its schemes have: only at these can all be set beside one another."""
        first, *others = self.runs.values()
        return [seed for seed in first if all(seed in runs for runs in others)]

    @cached_property
    def is_even(self) -> bool:
        """Whether its schemes have the same seeds."""
        return all(len(runs) == len(self.seeds) for runs in self.runs.values())

    def shown(self, scheme: str) -> dict[Any, str]:
        """A scheme's runs by seed, of those that all schemes have; all its own if there are no such."""
        runs = self.runs[scheme]
        return {seed: runs[seed] for seed in self.seeds} or runs

    def first(self, scheme: str) -> str:
        """The key of the first of these runs."""
        return next(iter(self.shown(scheme).values()))

    def named(self, scheme: str, most: int | None = None) -> str:
        """A scheme; where no seed is that of all schemes, with its own, or the first `most` of these."""
        if self.seeds:
            return scheme
        seeds = [_text(seed) for seed in list(self.runs[scheme])[:most]]
        return f"{scheme}, {'seed' if len(seeds) == 1 else 'seeds'} {', '.join(seeds)}"

    def flows(self) -> dict[str, pl.DataFrame]:
        """The measured flows of each scheme, with their size class, of as many seeds as fit."""
        warmup_ns, short_bytes, long_bytes = _tailrace.measure(self.scenario)
        size = pl.col("size_bytes")
        kind = (
            pl.when(size <= short_bytes)
            .then(pl.lit("short"))
            .when(size <= long_bytes)
            .then(pl.lit("medium"))
            .otherwise(pl.lit("long"))
            .cast(pl.Enum(SIZES))
        )
        # Those of all schemes come first, so that these are what fits.
        own = (seed for runs in self.runs.values() for seed in runs)
        seeds = list(dict.fromkeys([*self.seeds, *own]))
        found: dict[str, list[pl.DataFrame]] = {scheme: [] for scheme in self.runs}
        count = 0
        for number, seed in enumerate(seeds):
            if count > _MOST_FLOWS:
                break
            for scheme, runs in self.runs.items():
                if seed in runs:
                    flows = _flows(self.folder / "runs" / runs[seed]).filter(pl.col("start_ns") >= warmup_ns)
                    count += flows.height
                    found[scheme].append(flows.with_columns(seed=pl.lit(number, dtype=pl.UInt16), kind=kind))
        # Runs of an older version have hosts of 16 bits.
        joined = {scheme: flows for scheme, flows in found.items() if flows}
        return {scheme: pl.concat(flows, how="vertical_relaxed") for scheme, flows in joined.items()}

    def pairs(self, before: str, after: str) -> dict[str, Any] | Apart:
        """The flows of two schemes beside one another, by size class, or why they cannot be."""
        if (before, after) not in self._known:
            self._known[before, after] = self._pairs(before, after)
        return self._known[before, after]

    @cached_property
    def _known(self) -> dict[tuple[str, str], dict[str, Any] | Apart]:
        return {}

    def _pairs(self, before: str, after: str) -> dict[str, Any] | Apart:
        both = [seed for seed in self.runs[before] if seed in self.runs[after]]
        if not both:
            return Apart.SEEDS
        folder = self.folder / "runs"
        folders = [(folder / self.runs[before][seed], folder / self.runs[after][seed]) for seed in both]
        try:
            found: dict[str, Any] = json.loads(_tailrace.paired(folders, self.scenario))
        except RunError as error:
            if "other flows" in str(error):
                return Apart.FLOWS
            raise
        return found if "all" in found else Apart.COMPLETED

    def clusters(self) -> list[tuple[str, dict[str, dict[str, Any]]]]:
        """Schemes that met the same flows: the first of these, and the others beside it."""
        clusters: list[tuple[str, dict[str, dict[str, Any]]]] = []
        for scheme in self.runs:
            for base, others in clusters:
                if not isinstance(found := self.pairs(base, scheme), Apart):
                    others[scheme] = found
                    break
            else:
                clusters.append((scheme, {}))
        return clusters

    def apart(self, scheme: str) -> dict[Apart, list[str]]:
        """Why a scheme is not compared with others, and with which."""
        why: dict[Apart, list[str]] = {}
        for other in self.runs:
            if other != scheme and isinstance(found := self.pairs(other, scheme), Apart):
                why.setdefault(found, []).append(other)
        return why


def _flows(run: Path) -> pl.DataFrame:
    verify(run, "run")
    return load(run / "flows.parquet", "run", lambda file: frame(file, _COLUMNS))


def points(folder: ResultFolder) -> list[Point]:
    """The points of what is finished, in the order of the file."""
    axes = [axis for axis in folder.axes if axis not in ("scheme", "seed")]
    plan = load(folder.path / "plan.parquet", "experiment", frame)
    there = plan.with_columns(there=pl.col("run").is_in(folder.summary["run"].unique().to_list()))
    parts = there.partition_by(axes, maintain_order=True) if axes else [there]
    return [_point(folder, part, axes) for part in parts if part["there"].any()]


def _point(folder: ResultFolder, rows: pl.DataFrame, axes: list[str]) -> Point:
    named = (f"{axis.rpartition('.')[2]} {_text(rows[axis][0])}" for axis in axes)
    keys: dict[str, dict[Any, str]] = {}
    for row in rows.filter("there").iter_rows(named=True):
        keys.setdefault(row["scheme"], {})[row.get("seed")] = row["run"]
    runs = {scheme: keys[scheme] for scheme in folder.schemes if scheme in keys}
    planned = rows["scheme"].unique(maintain_order=True)
    unfinished = tuple(scheme for scheme in planned if scheme not in runs)
    return Point(", ".join(named), runs, folder.path, unfinished)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Measured:
    """The flows at a point, and the number of each scheme's pen."""

    point: Point
    flows: dict[str, pl.DataFrame]
    pens: dict[str, int]

    @cached_property
    def shown(self) -> dict[str, pl.DataFrame]:
        """The flows of seeds that all schemes have; of all seeds if there are no such."""
        count = len(self.point.seeds)
        if not count or self.point.is_even:
            return self.flows
        return {scheme: flows.filter(pl.col("seed") < count) for scheme, flows in self.flows.items()}

    def of_size(self, scheme: str, kind: str) -> pl.DataFrame:
        """Those of a size class."""
        flows = self.shown[scheme]
        return flows if kind == "all" else flows.filter(pl.col("kind") == kind)


def distributions(at: Measured, grids: Grids) -> Iterator[View]:
    """Slowdowns and completion times as distributions, by size class and metric."""
    for kind, (metric, (column, factor)) in product(SIZES, METRICS.items()):
        curves = []
        for scheme in at.shown:
            values = at.of_size(scheme, kind)[column]
            curves.append(_distribution(at, scheme, values * factor, grids, at.point.named(scheme)))
        yield View(metric.capitalize(), "Share of flows", curves)


def _distribution(at: Measured, scheme: str, values: pl.Series, grids: Grids, name: str = "") -> Curve:
    """Of values that some flows do not have."""
    return distribution(name or scheme, at.pens[scheme], values.drop_nulls().sort(), len(values), grids)


STATISTICS = {
    "99th percentile": pl.col("slowdown").quantile(0.99, "nearest"),
    "mean": pl.col("slowdown").mean(),
    "median": pl.col("slowdown").median(),
}


def by_size(at: Measured) -> Iterator[View]:
    """Slowdown against size, by statistic."""
    for statistic, of in STATISTICS.items():
        curves = []
        for scheme, flows in at.shown.items():
            bins = _bins(flows.drop_nulls("slowdown")).agg(size=pl.col("size_bytes").median(), y=of)
            size, y = short(bins["size"]), short(bins["y"])
            curves.append(Curve(at.point.named(scheme), at.pens[scheme], size, y))
        yield View("Flow size (bytes)", f"Slowdown, {statistic}", curves)


def _bins(flows: pl.DataFrame) -> Any:
    # Flows of one size are in one part.
    part = ((pl.col("size_bytes").rank("max") - 1) * BINS // pl.len()).alias("part")
    return flows.sort("size_bytes", "seed", "flow").with_columns(part).group_by("part", maintain_order=True)


def beside(at: Measured, base: str, others: Iterable[str]) -> dict[str, pl.DataFrame]:
    """The flows of other schemes that completed under these and the base, with the ratio of their times."""
    before = at.flows[base].select("seed", "flow", before="fct_ns")
    return {
        scheme: at.flows[scheme]
        .join(before, on=["seed", "flow"], maintain_order="left")
        .drop_nulls(["fct_ns", "before"])
        .with_columns(ratio=pl.col("fct_ns") / pl.col("before"))
        for scheme in others
        if scheme in at.flows
    }


def ratios(at: Measured, others: dict[str, pl.DataFrame], under: str, grids: Grids) -> Iterator[View]:
    """How many times as long flows take as under their base, as distributions, by size class."""
    for kind in SIZES:
        chosen = {
            scheme: flows if kind == "all" else flows.filter(pl.col("kind") == kind)
            for scheme, flows in others.items()
        }
        curves = [_distribution(at, scheme, flows["ratio"], grids) for scheme, flows in chosen.items()]
        yield View(f"Times as long as under {under}", "Share of flows", curves)


def ratios_by_size(at: Measured, others: dict[str, pl.DataFrame], under: str) -> View:
    """The same against size: the median, and where eight of ten flows are."""
    curves = []
    for scheme, flows in others.items():
        bins = _bins(flows).agg(
            size=pl.col("size_bytes").median(),
            y=pl.col("ratio").median(),
            low=pl.col("ratio").quantile(0.1, "nearest"),
            high=pl.col("ratio").quantile(0.9, "nearest"),
        )
        x, y, low, high = (short(bins[name]) for name in ("size", "y", "low", "high"))
        curves.append(Curve(scheme, at.pens[scheme], x, y, low, high))
    return View("Flow size (bytes)", f"Times as long as under {under}", curves)


def task_times(at: Measured, grids: Grids) -> View | None:
    """Completion times of tasks, as distributions; ``None`` if there are no tasks."""
    curves = []
    for scheme in at.point.runs:
        keys = at.point.shown(scheme).values()
        files = [at.point.folder / "runs" / key / "tasks.parquet" for key in keys]
        warmup_ns, _, _ = _tailrace.measure(at.point.scenario)
        tasks = [load(file, "run", frame) for file in files if file.exists()]
        if tasks:
            measured = pl.concat(tasks).filter(pl.col("start_ns") >= warmup_ns)
            times = measured["tct_ns"] * 1e-3
            curves.append(_distribution(at, scheme, times, grids, at.point.named(scheme)))
    return View("Task completion time (µs)", "Share of tasks", curves) if curves else None
