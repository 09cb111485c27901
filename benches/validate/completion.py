"""Completion times of the same flows in Tailrace and ns-3."""

import math
import statistics
from pathlib import Path

import polars as pl

from ns3 import Ns3
from report import Report, percent, running
from tailrace._tailrace import student
from traffic import Case

CLASSES = {"all": (0, math.inf), "short": (0, 1e5), "medium": (1e5, 1e7), "long": (1e7, math.inf)}  # bytes
STATISTICS = ("mean", "p99")
TOLERANCE = 10.0  # per cent
REPETITIONS = 24
# Of flows that hardly meet, at least this share takes the same time to 1 %.
LEAST_AGREEMENT = 0.95
# A flow that is alone takes the same time to this share.
ALONE_TOLERANCE = 0.001
# What a flow leaves behind is gone after this time, ns.
AFTERMATH_NS = 200_000

# (class, statistic): µs
Statistics = dict[tuple[str, str], float]


def _of_class(times: pl.DataFrame, name: str) -> pl.DataFrame:
    above, most = CLASSES[name]
    return times.filter((pl.col("size_bytes") > above) & (pl.col("size_bytes") <= most))


def completion_statistics(times: pl.DataFrame) -> Statistics:
    """Mean and 99th percentile (nearest rank) of the completed flows of each class that has flows, in µs."""
    found: Statistics = {}
    for name in CLASSES:
        values: list[float] = _of_class(times, name)["fct_ns"].drop_nulls().sort().to_list()
        if values:
            found[name, "mean"] = math.fsum(values) / len(values) / 1000
            found[name, "p99"] = values[math.ceil(0.99 * len(values)) - 1] / 1000
    return found


def _agreement(times: pl.DataFrame, reference: pl.DataFrame, tolerance: float) -> float:
    """Share of the flows whose completion times differ by at most this share."""
    close = (times["fct_ns"] / reference["fct_ns"] - 1).abs() <= tolerance
    return float(close.fill_null(False).sum() / len(times))


def _check_unfinished(report: Report, case: Case, tailrace: pl.DataFrame, ns3: pl.DataFrame) -> None:
    unfinished = (tailrace["fct_ns"].null_count(), ns3["fct_ns"].null_count())
    report.check(unfinished == (0, 0), f"{case.title}: unfinished in Tailrace and ns-3 {unfinished}")


def _alone(times: pl.DataFrame) -> pl.Series:
    """Which flows have the fabric to themselves from start to end. Flows are in order of start."""
    ends = times["start_ns"] + times["fct_ns"] + AFTERMATH_NS
    after_all_others = times["start_ns"] >= ends.cum_max().shift(1, fill_value=0)
    before_the_next = ends <= times["start_ns"].shift(-1, fill_value=math.inf)
    return after_all_others & before_the_next


def check_apart(report: Report, folder: Path, ns3: Ns3, case: Case) -> None:
    """Flows that hardly meet: one by one they take the same time."""
    running(f"ns-3, {case.title}")
    path = folder / "apart.csv"
    case.write_flows(path)
    measured, other = case.run_tailrace(path), case.run_ns3(ns3, path)
    report.section(f"Completion times: {case.title}")
    _check_unfinished(report, case, measured, other)
    alone = _alone(measured)
    differences = (measured["fct_ns"] / other["fct_ns"] - 1).abs()
    worst = max(differences.filter(alone).drop_nulls().to_list(), default=0.0)
    rows = [
        [
            "alone",
            str(alone.sum()),
            "largest difference",
            f"{100 * worst:.4f} %",
            f"{100 * ALONE_TOLERANCE:g} %",
        ]
    ]
    shares = {tolerance: _agreement(measured, other, tolerance) for tolerance in (1e-6, 0.01, 0.1)}
    for tolerance, share in shares.items():
        least = f"{100 * LEAST_AGREEMENT:g} %" if tolerance == 0.01 else ""
        rows.append(
            ["all", str(len(measured)), f"flows within {100 * tolerance:g} %", f"{100 * share:.1f} %", least]
        )
    report.table(["flows", "number", "Tailrace against ns-3", "", "tolerance"], rows)
    report.check(worst <= ALONE_TOLERANCE, f"a flow that is alone differs by {100 * worst:.4f} %")
    report.check(shares[0.01] >= LEAST_AGREEMENT, f"{100 * shares[0.01]:.1f} % of flows agree to 1 %")


def check_loaded(report: Report, folder: Path, ns3: Ns3, case: Case) -> None:
    """Flows that compete: means and tails of the size classes."""
    running(f"ns-3, {case.title}")
    path = folder / "loaded.csv"
    flows = case.write_flows(path)
    measured, other = case.run_tailrace(path), case.run_ns3(ns3, path)
    shifted = [case.run_shifted(flows, folder / "shifted.csv", n) for n in range(REPETITIONS)]
    report.section(f"Completion times: {case.title}, µs (tolerance: {TOLERANCE:g} %)")
    _check_unfinished(report, case, measured, other)
    _compare(report, measured, other, shifted)
    rows = []
    for tolerance in (0.01, 0.1):
        own = sum(_agreement(times, measured, tolerance) for times in shifted) / REPETITIONS
        theirs = _agreement(measured, other, tolerance)
        rows.append([f"within {100 * tolerance:g} %", f"{100 * theirs:.0f} %", f"{100 * own:.0f} %"])
    report.text("")
    report.table(["flows that take as long as in Tailrace", "ns-3", "Tailrace shifted"], rows)


def _interval(values: list[float]) -> tuple[float, float]:
    """Where one more of these values lies with 99 % probability, if they are normal and independent."""
    middle = statistics.fmean(values)
    half = student(0.995, len(values) - 1) * statistics.stdev(values) * math.sqrt(1 + 1 / len(values))
    return middle - half, middle + half


def _compare(
    report: Report, measured: pl.DataFrame, other: pl.DataFrame, shifted: list[pl.DataFrame]
) -> None:
    """The table of classes, and an explanation of each difference that is above the tolerance."""
    ours, theirs, spread = (
        completion_statistics(measured),
        completion_statistics(other),
        [completion_statistics(times) for times in shifted],
    )
    rows, notes = [], []
    for key, value in ours.items():
        name, statistic = key
        reference, own = theirs.get(key, math.nan), [values[key] for values in spread]
        difference, (low, high) = percent(value, reference), _interval(own)
        row = [f"{name} {statistic}", str(len(_of_class(measured, name)))]
        row += [f"{reference:.1f}", f"{value:.1f}", f"{difference:+.1f} %"]
        rows.append([*row, f"{statistics.fmean(own):.1f}", f"{low:.1f} … {high:.1f}"])
        by_chance = low <= reference <= high
        if abs(difference) > TOLERANCE and by_chance:
            notes.append(
                f"{name} {statistic}: ns-3's {reference:.1f} lies in {low:.1f} … {high:.1f}; "
                f"the shifted runs go from {min(own):.1f} to {max(own):.1f}."
            )
        report.check(
            abs(difference) <= TOLERANCE or by_chance,
            f"{name} {statistic} {value:.1f} µs, in ns-3 {reference:.1f}, by chance {low:.1f} … {high:.1f}",
        )
    report.table(["class", "flows", "ns-3", "Tailrace", "difference", "shifted: mean", "99 % interval"], rows)
    report.text(
        f"Shifted: {REPETITIONS} runs of Tailrace in which each flow starts by less than a nanosecond later."
    )
    if notes:
        report.text(
            "Above the tolerance, but chance: a packet more or less in a queue changes all that follows, and",
            "Tailrace differs as much from itself. docs/validation.md has ten seeds.",
            *notes,
        )
