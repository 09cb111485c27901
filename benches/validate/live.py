"""Every scheme on real packets, beside the simulation of the same flows by packets."""

import itertools
import math
import subprocess
import sys
from pathlib import Path

import polars as pl

from report import Report, UsageError, percent, running
from tailrace import ResultFolder

ROOT = Path(__file__).parent.parent.parent
EXPERIMENT = ROOT / "experiments" / "live" / "schemes.toml"
CLASSES = ("all", "short", "medium", "long")
TOLERANCE = 10.0  # per cent, of a mean
APART = 15.0  # per cent: two schemes that differ by more keep their order
METRIC = "fct_mean_us"
# What chance does: the same run where a link is a few microseconds longer or shorter, which no scheme minds,
# but each packet meets others. By so many simulations, the mean of so many live runs is within so many of
# their standard deviations of theirs in 95 of 100 cases.
SIMULATED_DELAYS = [f"{us}us" for us in range(245, 255)]
LIVE_DELAYS = ["247us", "253us"]
STUDENT_T = 2.262 * math.sqrt(1 / len(LIVE_DELAYS) + 1 / len(SIMULATED_DELAYS))


def _run(out: Path, level: str, delays: list[str]) -> pl.DataFrame:
    """The experiment, made anew: scheme, class, and the mean completion time of each run in ms."""
    listed = ", ".join(f"'{delay}'" for delay in delays)
    sweep = [f"sweep.level=['{level}']", f"sweep.'fabric.host_delay'=[{listed}]"]
    # As another program: what it says of runs that fail is shown as it is said.
    command = [sys.executable, "-m", "tailrace", "run", str(EXPERIMENT), "--out", str(out)]
    options = [option for setting in sweep for option in ("--set", setting)]
    done = subprocess.run(command + options, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise UsageError(f"{EXPERIMENT.name} could not be run")
    chosen = ResultFolder(out).summary.filter(pl.col("class").is_in(CLASSES))
    return chosen.select("scheme", "class", pl.col(METRIC) / 1000)


def _means(folder: Path) -> pl.DataFrame:
    """By scheme and class: the mean completion live, by packets, and what chance does to both, in ms."""
    running(f"{EXPERIMENT.relative_to(ROOT)}, seven minutes")
    live = _run(folder / "live", "live", LIVE_DELAYS)
    live = live.group_by("scheme", "class").agg(pl.col(METRIC).mean().alias("live"))
    simulated = _run(folder / "packets", "packet", SIMULATED_DELAYS)
    by = simulated.group_by("scheme", "class", maintain_order=True)
    packets = by.agg(
        pl.col(METRIC).mean().alias("packet"), (pl.col(METRIC).std() * STUDENT_T).alias("chance")
    )
    return packets.join(live, on=["scheme", "class"], how="left", maintain_order="left")


def check(report: Report, folder: Path) -> None:
    """The table, and whether means agree and schemes keep their order."""
    means = _means(folder)
    report.section(
        f"200 web search flows on 8 hosts of 100 Mbps: means of {len(SIMULATED_DELAYS)} runs by packets "
        f"and {len(LIVE_DELAYS)} live (± chance), in ms"
    )
    header = ["scheme"]
    for name in CLASSES:
        header += [f"{name}: packets", "live", "differ by"]
    rows, beyond = [], []
    for (scheme,), group in means.group_by(["scheme"], maintain_order=True):
        cells = [str(scheme)]
        for name in CLASSES:
            row = group.row(by_predicate=pl.col("class") == name, named=True)
            simulated, chance, live = row["packet"], row["chance"], row["live"]
            differ = percent(live, simulated)
            cells += [f"{simulated:.1f}", f"{live:.1f} ±{chance:.1f}", f"{differ:+.1f} %"]
            if abs(differ) > TOLERANCE:
                beyond.append(f"{scheme}, {name}")
            within = abs(live - simulated) <= simulated * TOLERANCE / 100 + chance
            report.check(within, f"{scheme}, {name}: live differs by {differ:+.1f} %, beyond chance")
        rows.append(cells)
    report.table(header, rows)
    compared = len(rows) * len(CLASSES)
    report.text(
        f"{compared - len(beyond)} of {compared} means are within {TOLERANCE:g} %, whatever chance does"
        f"{''.join(f'; not {which}' for which in beyond)}"
    )
    _check_order(report, means)


def _check_order(report: Report, means: pl.DataFrame) -> None:
    """Of two schemes that differ by more than `APART` by packets, the same is faster live, but for chance."""
    for name in CLASSES:
        of_class = means.filter(pl.col("class") == name).rows(named=True)
        pairs = kept = certain = lost = 0
        for one, other in itertools.combinations(of_class, 2):
            fast, slow = sorted((one, other), key=lambda row: float(row["packet"]))
            if percent(slow["packet"], fast["packet"]) <= APART:
                continue
            keeps = fast["live"] < slow["live"]
            is_certain = slow["packet"] - fast["packet"] > math.hypot(slow["chance"], fast["chance"])
            pairs, kept = pairs + 1, kept + keeps
            certain, lost = certain + is_certain, lost + (is_certain and not keeps)
        report.text(
            f"{name}: {kept} of {pairs} pairs of schemes that are {APART:g} % apart keep their order, "
            f"and {certain - lost} of {certain} that chance does not exchange"
        )
        report.check(
            lost == 0, f"{name}: {lost} pairs of schemes change their order, which chance does not explain"
        )
