"""Processor sharing: what long DCTCP flows get of a bottleneck, against equal shares."""

from pathlib import Path

import long_flows
from report import Report, running

# Flows, seconds, largest deviation from a fair share. Where many small windows meet, chance decides which
# flow hears of marks first and cuts twice; one second does not average that out, neither here nor in ns-3.
CASES = ((2, 1, 0.02), (3, 1, 0.02), (4, 1, 0.08), (8, 1, 0.08), (4, 10, 0.02), (8, 10, 0.02))
LEAST_UTILISATION = 0.999


def _sent(senders: int, end_ms: int, folder: Path) -> list[int]:
    """Bytes that each receiver's link, and then the bottleneck, has carried until `end_ms`."""
    ports = long_flows.scenario(senders, end_ms, folder).run().ports.to_polars()
    sent = dict(zip(ports["name"], ports["sent_bytes"], strict=True))
    names = [f"right->host{host}" for host in range(senders, 2 * senders)]
    return [sent[name] for name in [*names, long_flows.BOTTLENECK]]


def check(report: Report, folder: Path) -> None:
    """The largest deviation from the fair share after the warm-up, and the utilisation of the link."""
    report.section("Long DCTCP flows against equal shares of the bottleneck")
    running("long flows")
    rows = []
    before = {senders: _sent(senders, long_flows.WARM_UP_MS, folder) for senders, _, _ in CASES}
    for senders, seconds, tolerance in CASES:
        after = _sent(senders, long_flows.WARM_UP_MS + 1000 * seconds, folder)
        *shares, carried = (b - a for a, b in zip(before[senders], after, strict=True))
        capacity = seconds * long_flows.GBPS * 1e9 / 8
        worst = max((share * senders / capacity - 1 for share in shares), key=abs)
        utilisation = carried / capacity
        rows.append(
            [
                str(senders),
                str(seconds),
                f"{100 * worst:+.2f} %",
                f"{100 * tolerance:g} %",
                f"{utilisation:.4f}",
            ]
        )
        what = f"{senders} flows, {seconds} s"
        report.check(abs(worst) <= tolerance, f"{what}: a share is off by {100 * worst:+.2f} %")
        report.check(utilisation >= LEAST_UTILISATION, f"{what}: utilisation {utilisation:.4f}")
    report.table(["flows", "seconds", "farthest share", "tolerance", "utilisation"], rows)
