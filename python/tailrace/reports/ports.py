"""The busiest ports of a folder's runs."""

from __future__ import annotations

import polars as pl

from tailrace.files import frame, load
from tailrace.folder import ResultFolder
from tailrace.reports.flows import Point
from tailrace.reports.page import folded, table

_MOST = 5


def busiest(folder: ResultFolder, points: list[Point]) -> str:
    """The ports that sent most of their time, of one seed, point by point."""
    parts = []
    for at in points:
        rows = []
        for scheme in at.runs:
            ports = load(folder.path / "runs" / at.first(scheme) / "ports.parquet", "run", frame)
            top = ports.sort("utilisation", descending=True).head(_MOST)
            columns = ("name", "utilisation", "dropped_packets", "marked_packets", "sent_packets")
            for name, used, dropped, marked, sent in top.select(pl.col(columns)).iter_rows():
                rows.append([at.named(scheme, 1), name, f"{100 * used:.1f} %", dropped, marked, sent])
        header = ["scheme", "port", "of its rate", "dropped", "marked", "packets sent"]
        if not any(row[-1] for row in rows):
            # Flow level has no packets.
            header, rows = header[:3], [row[:3] for row in rows]
        made = table(header, rows, 2)
        parts.append(folded(at.name, made) if at.name else made)
    return "".join(parts)
