"""Curves over an axis of the sweep, and what was sampled over time."""

from __future__ import annotations

import polars as pl

from tailrace.files import frame, load
from tailrace.folder import ResultFolder
from tailrace.plots.series import time_unit
from tailrace.plots.style import label
from tailrace.reports.charts import Chart, Curve, View, short
from tailrace.reports.flows import SIZES, Point
from tailrace.reports.words import of_one_seed, over_seeds

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
    means_of = over_seeds(means["seeds"])
    views = [
        View(label(axis), label(metric), _curves(part.filter(pl.col("class") == kind), axis, metric, pens))
        for part in parts
        for kind in SIZES
        for metric in metrics
    ]
    return Chart(
        "sweep",
        f"Over {label(axis).lower()}",
        f"{means_of}; bands are 95 % intervals." if means_of else "Of one seed each.",
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


# Points, lines of a kind, places, and all numbers together at most; moments of a line at least.
_MOST_KINDS, _MOST_PLACES, _NUMBERS, _LEAST = 24, 8, 100_000, 20
_ON_AVERAGE = "all, on average"
# What a run reported, by metric and index.
_Sampled = dict[tuple[str, int], pl.DataFrame]


def series(folder: ResultFolder, points: list[Point], pens: dict[str, int]) -> Chart | None:
    """What was sampled over time, of one seed at each point; ``None`` if nothing was.

    Each index of a metric (queue, threshold, slice) is by itself, at a place or as the mean over all. Points
    that there is no room for are not read.
    """
    sampled: list[dict[str, _Sampled]] = []
    for at in points[:_MOST_KINDS]:
        sampled.append({scheme: _sampled(folder, at.first(scheme)) for scheme in at.runs})
        kinds, where = _kinds(sampled), _where(sampled)
        curves = sum(map(len, sampled)) * len(kinds) * len(where)
        if 2 * _LEAST * curves * (len(sampled) + 1) / len(sampled) > _NUMBERS:
            break
    if not kinds:
        return None
    longest = max(_end(part) for at in sampled for own in at.values() for part in own.values())
    unit, factor = time_unit(longest)
    every = max(1.0, longest / max(_LEAST, min(_MOMENTS, _NUMBERS // (2 * curves))))
    named_in = [{scheme: at.named(scheme, 1) for scheme in at.runs} for at in points[: len(sampled)]]
    views = [
        View(
            f"Time ({unit})",
            label(metric),
            [
                Curve(names[scheme], pens[scheme], *_line(own.get((metric, index)), place, every, factor))
                for scheme, own in at.items()
            ],
        )
        for names, at in zip(named_in, sampled, strict=True)
        for metric, index in kinds
        for place in where
    ]
    several = {metric for metric, index in kinds if index > 0}
    named = [f"{label(metric)} {index}" if metric in several else label(metric) for metric, index in kinds]
    left = len(points) - len(sampled)
    return Chart(
        "series",
        "Over time",
        f"What ports and hosts reported, {of_one_seed(points)}; means over short spans of time."
        + (f" Of {left} more points there is no room for it here." if left else ""),
        {"at": [at.name or "everywhere" for at in points[: len(sampled)]], "what": named, "where": where},
        views,
    )


def _kinds(sampled: list[dict[str, _Sampled]]) -> list[tuple[str, int]]:
    found = dict.fromkeys(kind for at in sampled for own in at.values() for kind in own)
    return list(found)[:_MOST_KINDS]


def _where(sampled: list[dict[str, _Sampled]]) -> list[str]:
    parts = (
        part["place"].unique(maintain_order=True)
        for at in sampled
        for own in at.values()
        for part in own.values()
    )
    places = list(dict.fromkeys(place for part in parts for place in part.cast(pl.String)))
    return [_ON_AVERAGE, *places[:_MOST_PLACES]] if len(places) > 1 else places


def _sampled(folder: ResultFolder, key: str) -> _Sampled:
    rows = load(folder.path / "runs" / key / "series.parquet", "run", frame)
    # Names as numbers: where all ports are sampled there are millions of rows.
    rows = rows.filter(pl.col("value").is_finite()).cast({"metric": pl.Categorical, "place": pl.Categorical})
    parts = rows.partition_by("metric", "index", as_dict=True, include_key=False, maintain_order=True)
    return {(str(metric), int(index)): part for (metric, index), part in parts.items()}


def _line(
    rows: pl.DataFrame | None, place: str, every: float, factor: float
) -> tuple[list[float], list[float]]:
    """A metric's times and values, at a place or as the mean over all."""
    if rows is None:
        return [], []
    own = rows if place == _ON_AVERAGE else rows.filter(pl.col("place") == place)
    moment = ((pl.col("time_ns") / every).floor() * every).alias("time_ns")
    points = own.group_by(moment).agg(pl.col("value").mean()).sort("time_ns")
    return short(points["time_ns"] / factor), short(points["value"])


def _end(rows: pl.DataFrame) -> float:
    last = rows["time_ns"].max()
    return last if isinstance(last, float) else 0.0
