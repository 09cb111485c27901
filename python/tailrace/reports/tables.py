"""Tables of a report, with numbers as the command prints them."""

from __future__ import annotations

from typing import Any

from tailrace._tailrace import duration
from tailrace.folder import ResultFolder
from tailrace.reports.flows import SIZES
from tailrace.reports.page import folded, table
from tailrace.reports.words import of_class, over_seeds

# What a column of the means is called, and how its numbers are written.
_FLOWS = {
    "mean": ("fct_mean_us", "time"),
    "p50": ("fct_p50_us", "time"),
    "p95": ("fct_p95_us", "time"),
    "p99": ("fct_p99_us", "time"),
    "slowdown": ("slowdown_mean", "number"),
    "p99 slowdown": ("slowdown_p99", "number"),
    "timeouts": ("timeouts", "count"),
    "offered": ("offered_gbps", "rate"),
    "goodput": ("goodput_gbps", "rate"),
    "missed": ("miss_rate", "share"),
}
_TASKS = {
    "mean": ("tct_mean_us", "time"),
    "p50": ("tct_p50_us", "time"),
    "p95": ("tct_p95_us", "time"),
    "p99": ("tct_p99_us", "time"),
    "max": ("tct_max_us", "time"),
}


def cell(value: float | None, half: float | None, kind: str) -> str:
    """A mean and half of its 95 % interval, in words."""
    if value is None:
        return "–"
    if kind == "time":
        plain = duration(value / 1e6)
        return plain if half is None or value <= 0 else f"{plain} ±{_percent(half / value)} %"
    if kind == "rate":
        return f"{value:.1f} Gbps"
    factor, form, unit = {"number": (1, ".2f", ""), "count": (1, "", ""), "share": (100, ".1f", " %")}[kind]
    if kind == "count":
        return _counted(value) if half is None else f"{_counted(value)} ±{_counted(half)}"
    text = f"{factor * value:{form}}"
    return f"{text}{unit}" if half is None else f"{text} ±{factor * half:{form}}{unit}"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.1f}" if percent < 9.95 else f"{percent:.0f}"


def _counted(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.1f}"


def tables(folder: ResultFolder) -> str:
    """Means of flows by size class, those of all flows unfolded, and of tasks."""
    means = folder.means
    classes = means["class"].unique(maintain_order=True).to_list()
    classes.sort(key=lambda kind: SIZES.index(kind) if kind in SIZES else len(SIZES))
    rows = means.to_dicts()
    parts = []
    for kind in classes:
        own = [row for row in rows if row["class"] == kind and row["flows"]]
        if own:
            made = _table(folder, own, _FLOWS, "flows")
            parts.append(made if kind == "all" else folded(of_class(kind), made))
    if "tct_mean_us" in means.columns:
        for kind in classes:
            of_tasks = [row for row in rows if row["class"] == kind and row["tasks"]]
            if of_tasks:
                made = _table(folder, of_tasks, _TASKS, "tasks")
                parts.append(made if kind == "all" else folded(of_class(kind, "tasks"), made))
    return "".join(parts)


def _table(
    folder: ResultFolder,
    rows: list[dict[str, Any]],
    columns: dict[str, tuple[str, str]],
    counted: str,
) -> str:
    axes = [axis for axis in folder.axes if axis not in ("scheme", "seed")]
    such = {name: of for name, of in columns.items() if any(row.get(of[0]) is not None for row in rows)}
    such = {name: of for name, of in such.items() if of[1] != "count" or any(row[of[0]] for row in rows)}
    seeds = ["seeds"] if len({row["seeds"] for row in rows}) > 1 else []
    header = [*(axis.rpartition(".")[2] for axis in axes), "scheme", counted, *seeds, *such]
    lacking = {"unfinished_tasks": "unfinished"} if counted == "tasks" else {"stopped": "given up"}
    body = []
    for row in rows:
        count = f"{row[counted] * row['seeds']:.0f}"
        missing = [f"{row[of] * row['seeds']:.0f} {why}" for of, why in lacking.items() if row[of]]
        if counted == "flows" and (rest := (row["unfinished"] - row["stopped"]) * row["seeds"]) > 0.5:
            missing.append(f"{rest:.0f} unfinished")
        count += f" ({', '.join(missing)})" if missing else ""
        numbers = [cell(row[of], row[f"{of}_half95"], kind) for of, kind in such.values()]
        texts = [*(_value(row[axis]) for axis in axes), row["scheme"]]
        body.append([*texts, count, *(row[name] for name in seeds), *numbers])
    return table(header, body, len(axes) + 1, _caption(rows, counted))


def _caption(rows: list[dict[str, Any]], counted: str) -> str:
    means = over_seeds(row["seeds"] for row in rows)
    told = ["Tasks"] if counted == "tasks" else []
    return ". ".join([*told, f"{means} ± half of the 95 % interval"] if means else told)


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
