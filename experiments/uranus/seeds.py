"""A column of the summary over seeds (isolation.toml, coexistence.toml, priorities.toml).

    python experiments/uranus/seeds.py out/isolation miss_rate
    python experiments/uranus/seeds.py out/coexistence fct_mean_us --flows all@1

prints for each point and scheme the mean over seeds and half of its 95 % confidence interval (Student).
"""

import argparse
from pathlib import Path

import polars as pl
from shares import interval

from tailrace import ResultFolder


def main() -> None:
    """Prints the table."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, help="result folder of an experiment with several seeds")
    parser.add_argument("column", help="column of its summary.csv")
    parser.add_argument("--flows", default="all", help="class of flows; default: all")
    options = parser.parse_args()
    folder = ResultFolder(options.folder)

    of_class = folder.summary.filter(pl.col("class") == options.flows)
    rows = of_class.filter(pl.col(options.column).is_not_null())
    points = [axis for axis in folder.axes if axis not in ("seed", "scheme") and rows[axis].n_unique() > 1]
    schemes = rows["scheme"].unique(maintain_order=True).to_list()
    print(" | ".join([*points, *schemes]))
    for group in rows.partition_by(points, maintain_order=True):
        values = [group.filter(pl.col("scheme") == scheme)[options.column] for scheme in schemes]
        print(" | ".join([*(str(group[axis][0]) for axis in points), *map(interval, values)]))


if __name__ == "__main__":
    main()
