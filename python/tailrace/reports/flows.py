"""The flows of a folder's runs, point by point: distributions, and the same flows under several schemes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from tailrace import _tailrace
from tailrace.errors import RunError
from tailrace.files import content, load, text, verify
from tailrace.folder import ResultFolder
from tailrace.reports.charts import Curve, Grids, View, short

SIZES = ["all", "short", "medium", "long"]
METRICS = {"slowdown": ("slowdown", 1.0), "completion time (µs)": ("fct_ns", 1e-3)}
_COLUMNS = ["flow", "src", "dst", "size_bytes", "start_ns", "fct_ns", "slowdown"]
# Parts of the flows in a curve by size.
BINS = 24


@dataclass(frozen=True)
class Point:
    """A point of the sweep, seeds aside: the runs of each scheme, one a seed."""

    name: str
    runs: dict[str, list[str]]
    folder: Path

    @cached_property
    def scenario(self) -> str:
        """The resolved scenario of its first run."""
        key = next(iter(self.runs.values()))[0]
        return load(self.folder / "runs" / key / "scenario.toml", "run", text)

    def flows(self) -> dict[str, pl.DataFrame]:
        """The measured flows of each scheme, over all seeds, with their size class."""
        warmup_ns, short_bytes, long_bytes = _tailrace.measure(self.scenario)
        size = pl.col("size_bytes")
        kind = (
            pl.when(size <= short_bytes)
            .then(pl.lit("short"))
            .when(size <= long_bytes)
            .then(pl.lit("medium"))
            .otherwise(pl.lit("long"))
        )
        return {
            scheme: pl.concat(
                _flows(self.folder / "runs" / key).with_columns(seed=pl.lit(number))
                for number, key in enumerate(keys)
            )
            .filter(pl.col("start_ns") >= warmup_ns)
            .with_columns(kind=kind)
            for scheme, keys in self.runs.items()
        }

    def pairs(self, before: str, after: str) -> dict[str, Any] | None:
        """The flows of two schemes beside one another, by size class; ``None`` if they are other flows."""
        keys = zip(self.runs[before], self.runs[after], strict=False)
        folders = [(self.folder / "runs" / a, self.folder / "runs" / b) for a, b in keys]
        try:
            found: dict[str, Any] = json.loads(_tailrace.paired(folders, self.scenario))
        except RunError as error:
            if "other flows" in str(error):
                return None
            raise
        return found


def _flows(run: Path) -> pl.DataFrame:
    verify(run, "run")
    return load(run / "flows.parquet", "run", lambda file: pl.read_parquet(content(file), columns=_COLUMNS))


def points(folder: ResultFolder) -> list[Point]:
    """The points of what is finished, in order."""
    axes = [axis for axis in folder.axes if axis not in ("scheme", "seed")]
    rows = folder.summary.unique("run", maintain_order=True)
    parts = rows.partition_by(axes, maintain_order=True) if axes else [rows]
    return [_point(folder, part, axes) for part in parts]


def _point(folder: ResultFolder, rows: pl.DataFrame, axes: list[str]) -> Point:
    named = (f"{axis.rpartition('.')[2]} {_text(rows[axis][0])}" for axis in axes)
    runs: dict[str, list[str]] = {}
    for scheme, key in rows.select("scheme", "run").iter_rows():
        runs.setdefault(scheme, []).append(key)
    return Point(", ".join(named), runs, folder.path)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Measured:
    """The flows at a point, and the number of each scheme's pen."""

    point: Point
    flows: dict[str, pl.DataFrame]
    pens: dict[str, int]

    def of_size(self, scheme: str, kind: str) -> pl.DataFrame:
        """The flows of a size class."""
        flows = self.flows[scheme]
        return flows if kind == "all" else flows.filter(pl.col("kind") == kind)


def distributions(at: Measured, grids: Grids) -> Iterator[View]:
    """Slowdowns and completion times as distributions, by size class and metric."""
    for kind, (metric, (column, factor)) in product(SIZES, METRICS.items()):
        curves = []
        for scheme in at.flows:
            values = at.of_size(scheme, kind)[column].drop_nulls() * factor
            curves.append(_distribution(at, scheme, values, grids))
        yield View(metric.capitalize(), "Share of flows", curves)


def _distribution(at: Measured, scheme: str, values: pl.Series, grids: Grids) -> Curve:
    kept = grids.ranks(len(values)) if len(values) else []
    x = short(values.sort().gather([rank - 1 for rank in kept]))
    return Curve(scheme, at.pens[scheme], x, short(rank / len(values) for rank in kept))


STATISTICS = {
    "99th percentile": pl.col("slowdown").quantile(0.99, "nearest"),
    "mean": pl.col("slowdown").mean(),
    "median": pl.col("slowdown").median(),
}


def by_size(at: Measured) -> Iterator[View]:
    """Slowdown against size, by statistic."""
    for statistic, of in STATISTICS.items():
        curves = []
        for scheme, flows in at.flows.items():
            bins = _bins(flows.drop_nulls("slowdown")).agg(size=pl.col("size_bytes").median(), y=of)
            curves.append(Curve(scheme, at.pens[scheme], short(bins["size"]), short(bins["y"])))
        yield View("Flow size (bytes)", f"Slowdown, {statistic}", curves)


def _bins(flows: pl.DataFrame) -> Any:
    # Flows of one size are in one part.
    part = ((pl.col("size_bytes").rank("max") - 1) * BINS // pl.len()).alias("part")
    return flows.sort("size_bytes", "seed", "flow").with_columns(part).group_by("part", maintain_order=True)


def beside(at: Measured, base: str) -> dict[str, pl.DataFrame]:
    """The flows of each other scheme that completed under it and the base, with the ratio of their times."""
    before = at.flows[base].select("seed", "flow", before="fct_ns")
    return {
        scheme: after.join(before, on=["seed", "flow"], maintain_order="left")
        .drop_nulls(["fct_ns", "before"])
        .with_columns(ratio=pl.col("fct_ns") / pl.col("before"))
        for scheme, after in at.flows.items()
        if scheme != base
    }


def ratios(at: Measured, base: str, others: dict[str, pl.DataFrame], grids: Grids) -> Iterator[View]:
    """How many times as long flows take as under the base, as distributions, by size class."""
    for kind in SIZES:
        chosen = {
            scheme: flows if kind == "all" else flows.filter(pl.col("kind") == kind)
            for scheme, flows in others.items()
        }
        curves = [_distribution(at, scheme, flows["ratio"], grids) for scheme, flows in chosen.items()]
        yield View(f"Times as long as under {base}", "Share of flows", curves)


def ratios_by_size(at: Measured, base: str, others: dict[str, pl.DataFrame]) -> View:
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
    return View("Flow size (bytes)", f"Times as long as under {base}", curves)
