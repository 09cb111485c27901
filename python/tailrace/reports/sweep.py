"""Curves over an axis of the sweep, and what was sampled over time."""

from __future__ import annotations

import polars as pl

from tailrace.files import frame, load
from tailrace.folder import ResultFolder
from tailrace.plots.series import time_unit
from tailrace.plots.style import label
from tailrace.reports.charts import Chart, Curve, View, short
from tailrace.reports.flows import SIZES, Point

_METRICS = ["slowdown_mean", "slowdown_p99", "fct_mean_us", "fct_p99_us", "miss_rate", "goodput_gbps"]
# Moments of a series; between two of them the mean counts.
_MOMENTS = 400


def curves(folder: ResultFolder, pens: dict[str, int]) -> Chart | None:
    """Means over seeds against the longest axis of numbers; ``None`` if there is none of several values."""
    means = folder.means
    axes = [axis for axis in means.columns[: means.columns.index("class")] if axis != "scheme"]
    numeric = [axis for axis in axes if means[axis].dtype.is_numeric() and means[axis].n_unique() >= 2]
    if not numeric:
        return None
    axis = max(numeric, key=lambda name: means[name].n_unique())
    others = [other for other in axes if other != axis]
    metrics = [metric for metric in _METRICS if means[metric].drop_nulls().len() > 0]
    parts = means.partition_by(others, maintain_order=True) if others else [means]
    at = [", ".join(f"{other.rpartition('.')[2]} {part[other][0]}" for other in others) for part in parts]
    views = [
        View(label(axis), label(metric), _curves(part.filter(pl.col("class") == kind), axis, metric, pens))
        for part in parts
        for kind in SIZES
        for metric in metrics
    ]
    return Chart(
        "sweep",
        f"Over {label(axis).lower()}",
        "Means over seeds; bands are 95 % intervals.",
        {
            "at": at if others else ["everywhere"],
            "flows": SIZES,
            "metric": [label(metric) for metric in metrics],
        },
        views,
    )


def _curves(rows: pl.DataFrame, axis: str, metric: str, pens: dict[str, int]) -> list[Curve]:
    found = []
    for scheme, pen in pens.items():
        own = rows.filter((pl.col("scheme") == scheme) & pl.col(metric).is_not_null()).sort(axis)
        half = own[f"{metric}_half95"].fill_null(0.0)
        x, y, low, high = (
            short(of) for of in (own[axis], own[metric], own[metric] - half, own[metric] + half)
        )
        band = (low, high) if half.sum() > 0 else (None, None)
        found.append(Curve(scheme, pen, x, y, *band))
    return found


def series(folder: ResultFolder, points: list[Point], pens: dict[str, int]) -> Chart | None:
    """What was sampled over time, as the mean over all places; ``None`` if nothing was."""
    sampled = [{scheme: _sampled(folder, keys[0]) for scheme, keys in at.runs.items()} for at in points]
    metrics = list(
        dict.fromkeys(metric for at in sampled for rows in at.values() for metric in rows["metric"])
    )
    if not metrics:
        return None
    unit, factor = time_unit(max(_end(rows) for at in sampled for rows in at.values()))
    views = []
    for at in sampled:
        for metric in metrics:
            lines = []
            for scheme, rows in at.items():
                own = rows.filter(pl.col("metric") == metric)
                lines.append(Curve(scheme, pens[scheme], short(own["time_ns"] / factor), short(own["value"])))
            views.append(View(f"Time ({unit})", label(metric), lines))
    names = [at.name or "everywhere" for at in points]
    return Chart(
        "series",
        "Over time",
        "What ports and hosts reported, as the mean over all of them, of the first seed.",
        {"at": names, "what": [label(metric) for metric in metrics]},
        views,
    )


def _sampled(folder: ResultFolder, key: str) -> pl.DataFrame:
    rows = load(folder.path / "runs" / key / "series.parquet", "run", frame)
    rows = rows.filter(pl.col("value").is_finite())
    if rows.is_empty():
        return rows.select("metric", "time_ns", "value")
    every = max(1.0, _end(rows) / _MOMENTS)
    moment = (pl.col("time_ns") / every).floor() * every
    return (
        rows.group_by("metric", moment.alias("time_ns"), maintain_order=True)
        .agg(pl.col("value").mean())
        .sort("metric", "time_ns")
    )


def _end(rows: pl.DataFrame) -> float:
    last = rows["time_ns"].max()
    return last if isinstance(last, float) else 0.0
