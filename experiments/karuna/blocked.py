"""Flows without deadline that start while a long flow with one is under way at a host of theirs (figure 13).

    python experiments/karuna/blocked.py out/gamma-hosts

Under pFabric (EDF) such a flow waits until the long one is done, however late that would have to be.
"""

import argparse
from pathlib import Path

import polars as pl
from left_over import flows

LONG_BYTES = 10_000_000


def under_way(of: pl.DataFrame) -> dict[tuple[str, int], tuple[pl.Series, pl.Series]]:
    """From when to when long flows with deadlines are under way, by end and host."""
    long = of.filter(pl.col("deadline_ns").is_not_null() & (pl.col("size_bytes") > LONG_BYTES))
    ended = long.with_columns(end_ns=pl.col("start_ns") + pl.col("fct_ns"))
    return {
        (end, host): (some["start_ns"], some["end_ns"])
        for end in ("src", "dst")
        for (host,), some in ended.group_by(end)
    }


def main() -> None:
    """Prints the table."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, help="result folder of gamma-hosts.toml")
    parser.add_argument("--gamma", type=float, nargs="+", default=[0.1, 0.5, 0.9])
    args = parser.parse_args()

    print(f"{'gamma':>6} {'':>8} {'flows':>6} {'pFabric, p95':>13} {'Karuna, p95':>12}")
    for gamma in args.gamma:
        pfabric, karuna = (flows(args.folder, scheme, gamma) for scheme in ("pFabric", "Karuna"))
        busy = under_way(pfabric)
        others = pfabric.filter(pl.col("deadline_ns").is_null())
        blocked = [
            any(
                bool(((busy[end, row[end]][0] <= at) & (busy[end, row[end]][1] > at)).any())
                for end in ("src", "dst")
                if (end, row[end]) in busy
            )
            for row in others.iter_rows(named=True)
            for at in [row["start_ns"]]
        ]
        both = others.with_columns(blocked=pl.Series(blocked)).join(
            karuna.select("flow", karuna_ns="fct_ns"), on="flow"
        )
        for kind, some in (("blocked", both.filter("blocked")), ("free", both.filter(~pl.col("blocked")))):
            here, there = (some[column].quantile(0.95) / 1e6 for column in ("fct_ns", "karuna_ns"))
            print(f"{gamma:6} {kind:>8} {len(some):6} {here:10.1f} ms {there:9.1f} ms")


if __name__ == "__main__":
    main()
