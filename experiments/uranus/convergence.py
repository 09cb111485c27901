"""How long flows need to reach their shares, and how busy the link is when one leaves (convergence.toml).

    python experiments/uranus/convergence.py out/convergence

Flows are at their shares from the first millisecond on that begins ten milliseconds in which the mean of each
is within 10 % of its share. The busy share is of the payload that the link could carry.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

WEIGHTS = np.array([1.0, 2.0, 3.0])
PAYLOAD = 1460 / 1500
MEAN_OVER_MS = 10
WITHIN = 0.1


def rates(run: Path) -> np.ndarray:
    """Throughput of each flow as a share of the link, a row a millisecond."""
    series = pl.read_parquet(run / "series.parquet").filter(pl.col("metric") == "throughput_bps")
    table = series.pivot(on="place", index="time_ns", values="value").sort("time_ns")
    return table.select("slice1", "slice2", "slice3").to_numpy()


def events(run: Path) -> tuple[int, int, int]:
    """Milliseconds at which flow 3 joins, flow 1 leaves and flow 3 leaves."""
    flows = pl.read_parquet(run / "flows.parquet").sort("src")
    ends = (flows["start_ns"] + flows["fct_ns"]) / 1e6
    return int(flows["start_ns"][2] / 1e6), int(ends[0]), int(ends[2])


def settled(shares: np.ndarray, weights: np.ndarray) -> int:
    """Milliseconds until all flows are at their shares."""
    kernel = np.ones(MEAN_OVER_MS) / MEAN_OVER_MS
    means = np.stack([np.convolve(flow, kernel, mode="valid") for flow in shares.T], axis=1)
    target = weights / weights.sum()
    near = (np.abs(means / target - 1) <= WITHIN).all(axis=1)
    return int(np.argmax(near)) if near.any() else len(shares)


def main() -> None:
    """Prints the table."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, help="result folder of convergence.toml")
    folder = parser.parse_args().folder
    runs = pl.read_parquet(folder / "summary.parquet").filter(pl.col("class") == "all")
    print(
        "milliseconds until all flows are at their shares, and how busy the link is in the 10, 50 and 200 ms"
    )
    print("after flow 1 (a sixth) and flow 3 (three fifths) have left: the least of all starts")
    print(f"{'network':>16} {'3 joins':>9} {'1 leaves':>9} {'busy when 1 leaves':>27} {'when 3 leaves':>27}")
    for (network,), group in runs.group_by("network", maintain_order=True):
        joins, leaves, busy = [], [], []
        for key in group["run"]:
            run = folder / "runs" / key
            carried = rates(run)
            carried = carried / (PAYLOAD * float(network.split()[0]) * 1e9)
            join, first, second = events(run)
            joins.append(settled(carried[join:first], WEIGHTS))
            leaves.append(settled(carried[first + 1 : second, 1:], WEIGHTS[1:]))
            total = carried.sum(axis=1)
            busy.append([total[at : at + ms].mean() for at in (first, second) for ms in (10, 50, 200)])
        least = [f"{100 * value:.1f}" for value in np.min(busy, axis=0)]
        spans = [f"{min(values)}-{max(values)}" for values in (joins, leaves)]
        spread = [", ".join(least[:3]) + " %", ", ".join(least[3:]) + " %"]
        print(f"{network:>16} {spans[0]:>9} {spans[1]:>9} {spread[0]:>27} {spread[1]:>27}")


if __name__ == "__main__":
    main()
