"""What the lab costs: to compare a trace, to report many runs, to import, to have a cluster make a run.

.venv/bin/python benches/lab.py                 all of it: some minutes, most of them to make what is reported
.venv/bin/python benches/lab.py --only import --only compare
.venv/bin/python benches/lab.py --check         end with 1 if a goal is missed
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import tailrace

COMMAND = [sys.executable, "-m", "tailrace"]
# Runs of the sweep that is reported, and the flows of each.
RUNS, FLOWS = 200, 100_000
# So many runs more on a cluster are what a run costs.
MORE = 200


class Row(NamedTuple):
    """What was measured beside what it may be."""

    what: str
    value: float
    most: float
    unit: str


class Spent(NamedTuple):
    """What a process has taken."""

    seconds: float
    peak_bytes: int


def spent(command: list[str], folder: Path) -> Spent:
    """Run a command in a folder; it must succeed."""
    begin = time.perf_counter()
    with Path(os.devnull).open("wb") as nothing:
        actions = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), 1), (os.POSIX_SPAWN_DUP2, nothing.fileno(), 2)]
        before = Path.cwd()
        os.chdir(folder)
        try:
            child = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
        finally:
            os.chdir(before)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)}: ended with {os.waitstatus_to_exitcode(status)}")
    return Spent(time.perf_counter() - begin, usage.ru_maxrss * 1024)


def importing(folder: Path) -> Iterator[Row]:
    """`import tailrace`, with what Python itself takes."""
    taken = [spent([sys.executable, "-c", "import tailrace"], folder).seconds for _ in range(9)]
    yield Row("import tailrace", 1e3 * statistics.median(taken), 150, "ms")


def comparing(folder: Path) -> Iterator[Row]:
    """From a trace of 5,000 flows to the report of three schemes."""
    scenario = tailrace.Scenario(
        fabric={"preset": "rack16"},
        workload={"sizes": "web-search", "load": 0.6, "flows": 5000},
        scheme={"name": "fifo"},
    )
    flows = scenario.run().flows.to_polars()
    trace = flows.select(start_s=pl.col("start_ns") / 1e9, src="src", dst="dst", bytes="size_bytes")
    trace.write_csv(folder / "trace.csv")
    taken = spent([*COMMAND, "compare", "trace.csv", "--schemes", "dctcp,pias,pfabric"], folder)
    report = folder / "out" / "trace" / "results" / "report.html"
    if not report.exists():
        raise SystemExit(f"{report} is missing")
    yield Row("compare 5,000 flows under three schemes", taken.seconds, 10, "s")


def reporting(folder: Path) -> Iterator[Row]:
    """The report of 200 runs that left 20 million flows."""
    scenario = tailrace.Scenario(
        level="flow",
        fabric={"preset": "spine144"},
        workload={"sizes": "web-search", "flows": FLOWS},
    )
    over: dict[str, list[Any]] = {
        "scheme": ["rcp", "srpt", "sff", "pias"],
        "workload.load": [0.2, 0.4, 0.6, 0.8, 0.9],
        "seed": list(range(1, 11)),
    }
    swept = tailrace.sweep(scenario, over=over, out=folder / "swept", progress=sys.stderr.isatty())
    assert swept.summary["run"].n_unique() == RUNS
    taken = spent([*COMMAND, "report", "swept", "--out", "swept.html"], folder)
    yield Row("report of 200 runs and 20 million flows", taken.seconds, 60, "s")
    yield Row("its memory", taken.peak_bytes / 2**30, 2, "GiB")
    yield Row("its size", (folder / "swept.html").stat().st_size / 1e6, 3, "MB")


def clustering(folder: Path) -> Iterator[Row]:
    """A run made by a worker of a cluster, over one that this process makes, both one at a time."""
    scenario = tailrace.Scenario(
        fabric={"preset": "micro4"},
        workload={"sizes": "web-search", "load": 0.5, "flows": 100},
        scheme={"name": "dctcp"},
    )

    def seconds(runs: int, name: str, cluster: str | None) -> float:
        begin = time.perf_counter()
        over = {"seed": list(range(1, runs + 1))}
        tailrace.sweep(scenario, over=over, out=folder / f"{name}-{runs}", jobs=1, cluster=cluster)
        return time.perf_counter() - begin

    def a_run(name: str, cluster: str | None) -> float:
        few = 20
        return (seconds(few + MORE, name, cluster) - seconds(few, name, cluster)) / MORE

    here = a_run("here", None)
    there = a_run("there", "local")
    yield Row("a run on a cluster, over one without", 1e3 * (there - here), 20, "ms")


PARTS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "import": importing,
    "compare": comparing,
    "report": reporting,
    "cluster": clustering,
}


def main() -> int:
    """Measure, print a row a number, and say what is missed."""
    text, _, examples = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=text, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=list(PARTS), help="measure this part alone")
    parser.add_argument("--check", action="store_true", help="end with 1 if a goal is missed")
    options = parser.parse_args()
    missed = 0
    for name in options.only or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            for row in PARTS[name](Path(folder)):
                over = "  missed" if row.value > row.most else ""
                print(f"{row.what:45} {row.value:8.2f} of {row.most:g} {row.unit}{over}", flush=True)
                missed += bool(over)
    return int(options.check and missed > 0)


if __name__ == "__main__":
    sys.exit(main())
