"""DCTCP's steady queue at its marking threshold: Tailrace, ns-3, and the sawtooth analysis."""

import math
from pathlib import Path

import polars as pl

import long_flows
from ns3 import Ns3
from report import Report, percent, running

SENDERS = (2, 8)
MEASURED_MS = 500
SAMPLE_US = 10
STATISTICS = ("mean", "std", "min", "p1", "p50", "p99", "max")
# Tailrace against the analysis, packets. It leaves out that windows are whole packets, and that flows do not
# all cut at once and some of them twice.
THEORY_TOLERANCE = {"mean": 2.0, "p1": 4.0, "p99": 2.0}
# Tailrace against ns-3, per cent.
NS3_TOLERANCE = {"mean": 10.0, "std": 10.0, "p50": 10.0, "p99": 10.0}


def sawtooth(flows: int) -> dict[str, float]:
    """What Alizadeh et al. (SIGCOMM 2010, §3.3) derive for synchronised flows, in packets.

    Windows grow to the one at which the queue is at the threshold, W* = (C·RTT + K) / N. One round trip
    passes before the marks are heard; then all flows cut by α/2, where α²·(1 − α/4) = (2·W* + 1) / (W* + 1)².
    The queue rises steadily to K + N from N·(W* + 1)·α/2 below.
    """
    per_us = long_flows.GBPS * 1000 / (8 * long_flows.PACKET)
    window = (per_us * long_flows.base_rtt_us() + long_flows.MARK_ABOVE) / flows
    share = (2 * window + 1) / (window + 1) ** 2
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle**2 * (1 - middle / 4) < share else (low, middle)
    amplitude = flows * (window + 1) * low / 2
    most = long_flows.MARK_ABOVE + flows

    def quantile(p: float) -> float:
        return most - amplitude * (1 - p)

    return {
        "mean": quantile(0.5),
        "std": amplitude / math.sqrt(12),
        "min": quantile(0),
        "p1": quantile(0.01),
        "p50": quantile(0.5),
        "p99": quantile(0.99),
        "max": most,
    }


def _tailrace(senders: int, folder: Path) -> dict[str, float]:
    """Statistics of the packets that wait at the bottleneck; percentiles by nearest rank, as ns-3's."""
    end_ms = long_flows.WARM_UP_MS + MEASURED_MS
    fields = {"measure.sample_every": f"{SAMPLE_US}us", "measure.sample_ports": [long_flows.BOTTLENECK]}
    series = long_flows.scenario(senders, end_ms, folder).with_(**fields).run().series.to_polars()
    kept = (pl.col("metric") == "port_packets") & (pl.col("time_ns") >= long_flows.WARM_UP_MS * 1e6)
    samples: list[float] = series.filter(kept)["value"].sort().to_list()
    mean = math.fsum(samples) / len(samples)

    def rank(p: float) -> float:
        return samples[math.ceil(p * len(samples)) - 1]

    return {
        "mean": mean,
        "std": math.sqrt(math.fsum((sample - mean) ** 2 for sample in samples) / len(samples)),
        "min": samples[0],
        "p1": rank(0.01),
        "p50": rank(0.5),
        "p99": rank(0.99),
        "max": samples[-1],
    }


def _row(name: str, values: dict[str, float]) -> list[str]:
    return [name, *(f"{values[s]:.1f}" if s in values else "–" for s in STATISTICS)]


def check(report: Report, folder: Path, ns3: Ns3 | None) -> None:
    """The same dumbbell, start spacing, time and sampling on either side."""
    report.section(f"DCTCP's queue at K = {long_flows.MARK_ABOVE}, {long_flows.GBPS} Gbps, in packets")
    rows = []
    for senders in SENDERS:
        theory, measured = sawtooth(senders), _tailrace(senders, folder)
        rows += [_row(f"{senders} flows: Tailrace", measured), _row("  sawtooth analysis", theory)]
        for name, tolerance in THEORY_TOLERANCE.items():
            report.check(
                abs(measured[name] - theory[name]) <= tolerance,
                f"{senders} flows: {name} {measured[name]:.1f}, in theory {theory[name]:.1f}",
            )
        if ns3 is None:
            continue
        running(f"ns-3, {senders} long flows")
        other = ns3.queue(senders, long_flows.SPACING_US, long_flows.WARM_UP_MS, MEASURED_MS, SAMPLE_US)
        rows.append(_row("  ns-3", other))
        differences = {s: percent(measured[s], other[s]) for s in STATISTICS if s in other}
        rows.append(
            ["  Tailrace over ns-3", *(f"{differences[s]:+.1f} %" if s in other else "–" for s in STATISTICS)]
        )
        for name, tolerance in NS3_TOLERANCE.items():
            report.check(
                abs(differences[name]) <= tolerance,
                f"{senders} flows: {name} {measured[name]:.1f}, in ns-3 {other[name]:.1f}",
            )
    report.table(["", *STATISTICS], rows)
    report.text("Tolerance: to the analysis 2 packets (p1: 4), to ns-3 10 % of mean, std, p50 and p99.")
