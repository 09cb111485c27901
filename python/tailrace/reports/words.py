"""What a report says in words: the scenario, the verdict, who loses, where numbers are from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import polars as pl

from tailrace._tailrace import duration
from tailrace.files import load, text
from tailrace.folder import ResultFolder
from tailrace.reports.flows import SIZES, Apart, Point
from tailrace.reports.page import folded, table
from tailrace.reports.page import text as html

_SECTIONS = ("fabric", "transport", "workload", "slice", "scheme", "measure")
# Of a large sweep no more are said.
_MOST_LINES = 24


def scenario(folder: ResultFolder, points: list[Point]) -> str:
    """The scenario as its file has it, and with all defaults."""
    pairs = [pair for name in _SECTIONS for pair in _flat(name, folder.experiment.get(name, {}))]
    pairs = [(name, value) for name, value in pairs if name not in folder.axes]
    pairs += [(axis, _listed(folder.summary[axis].unique(maintain_order=True))) for axis in folder.axes]
    if folder.set:
        changes = ", ".join(f"{field} = {value}" for field, value in folder.set.items())
        pairs.append(("changed by --set", changes))
    if folder.left_out:
        pairs.append(("left out by --only", ", ".join(sorted(folder.left_out))))
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


def verdict(at: Point, base: str, pairs: dict[str, dict[str, Any]]) -> str:
    """The schemes from fastest to slowest by the mean ratio of their flows' times, and how sure that is."""
    ratio = {base: 1.0} | {scheme: found["all"]["ratio"]["value"] for scheme, found in pairs.items()}
    schemes = sorted(ratio, key=ratio.__getitem__)
    if len(schemes) < 2:
        return ""
    parts = [f"<strong>{html(schemes[0])}</strong>"]
    reasons, sure, unpaired = [], True, 0
    for first, second in pairwise(schemes):
        found = at.pairs(first, second)
        if isinstance(found, Apart):
            sure = False
            parts.append(f"not compared with <strong>{html(second)}</strong>")
            reasons.append(f"of {html(second)} and {html(first)}: {_NEIGHBOURS[found]}")
            continue
        ratio_of = found["all"]["ratio"]
        apart = ratio_of["interval"] is not None and ratio_of["interval"][0] > 1.0
        sure &= apart
        unpaired = max(unpaired, found["all"]["unpaired"])
        parts.append(f"{'before' if apart else 'not told apart from'} <strong>{html(second)}</strong>")
        reasons.append(f"{html(second)} takes {estimate(ratio_of)} times as long as {html(first)}")
    where = f"<em>{html(at.name)}</em>: " if at.name else ""
    # Bonferroni: each of the comparisons may be wrong once in twenty.
    confidence = max(0, 100 - 5 * len(reasons))
    whole = (
        f" The order as a whole holds with {confidence} % confidence at least."
        if sure and len(reasons) > 1
        else ""
    )
    left_out = (
        f" This is of flows that completed under both: up to {unpaired} did under one of two only."
        if unpaired
        else ""
    )
    what = "; ".join(reasons)
    return f"<li>{where}{', '.join(parts)}. {what}, in the geometric mean over flows.{whole}{left_out}</li>"


# Of two schemes that follow one another in an order.
_NEIGHBOURS = {
    Apart.FLOWS: "they met other flows",
    Apart.COMPLETED: "no flow has completed under both",
    Apart.SEEDS: "no seed was run under both",
}
# Of a scheme: beside all others, and beside some.
_APART = {
    Apart.FLOWS: ("no other scheme met the same flows", "{} met other flows"),
    Apart.COMPLETED: (
        "no flow has completed both here and under another scheme",
        "no flow has completed both here and under {}",
    ),
    Apart.SEEDS: (
        "no seed was run both here and under another scheme",
        "no seed was run both here and under {}",
    ),
}


def apart(at: Point, alone: list[str]) -> dict[str, list[str]]:
    """Why schemes that are in no comparison are in none, each reason with those whose it is."""
    why: dict[str, list[str]] = {}
    for scheme in alone:
        why.setdefault(_apart(at.apart(scheme), len(at.runs) - 1), []).append(scheme)
    if at.unfinished:
        why["no run is finished here"] = list(at.unfinished)
    return why


def _apart(reasons: dict[Apart, list[str]], others: int) -> str:
    told = []
    for reason, schemes in reasons.items():
        of_all, of_some = _APART[reason]
        joint = " and " if reason is Apart.FLOWS else " or "
        told.append(of_all if len(schemes) == others else of_some.format(joint.join(schemes)))
    return "; ".join(told)


def out_of_order(at: Point, alone: list[str]) -> list[str]:
    """Which schemes the order at a point leaves out, and why."""
    where = f"<em>{html(at.name)}</em>: " if at.name else ""
    return [
        f"<li>{where}{html(', '.join(schemes))} {'is' if len(schemes) == 1 else 'are'} in no order: "
        f"{html(reason)}.</li>"
        for reason, schemes in apart(at, alone).items()
    ]


def of_class(kind: str, what: str = "flows") -> str:
    """The flows, or tasks, of a class of the summary."""
    size, _, group = kind.partition("@")
    groups = {"": "", "deadline": " with a deadline", "no-deadline": " without a deadline"}
    named = what if size == SIZES[0] else f"{size} {what}"
    return f"{named}{groups.get(group, f' of class {group}')}"


def over_seeds(counts: Iterable[int]) -> str:
    """What numbers of so many seeds each are; nothing if these are single ones."""
    numbers = sorted(set(counts))
    if not numbers or numbers[-1] == 1:
        return ""
    span = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
    return f"Means over {span} seeds"


def of_one_seed(points: list[Point]) -> str:
    """Of which seed that is which is shown of one run of each scheme."""
    if all(at.is_even for at in points):
        return "of the first seed"
    elsewhere = "" if all(at.seeds for at in points) else " or, where there is none, of that which they name"
    return f"of the first seed that all schemes have{elsewhere}"


def beside_flows(folder: ResultFolder) -> str:
    """What the times of flows do not say: missed deadlines, tasks and load, where there are such."""
    lines = []
    means = folder.means.filter(pl.col("class") == "all")
    axes = [axis for axis in folder.axes if axis not in ("scheme", "seed")]
    told: list[tuple[list[str], str, Callable[..., str]]] = [
        (["miss_rate"], "Missed deadlines", lambda share: f"{100 * share:.1f} %"),
        (["tct_mean_us"], "Tasks take, on average", lambda time: duration(time / 1e6)),
        (["offered_gbps", "goodput_gbps"], "Load that was achieved, of that offered", _load),
    ]
    for columns, what, form in told:
        if any(name not in means.columns or means[name].count() == 0 for name in columns):
            continue
        for part in means.partition_by(axes, maintain_order=True) if axes else [means]:
            rows = part.drop_nulls(columns).select("scheme", *columns)
            if rows.is_empty():
                continue
            # The best first.
            rows = rows.sort(columns[-1], descending=form is _load, maintain_order=True)
            numbers = "; ".join(f"{html(scheme)} {form(*values)}" for scheme, *values in rows.iter_rows())
            where = ", ".join(f"{axis.rpartition('.')[2]} {_listed([part[axis][0]])}" for axis in axes)
            lines.append(f"<li>{f'<em>{html(where)}</em>: ' if where else ''}{what}: {numbers}.</li>")
    return f"<ul>{''.join(lines[:_MOST_LINES])}</ul>" if lines else ""


def _load(offered: float, achieved: float) -> str:
    # As the command writes them.
    return (
        " of ".join(f"{rate:.2f}" if rate < 10 else f"{rate:.1f}" for rate in (achieved, offered)) + " Gbps"
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
                        found["unpaired"],
                        f"{100 * found['faster']:.1f} %",
                        f"{100 * found['slower']:.1f} %",
                        estimate(found["ratio"]),
                        estimate(found["mean_change"], "+.1f", 100, " %"),
                    ]
                )
    header = ["flows", "scheme", "paired", "of one only", "faster", "slower", "time, × (95 %)", "mean (95 %)"]
    caption = f"The same flows under {base} and under others; faster and slower by more than 1 %"
    return table(header, rows, 2, caption)


def losers(base: str, scheme: str, found: dict[str, Any], flows: pl.DataFrame) -> str:
    """What the flows have in common that take more than 1.1 times as long: size, host, time."""
    lost = found["lost"]
    if lost is None:
        return (
            f"<li>Under {html(scheme)} no flow takes more than 1.1 times as long as under {html(base)}.</li>"
        )
    said = [f"half of them take {lost['median_ratio']:.2f} times as long or more"]
    sizes = (f"{lost[name]:,.0f}" for name in ("median_bytes", "median_bytes_of_all"))
    said.append("their median size is {} bytes, that of all {}".format(*sizes))
    losing = pl.col("ratio") > 1.1
    third = ((pl.col("start_ns") - flows["start_ns"].min()) / _span(flows["start_ns"]) * 3).floor().clip(0, 2)
    names = {0.0: "first", 1.0: "second", 2.0: "last"}
    traits: list[tuple[pl.Expr, Callable[[Any], str]]] = [
        (pl.col("dst"), lambda host: f"go to host {host}"),
        (pl.col("src"), lambda host: f"come from host {host}"),
        (third, lambda part: f"start in the {names[part]} third of the time"),
    ]
    for of, named in traits:
        if (most := _over_represented(flows.select(of=of, lost=losing))) is not None:
            value, own, all_share = most
            said.append(f"{own:.0f} % {named(value)}, of all flows {all_share:.0f} %")
    who = f"Under {html(scheme)} {100 * lost['share']:.1f} % of the flows"
    return f"<li>{who} take more than 1.1 times as long as under {html(base)}: {'; '.join(said)}.</li>"


def _over_represented(flows: pl.DataFrame) -> tuple[Any, float, float] | None:
    """The value that most exceeds its share of all flows among those that lost, if that is no chance.

    If losers were drawn at random, their numbers by value were hypergeometric, and one would be found in five
    of a hundred cases, however many values there are (Bonferroni). Returns its percentages.
    """
    counts = flows.group_by("of").agg(all=pl.len(), own=pl.col("lost").sum())
    total, lost = flows.height, int(counts["own"].sum())
    if lost == 0 or lost == total or counts.height < 2:
        return None
    critical = NormalDist().inv_cdf(1 - 0.05 / counts.height)
    share = pl.col("all") / total
    variance = lost * share * (1 - share) * (1 - lost / total)
    # Below some tens a count is not normal.
    candidates = counts.filter(
        (pl.col("own") - lost * share > critical * variance.sqrt())
        & (pl.col("own") >= 20)
        & (pl.col("own") > 1.2 * lost * share)
    ).sort(pl.col("own") / pl.col("all"), "of", descending=[True, False])
    if candidates.is_empty():
        return None
    value, of_all, own = candidates.row(0)
    return value, 100 * own / lost, 100 * of_all / total


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
            for seed, key in keys.items():
                info = json.loads(load(folder.path / "runs" / key / "summary.json", "run", text))
                where = [at.name or "everywhere", scheme, "" if seed is None else f"{seed:g}"]
                rows.append([*where, key, info["version"], info["ended"], info["digest"]])
                if counts := info.get("packets"):
                    packets.append([*where, key, *counts.values()])
                    header = ["at", "scheme", "seed", "run", *(name.replace("_", " ") for name in counts)]
    parts = [
        folded(
            "runs and their digests",
            table(["at", "scheme", "seed", "run", "version", "ended", "digest"], rows, 7),
        )
    ]
    if packets:
        parts.insert(0, folded("where every packet went", table(header, packets, 4)))
    return "".join(parts)
