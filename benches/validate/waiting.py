"""Mean waiting times of Poisson arrivals of equal packets at one port, against the M/D/1 queue."""

import math
import random
import statistics
from pathlib import Path

import polars as pl

import tailrace
from report import Report, running
from tailrace._tailrace import student

LOADS = {0.3: 200_000, 0.5: 200_000, 0.7: 300_000, 0.8: 500_000, 0.9: 1_000_000}  # load: packets
SOURCES = 64
PACKET, PAYLOAD = 1500, 1460  # bytes
HOST_GBPS, BOTTLENECK_GBPS, DELAY_US = 400, 10, 1
SERVICE_NS = PACKET * 8 / BOTTLENECK_GBPS
# A packet that waits nowhere: three links, store and forward.
ALONE_NS = SERVICE_NS + 2 * PACKET * 8 / HOST_GBPS + 3 * 1000 * DELAY_US

BATCHES = 50


def _arrivals(load: float, packets: int, seed: int) -> pl.DataFrame:
    """A flow list of one-packet flows from random sources, which load the bottleneck by `load`."""
    draw = random.Random(f"{seed} {load}")
    now, starts, sources = 0.0, [], []
    for _ in range(packets):
        now += draw.expovariate(load / SERVICE_NS)
        starts.append(round(now, 3))
        sources.append(draw.randrange(SOURCES))
    frame = pl.DataFrame({"src": sources, "start_ns": starts})
    return frame.with_columns(dst=pl.lit(SOURCES), size_bytes=pl.lit(PAYLOAD))


def _waits(flows: Path) -> list[float]:
    """How long each packet waited, in service times, in order of start.

    The sources' links are 40 times as fast as the bottleneck, so that next to nothing waits there.
    """
    scenario = tailrace.Scenario(
        fabric={
            "kind": "dumbbell",
            "left": SOURCES,
            "right": 1,
            "host_rate": f"{HOST_GBPS}Gbps",
            "bottleneck_rate": f"{BOTTLENECK_GBPS}Gbps",
            "delay": f"{DELAY_US}us",
            "buffer": "1GB",
        },
        workload={"flow_list": str(flows)},
        scheme={"name": "fifo"},
    )
    times = scenario.run().flows.to_polars().sort("flow")["fct_ns"]
    return ((times - ALONE_NS) / SERVICE_NS).to_list()


def _batch_means(values: list[float]) -> tuple[float, float]:
    """Mean and half of its 99 % confidence interval, from the means of consecutive batches."""
    size = len(values) // BATCHES
    means = [statistics.fmean(values[i * size : (i + 1) * size]) for i in range(BATCHES)]
    half = student(0.995, BATCHES - 1) * statistics.stdev(means) / math.sqrt(BATCHES)
    return statistics.fmean(means), half


def check(report: Report, folder: Path, seed: int) -> None:
    """Pollaczek and Khinchine: with constant service times a packet waits ρ / (2 · (1 − ρ)) of them."""
    report.section("Mean waiting time at a port against M/D/1 (tolerance: the 99 % confidence interval)")
    running("M/D/1")
    rows = []
    for load, packets in LOADS.items():
        flows = folder / "arrivals.parquet"
        _arrivals(load, packets, seed).write_parquet(flows, compression="uncompressed")
        mean, half = _batch_means(_waits(flows))
        theory = load / (2 * (1 - load))
        deviation = f"{100 * (mean / theory - 1):+.2f} %"
        rows.append([f"{load}", f"{packets}", f"{theory:.4f}", f"{mean:.4f}", f"± {half:.4f}", deviation])
        report.check(
            abs(mean - theory) <= half,
            f"load {load}: {mean:.4f} ± {half:.4f} services, theory {theory:.4f}",
        )
    report.table(["load", "packets", "M/D/1, services", "Tailrace", "99 % interval", "difference"], rows)
