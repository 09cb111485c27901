"""How far flows are from their weights' shares (accuracy.toml and small-windows.toml).

    python experiments/uranus/accuracy.py out/accuracy

prints for each case what the smallest flow's share is in packets a round trip, and by how much the flows of
each weight are above or below their shares, from the least to the most over all starts: from what senders'
links have carried between the shortest and the longest horizon. The exit status is 1 if a flow whose share is
above 4 packets strays by more than 5 %.
"""

import argparse
import tomllib
from pathlib import Path

import polars as pl

from tailrace import Result, ResultFolder

WEIGHTS = {1: 0.25, 2: 0.75}
FIRST_HOST_OF_SLICE_2 = 32
BITS_A_PACKET = 12_000
ENOUGH_PACKETS = 4.0
MOST_PERCENT = 5.0


def seconds(text: str) -> float:
    """A time such as "4s" or "500ms"."""
    return float(text[:-2]) / 1e3 if text.endswith("ms") else float(text[:-1])


def sent(run: Result) -> dict[int, int]:
    """Bytes that each host's link has carried."""
    ports = run.ports.to_polars().filter(pl.col("name").str.ends_with("->left"))
    hosts = ports["name"].str.extract(r"^host(\d+)->").cast(pl.Int64)
    carried = zip(hosts, ports["sent_bytes"], strict=True)
    return {host: count for host, count in carried if host is not None and count > 0}


def smallest_share(run: Result, flows: int) -> float:
    """C·RTT + K by weight, in packets, for the smallest weight."""
    scenario = tomllib.loads(run.scenario)
    fabric = scenario["fabric"]
    rate = float(fabric["bottleneck_rate"].removesuffix("Gbps")) * 1e9
    near, far = (float(fabric[field].removesuffix("us")) for field in ("host_delay", "bottleneck_delay"))
    threshold = int(scenario["scheme"]["params"]["port"]["marking_threshold"].removesuffix("pkt"))
    return (rate * 2 * (2 * near + far) * 1e-6 / BITS_A_PACKET + threshold) / (2 * flows)


def main() -> None:
    """Prints the table."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, help="result folder of accuracy.toml or small-windows.toml")
    folder = ResultFolder(parser.parse_args().folder)

    runs = folder.summary.filter(pl.col("class") == "all")
    horizons = sorted(runs["measure.horizon"].unique(), key=seconds)
    if len(horizons) < 2:
        raise SystemExit(
            f"{folder.path}: has one horizon, {horizons[0]}, but two are needed: run it without --scale"
        )
    astray = []
    print(f"{'case':>22} {'packets':>8} {'weight 1/4':>18} {'weight 3/4':>18}")
    for (case,), group in runs.group_by("case", maintain_order=True):
        errors: dict[int, list[float]] = {1: [], 2: []}
        for _, pair in group.group_by("workload.rule.1.start", maintain_order=True):
            of = dict(zip(pair["measure.horizon"], pair["run"], strict=True))
            before, after = (sent(folder.run(of[end])) for end in (horizons[0], horizons[-1]))
            carried = {host: bytes_ - before[host] for host, bytes_ in after.items()}
            slices = {host: 1 if host < FIRST_HOST_OF_SLICE_2 else 2 for host in carried}
            rate = sum(carried.values()) / sum(WEIGHTS[s] for s in slices.values())
            for host, bytes_ in carried.items():
                errors[slices[host]].append(100 * (bytes_ / (rate * WEIGHTS[slices[host]]) - 1))
        share = smallest_share(folder.run(group["run"][0]), int(case.split()[-1]))
        spans = [f"{min(e):+6.1f} to {max(e):+5.1f} %" for e in errors.values()]
        print(f"{case:>22} {share:8.1f} {spans[0]:>18} {spans[1]:>18}")
        worst = max(abs(error) for of_weight in errors.values() for error in of_weight)
        if share > ENOUGH_PACKETS and worst > MOST_PERCENT:
            astray.append(f"{case}: {worst:.1f} %")
    if astray:
        raise SystemExit(f"more than {MOST_PERCENT:g} % from their shares: {', '.join(astray)}")


if __name__ == "__main__":
    main()
