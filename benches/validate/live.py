"""Every scheme on real packets, beside the simulation of the same flows by packets."""

import itertools
import subprocess
import sys
from pathlib import Path

import polars as pl

import tailrace
from report import Report, UsageError, percent, running

ROOT = Path(__file__).parent.parent.parent
EXPERIMENT = ROOT / "experiments" / "live" / "schemes.toml"
CLASSES = ("all", "short", "medium")
TOLERANCE = 10.0  # per cent, of a mean
APART = 15.0  # per cent: two schemes that differ by more keep their order
METRIC = "fct_mean_us"


def _means(folder: Path) -> pl.DataFrame:
    """The experiment, made anew: scheme, class, and the mean completion time by packets and live, in ms."""
    running(f"{EXPERIMENT.relative_to(ROOT)}, six minutes")
    out = folder / "live"
    # As another program: what it says of runs that fail is shown as it is said.
    command = [sys.executable, "-m", "tailrace", "run", str(EXPERIMENT), "--out", str(out)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise UsageError(f"{EXPERIMENT.name} could not be run live")
    summary = tailrace.Experiment(out).summary.to_polars()
    chosen = summary.filter(pl.col("class").is_in(CLASSES)).select("scheme", "class", "level", METRIC)
    table: pl.DataFrame = chosen.with_columns(pl.col(METRIC) / 1000)
    return table.pivot(on="level", index=["scheme", "class"], values=METRIC)


def check(report: Report, folder: Path) -> None:
    """The table, and whether means agree and schemes keep their order."""
    means = _means(folder)
    report.section("200 web search flows on 8 hosts of 100 Mbps: means by packets and live, in ms")
    header = ["scheme"]
    for name in CLASSES:
        header += [f"{name}: packets", "live", "differ by"]
    rows = []
    for (scheme,), group in means.group_by(["scheme"], maintain_order=True):
        cells = [str(scheme)]
        for name in CLASSES:
            row = group.row(by_predicate=pl.col("class") == name, named=True)
            simulated, live = row["packet"], row["live"]
            differ = percent(live, simulated)
            cells += [f"{simulated:.1f}", f"{live:.1f}", f"{differ:+.1f} %"]
            report.check(abs(differ) <= TOLERANCE, f"{scheme}, {name}: live differs by {differ:+.1f} %")
        rows.append(cells)
    report.table(header, rows)
    _check_order(report, means)


def _check_order(report: Report, means: pl.DataFrame) -> None:
    """Of any two schemes that differ by more than `APART` by packets, the same is faster live."""
    for name in CLASSES:
        of_class = means.filter(pl.col("class") == name).rows(named=True)
        pairs = kept = 0
        for one, other in itertools.combinations(of_class, 2):
            fast, slow = sorted((one, other), key=lambda row: row["packet"])
            if percent(slow["packet"], fast["packet"]) > APART:
                pairs += 1
                kept += fast["live"] < slow["live"]
        report.text(f"{name}: {kept} of {pairs} pairs of schemes that are {APART:g} % apart keep their order")
        report.check(kept == pairs, f"{name}: {pairs - kept} pairs of schemes change their order")
