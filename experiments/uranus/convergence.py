"""How long flows need to reach their shares, and how busy the link is when one leaves (convergence.toml).

    python experiments/uranus/convergence.py out/convergence

Flows are at their shares from the first millisecond on that begins ten milliseconds in which the mean of each
is within 10 % of its share; under DCTCP all have the same. The busy share is of the payload that the link
could carry. The link is full again from the first millisecond on that begins ten in which it is 97 % busy.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl

from tailrace import Result, ResultFolder

WEIGHTS = {"WVCC": np.array([1.0, 2.0, 3.0]), "DCTCP": np.ones(3)}
PAYLOAD = 1460 / 1500
MEAN_OVER_MS = 10
WITHIN = 0.1
BUSY = 0.97
WIDTHS = [21, 8, 8, 19, 8, 19]


def rates(run: Result) -> np.ndarray:
    """Throughput of each flow as a share of the link, a row a millisecond."""
    series = run.series.to_polars().filter(pl.col("metric") == "throughput_bps")
    table = series.pivot(on="place", index="time_ns", values="value").sort("time_ns")
    return table.select("slice1", "slice2", "slice3").to_numpy()


def events(run: Result) -> tuple[int, int, int]:
    """Milliseconds at which flow 3 joins, flow 1 leaves and flow 3 leaves."""
    flows = run.flows.to_polars().sort("src")
    ends = (flows["start_ns"] + flows["fct_ns"]) / 1e6
    return int(flows["start_ns"][2] / 1e6), int(ends[0]), int(ends[2])


def means(values: np.ndarray) -> np.ndarray:
    """Of each column, the means of the ten milliseconds that each row begins."""
    kernel = np.ones(MEAN_OVER_MS) / MEAN_OVER_MS
    return np.stack([np.convolve(column, kernel, mode="valid") for column in values.T], axis=1)


def first(holds: np.ndarray) -> int:
    """The first millisecond in which it holds; all that there are if it never does."""
    return int(np.argmax(holds)) if holds.any() else len(holds)


def settled(shares: np.ndarray, weights: np.ndarray) -> int:
    """Milliseconds until all flows are at their shares."""
    return first((np.abs(means(shares) / (weights / weights.sum()) - 1) <= WITHIN).all(axis=1))


def span(values: Iterable[int]) -> str:
    """From the least to the most."""
    return f"{min(values)}-{max(values)}"


def main() -> None:
    """Prints the table."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, help="result folder of convergence.toml")
    folder = ResultFolder(parser.parse_args().folder)
    runs = folder.summary.filter(pl.col("class") == "all")
    print("milliseconds until flows have their shares after flow 3 has joined, and until the link is full")
    print("after flow 1 and flow 3 have left; how busy it is in the first 10, 50 and 200 at least")
    columns = ["", "3 joins", "1 leaves", "busy, %", "3 leaves", "busy, %"]
    print(*(name.rjust(width) for name, width in zip(columns, WIDTHS, strict=True)))
    for (scheme, network), group in runs.group_by("scheme", "network", maintain_order=True):
        joins, full, busy = [], [], []
        for key in group["run"]:
            run = folder.run(key)
            carried = rates(run)
            carried = carried / (PAYLOAD * float(network.split()[0]) * 1e9)
            join, *leaves = events(run)
            joins.append(settled(carried[join : leaves[0]], WEIGHTS[scheme]))
            total = carried.sum(axis=1)
            full.append([first(means(total[at:, None])[:, 0] >= BUSY) for at in leaves])
            busy.append([[total[at : at + ms].mean() for ms in (10, 50, 200)] for at in leaves])
        cells = [f"{scheme}, {network}", span(joins)]
        for times, shares in zip(np.transpose(full), 100 * np.min(busy, axis=0), strict=True):
            cells += [span(times), ", ".join(f"{share:.1f}" for share in shares)]
        print(*(cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True)))


if __name__ == "__main__":
    main()
