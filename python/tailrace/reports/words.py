"""What a report says in words: the scenario, the verdict, who loses, where numbers are from."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import polars as pl

from tailrace.files import load, text
from tailrace.folder import ResultFolder
from tailrace.reports.flows import Point
from tailrace.reports.page import folded, table
from tailrace.reports.page import text as html

_SECTIONS = ("fabric", "transport", "workload", "measure")


def scenario(folder: ResultFolder, points: list[Point]) -> str:
    """The scenario as its file has it, and with all defaults."""
    pairs = [pair for name in _SECTIONS for pair in _flat(name, folder.experiment.get(name, {}))]
    pairs += [(axis, _listed(folder.summary[axis].unique(maintain_order=True))) for axis in folder.axes]
    listed = "".join(f"<dt>{html(name)}</dt><dd>{html(value)}</dd>" for name, value in pairs)
    resolved = folded("the first run's scenario, with all defaults", f"<pre>{html(points[0].scenario)}</pre>")
    return f"<dl>{listed}</dl>{resolved}"


def _flat(name: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [pair for key, inner in value.items() for pair in _flat(f"{name}.{key}", inner)]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [pair for n, inner in enumerate(value) for pair in _flat(f"{name}[{n}]", inner)]
    return [(name, _listed(value) if isinstance(value, list) else str(value))]


def _listed(values: Any) -> str:
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)


def order(at: Point, base: str, pairs: dict[str, dict[str, Any]]) -> list[str]:
    """The schemes of a point from fastest to slowest by the mean ratio of their flows' times."""
    ratio = {base: 1.0} | {scheme: found["all"]["ratio"]["value"] for scheme, found in pairs.items()}
    return sorted(ratio, key=ratio.__getitem__)


def verdict(at: Point, schemes: list[str]) -> str:
    """That order, and of which neighbours the flows say so with 95 % confidence."""
    parts = [f"<strong>{html(schemes[0])}</strong>"]
    reasons, sure = [], True
    for first, second in pairwise(schemes):
        found = at.pairs(first, second)
        if found is None:
            return ""
        ratio = found["all"]["ratio"]
        apart = ratio["interval"] is not None and ratio["interval"][0] > 1.0
        sure &= apart
        parts.append(f"{'before' if apart else 'not told apart from'} <strong>{html(second)}</strong>")
        reasons.append(f"{html(second)} takes {estimate(ratio)} times as long as {html(first)}")
    where = f"<em>{html(at.name)}</em>: " if at.name else ""
    confidence = max(0, 100 - 5 * len(reasons))
    whole = (
        f" The order as a whole holds with {confidence} % confidence at least."
        if sure and len(reasons) > 1
        else ""
    )
    return (
        f"<li>{where}{', '.join(parts)}. {'; '.join(reasons)}, in the geometric mean over flows.{whole}</li>"
    )


def estimate(of: dict[str, Any], form: str = ".3f", factor: float = 1.0, unit: str = "") -> str:
    """A number with its 95 % interval."""
    value = f"{factor * of['value']:{form}}{unit}"
    if of["interval"] is None:
        return f"{value} (too few flows for an interval)"
    low, high = (f"{factor * edge:{form}}" for edge in of["interval"])
    return f"{value} ({low} to {high})"


def pair_table(base: str, pairs: dict[str, dict[str, Any]], sizes: list[str]) -> str:
    """Each scheme beside the base, by size class."""
    rows = []
    for size in sizes:
        for scheme, by_class in pairs.items():
            if found := by_class.get(size):
                rows.append(
                    [
                        size,
                        scheme,
                        found["flows"],
                        f"{100 * found['faster']:.1f} %",
                        f"{100 * found['slower']:.1f} %",
                        estimate(found["ratio"]),
                        estimate(found["mean_change"], "+.1f", 100, " %"),
                    ]
                )
    header = ["flows", "scheme", "paired", "faster", "slower", "time, × (95 %)", "mean (95 %)"]
    caption = f"The same flows under {base} and under others; faster and slower by more than 1 %"
    return table(header, rows, 2, caption)


def losers(base: str, scheme: str, flows: pl.DataFrame) -> str:
    """What the flows have in common that take more than 1.1 times as long: size, host, time."""
    lost = flows.filter(pl.col("ratio") > 1.1)
    if lost.is_empty():
        return (
            f"<li>Under {html(scheme)} no flow takes more than 1.1 times as long as under {html(base)}.</li>"
        )
    share = 100 * lost.height / flows.height
    said = [f"half of them take {_median(lost['ratio']):.2f} times as long or more"]
    sizes = [_median(frame["size_bytes"]) for frame in (lost, flows)]
    said.append(f"their median size is {sizes[0]:.0f} bytes, that of all {sizes[1]:.0f}")
    for column, what in (("dst", "to host"), ("src", "from host")):
        host, count = lost[column].value_counts(sort=True).row(0)
        of_all = flows.filter(pl.col(column) == host).height
        own, all_share = 100 * count / lost.height, 100 * of_all / flows.height
        if own > max(5.0, 1.5 * all_share) and count >= 10:
            said.append(f"{own:.0f} % go {what} {host}, of all flows {all_share:.0f} %")
    third = (pl.col("start_ns") - flows["start_ns"].min()) / _span(flows["start_ns"]) * 3
    thirds = lost.select(third.floor().clip(0, 2).alias("t"))["t"].value_counts()
    most, count = thirds.sort("count", descending=True).row(0)
    if count > 0.45 * lost.height and lost.height >= 30:
        name = ("first", "second", "last")[int(most)]
        said.append(f"{100 * count / lost.height:.0f} % start in the {name} third of the time")
    who = f"Under {html(scheme)} {share:.1f} % of the flows"
    return f"<li>{who} take more than 1.1 times as long as under {html(base)}: {'; '.join(said)}.</li>"


def _median(values: pl.Series) -> float:
    median = values.median()
    assert isinstance(median, float)
    return median


def _span(times: pl.Series) -> float:
    first, last = times.min(), times.max()
    assert isinstance(first, float)
    assert isinstance(last, float)
    return max(1.0, last - first)


def claims(folder: ResultFolder) -> str:
    """The claims of the experiment's file, judged."""
    file = folder.path / "claims.json"
    judged = json.loads(load(file, "experiment", text)) if file.exists() else []
    rows = [
        [
            claim["text"],
            claim["source"],
            _number(claim["paper"]),
            _number(claim["measured"]),
            claim["verdict"],
        ]
        for claim in judged
    ]
    return table(["claim", "source", "paper", "measured", "verdict"], rows, 2) if rows else ""


def _number(value: Any) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def ledger(folder: ResultFolder, points: list[Point]) -> str:
    """Where every packet went, by run, and from which build, seed and events its numbers are."""
    rows, packets = [], []
    for at in points:
        for scheme, keys in at.runs.items():
            for key in keys:
                info = json.loads(load(folder.path / "runs" / key / "summary.json", "run", text))
                rows.append(
                    [at.name or "everywhere", scheme, key, info["version"], info["ended"], info["digest"]]
                )
                if counts := info.get("packets"):
                    packets.append([at.name or "everywhere", scheme, key, *counts.values()])
                    header = ["at", "scheme", "run", *(name.replace("_", " ") for name in counts)]
    parts = [
        folded(
            "runs and their digests", table(["at", "scheme", "run", "version", "ended", "digest"], rows, 6)
        )
    ]
    if packets:
        parts.insert(0, folded("where every packet went", table(header, packets, 3)))
    return "".join(parts)
