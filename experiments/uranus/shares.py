"""What slices get, over seeds (proportions.toml, utilisation.toml, priorities.toml, light-slices.toml).

    python experiments/uranus/shares.py out/proportions

prints for each point and scheme the mean over time of Jain's index, of each slice's throughput and of all
together, in Gbit/s, from --from on, and the packets that ports dropped: mean over seeds, and half of its 95 %
confidence interval (Student) where there are several.
"""

import argparse
from pathlib import Path

import polars as pl

from tailrace import ResultFolder
from tailrace._tailrace import student

BITS = 1e9


def measured(folder: ResultFolder, key: str, since: float) -> dict[str, float]:
    """The numbers of one run."""
    run = folder.run(key)
    series = run.series.to_polars().filter(pl.col("time_ns") > since * 1e9)
    means = series.group_by("metric", "place").agg(pl.col("value").mean()).sort("place", "metric")
    numbers: dict[str, float] = {}
    for metric, place, value in means.rows():
        if metric == "jain_index":
            numbers["Jain's index"] = value
        elif metric == "throughput_bps":
            numbers["all, Gbit/s" if place == "slices" else f"{place}, Gbit/s"] = value / BITS
    numbers["dropped packets"] = float(run.ports.to_polars()["dropped_packets"].sum())
    return numbers


def interval(values: pl.Series) -> str:
    """Mean, and half of its 95 % confidence interval."""
    mean = float(values.mean() or 0.0)
    if len(values) < 2:
        return f"{mean:.4g}"
    half = student(0.975, len(values) - 1) * float(values.std() or 0.0) / len(values) ** 0.5
    return f"{mean:.4g} ± {half:.2g}"


def main() -> None:
    """Prints the table."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, help="result folder of an experiment with slices")
    parser.add_argument("--from", dest="since", type=float, default=0.0, help="seconds to leave out first")
    options = parser.parse_args()
    folder = ResultFolder(options.folder)

    runs = folder.summary.filter(pl.col("class") == "all")
    points = [axis for axis in folder.axes if axis != "seed" and runs[axis].n_unique() > 1]
    table = pl.concat(
        [pl.DataFrame([measured(folder, key, options.since)]) for key in runs["run"]], how="diagonal"
    ).with_columns(runs.select(points))
    numbers = [column for column in table.columns if column not in points]
    print(" | ".join([*points, *numbers]))
    for group in table.partition_by(points, maintain_order=True):
        print(" | ".join([*(str(group[axis][0]) for axis in points), *(interval(group[n]) for n in numbers)]))


if __name__ == "__main__":
    main()
