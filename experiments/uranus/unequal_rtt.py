"""How WVCC's shares depend on round trips (unequal-rtt.toml).

    python experiments/uranus/unequal_rtt.py out/unequal-rtt

prints for each pair of round trips what the near slice gets over what the far one gets, both over their
weights, and the exponent x with which that is (far round trip / near round trip)^x; round trips with and
without the mean queue at the bottleneck.
"""

import argparse
import math
import tomllib
from pathlib import Path

import polars as pl

from tailrace import Result, ResultFolder

AFTER_NS = 2_000_000_000
BITS_A_PACKET = 12_000


def microseconds(text: str) -> float:
    """A delay such as "25us"."""
    return float(text.removesuffix("us"))


def measured(run: Result) -> tuple[float, float]:
    """Normalised throughput of slice 1 over that of slice 2, and the mean queue in packets."""
    series = run.series.to_polars().filter(pl.col("time_ns") > AFTER_NS)

    def mean(metric: str, place: str) -> float:
        return series.filter((pl.col("metric") == metric) & (pl.col("place") == place))["value"].mean()

    near, far = (mean("normalised_throughput_bps", f"slice{number}") for number in (1, 2))
    return near / far, mean("port_packets", "edge0->host0")


def main() -> None:
    """Prints the table."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, help="result folder of unequal-rtt.toml")
    folder = ResultFolder(parser.parse_args().folder)
    runs = folder.summary.filter(pl.col("class") == "all")
    # DCTCP is the same whatever weights say.
    runs = runs.filter((pl.col("scheme") == "WVCC") | (pl.col("weights") == "1:1"))
    head = f"{'scheme':>6} {'weights':>8} {'round trips, us':>16}"
    print(f"{head} {'near/far':>9} {'exponent':>9} {'without queue':>14}")
    keys = ("scheme", "weights", "fabric.core_delay")
    for (scheme, weights, delay), group in runs.group_by(*keys, maintain_order=True):
        some = [measured(folder.run(key)) for key in group["run"]]
        ratio = math.exp(sum(math.log(ratio) for ratio, _ in some) / len(some))
        fabric = tomllib.loads(folder.run(group["run"][0]).scenario)["fabric"]
        near = 4 * (microseconds(fabric["host_delay"]) + microseconds(fabric["edge_delay"]))
        far = near + 4 * microseconds(delay)
        rate = float(fabric["host_rate"].removesuffix("Gbps")) * 1e3
        queue = sum(packets for _, packets in some) / len(some) * BITS_A_PACKET / rate
        exponents = [math.log(ratio) / math.log((far + wait) / (near + wait)) for wait in (queue, 0)]
        trips = f"{near + queue:7.0f} {far + queue:8.0f}"
        print(f"{scheme:>6} {weights:>8} {trips} {ratio:9.2f} {exponents[0]:9.2f} {exponents[1]:14.2f}")


if __name__ == "__main__":
    main()
