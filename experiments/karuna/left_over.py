"""What deadlines leave of a link, and how long flows without one take then (figure 13).

    python experiments/karuna/left_over.py out/gamma-hosts --gamma 0.9 --against D2TCP

compares the medium flows without deadline of two schemes, flow by flow, by the share of the busier of their
two host links that flows with deadlines were expected to take while they lasted (under the other scheme).
"""

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from tailrace import ResultFolder

EDGES = [0.0, 0.25, 0.5, 0.75, 1.0]
HOST_BITS_PER_NS = 10.0


def flows(folder: Path, scheme: str, gamma: float) -> pl.DataFrame:
    """The flows of one run of the sweep, all times in ns."""
    results = ResultFolder(folder)
    runs = results.summary.filter((pl.col("scheme") == scheme) & (pl.col("gamma") == gamma))["run"].unique()
    if len(runs) != 1:
        raise SystemExit(f"{folder}: holds {len(runs)} runs of {scheme} at gamma = {gamma}, but 1 is needed")
    return results.run(runs[0]).flows.to_polars()


class Expected:
    """The expected rates of all flows with deadlines at one end of one link, added up over time."""

    def __init__(self, due: pl.DataFrame) -> None:
        start, time = due["start_ns"].to_numpy(), due["deadline_ns"].to_numpy()
        rate = due["size_bytes"].to_numpy() * 8 / time / HOST_BITS_PER_NS
        times = np.concatenate([start, start + time])
        order = np.argsort(times, kind="stable")
        self.times = times[order]
        self.level = np.cumsum(np.concatenate([rate, -rate])[order])
        self.sums = np.concatenate([[0.0], np.cumsum(self.level[:-1] * np.diff(self.times))])

    def _until(self, time: float) -> float:
        at = int(np.searchsorted(self.times, time, side="right")) - 1
        return 0.0 if at < 0 else self.sums[at] + self.level[at] * (time - self.times[at])

    def share(self, start: float, end: float) -> float:
        """Share of the link that they were to take from `start` to `end`, on average."""
        return (self._until(end) - self._until(start)) / (end - start)


def main() -> None:
    """Prints the table."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, help="result folder of gamma-hosts.toml")
    parser.add_argument("--gamma", type=float, default=0.9)
    parser.add_argument("--against", default="D2TCP", help="scheme to compare Karuna with")
    args = parser.parse_args()

    karuna, other = (flows(args.folder, scheme, args.gamma) for scheme in ("Karuna", args.against))
    due = karuna.filter(pl.col("deadline_ns").is_not_null())
    links = {(end, host): Expected(some) for end in ("src", "dst") for (host,), some in due.group_by(end)}

    medium = pl.col("size_bytes").is_between(100_000, 10_000_000, closed="right")
    both = karuna.filter(pl.col("deadline_ns").is_null() & medium).join(
        other.select("flow", other_ns="fct_ns"), on="flow"
    )
    if both.is_empty():
        raise SystemExit(
            f"{args.folder}: no medium flows without deadline ended under both schemes; run it for longer"
        )
    shares = [
        max(
            links[end, row[end]].share(row["start_ns"], row["start_ns"] + row["other_ns"])
            for end in ("src", "dst")
            if (end, row[end]) in links
        )
        for row in both.iter_rows(named=True)
    ]
    print(f"{'expected':>12} {'flows':>6} {'Karuna':>10} {args.against:>10} {'median ratio':>13}")
    for low, high in pairwise(EDGES):
        some = both.filter((pl.Series(shares) >= low) & (pl.Series(shares) < high))
        if len(some) > 0:
            here, there = some["fct_ns"].mean() / 1e6, some["other_ns"].mean() / 1e6
            ratio = (some["fct_ns"] / some["other_ns"]).median()
            print(f"{low:.2f} to {high:.2f} {len(some):6} {here:7.1f} ms {there:7.1f} ms {ratio:13.2f}")


if __name__ == "__main__":
    main()
