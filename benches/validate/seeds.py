"""Whether Tailrace and ns-3 differ by more than chance: the same comparison with several seeds."""

import itertools
import math
import statistics
from pathlib import Path

from completion import CLASSES, REPETITIONS, STATISTICS, completion_statistics
from ns3 import Ns3
from report import Report, percent, running
from tailrace._tailrace import student
from traffic import Case

LEAST = 2  # Chance cannot be told from one seed.
# How many the page shows.
STANDARD = 10


def check(report: Report, folder: Path, ns3: Ns3, first: Case, count: int) -> None:
    """The mean of the shifted runs against ns-3, over seeds, with its 99 % confidence interval."""
    differences: dict[tuple[str, str], list[float]] = {}
    for seed in range(first.seed, first.seed + count):
        case = first.with_seed(seed)
        running(f"ns-3, {case.title}, seed {seed}")
        path = folder / "flows.csv"
        flows = case.write_flows(path)
        reference = completion_statistics(case.run_ns3(ns3, path))
        shifted = [case.run_shifted(flows, folder / "shifted.csv", n) for n in range(REPETITIONS)]
        ours = [completion_statistics(times) for times in shifted]
        for key in ours[0].keys() & reference.keys():
            value = statistics.fmean(one[key] for one in ours)
            differences.setdefault(key, []).append(percent(value, reference[key]))
    options = f", ns-3 with {' '.join(ns3.extra)}" if ns3.extra else ""
    report.section(f"{first.title}, seeds {first.seed} to {first.seed + count - 1}{options}")
    rows = []
    for name, statistic in itertools.product(CLASSES, STATISTICS):
        values = differences.get((name, statistic), [])
        if len(values) < count:
            continue
        middle = statistics.fmean(values)
        half = student(0.995, count - 1) * statistics.stdev(values) / math.sqrt(count)
        each = " ".join(f"{value:+.1f}" for value in values)
        rows.append([f"{name} {statistic}", f"{middle:+.1f} %", f"± {half:.1f} %", each])
        report.check(
            abs(middle) <= max(half, 1.0),
            f"{name} {statistic}: {middle:+.1f} ± {half:.1f} %, more than chance and more than 1 %",
        )
    report.table(["class", "Tailrace to ns-3", "99 % interval", "each seed, %"], rows)
