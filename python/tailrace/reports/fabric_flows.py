"""Which flows passed the lines of a fabric's map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from tailrace import _tailrace
from tailrace.files import frame, load
from tailrace.reports.charts import short
from tailrace.reports.fabric_frames import Clock, Frames
from tailrace.reports.fabric_layout import Layout
from tailrace.reports.fabric_order import Wiring

# Flows of a line that are listed: half of them the largest, the others the largest at its longest queue.
_LISTED = 20
# Of all lines together, but no fewer of each than the last.
_NUMBERS, _LEAST = 4_000, 6
# Flows whose ways are looked up: the largest.
_MOST = 100_000
_SAME = ["flow", "src", "dst", "size_bytes", "start_ns"]
_COLUMNS = [*_SAME, "fct_ns", "slowdown"]


def read(run: Path) -> pl.DataFrame:
    """The flows of a run whose ways are looked up, and how long they took."""
    flows = load(run / "flows.parquet", "run", lambda file: frame(file, _COLUMNS))
    return flows.sort("size_bytes", "flow", descending=[True, False]).head(_MOST)


def same(flows: pl.DataFrame, others: pl.DataFrame) -> bool:
    """Whether two runs had the same flows."""
    return flows.select(_SAME).equals(others.select(_SAME))


class Passing:
    """The flows of runs that had the same ones on the same fabric, by the lines that they passed."""

    def __init__(self, scenario: str, wiring: Wiring, layout: Layout, flows: pl.DataFrame) -> None:
        self.flows = flows.with_row_index("row").cast({"row": pl.Int64})
        self.wiring, self.lines = wiring, len(layout.lines)
        ways = _tailrace.ways(scenario, list(flows.select("src", "dst", "flow").iter_rows()))
        # Packets of some flows may have a choice, but for the first link and the last.
        self.choice = not all(ways)
        line_of = {port: number for number, line in enumerate(layout.lines) for port in line.ports}
        first = {a: port for port, (a, _) in enumerate(wiring.ports) if wiring.is_host(a)}
        last = {b: port for port, (_, b) in enumerate(wiring.ports) if wiring.is_host(b)}
        ends = flows.select("src", "dst").iter_rows()
        rows = [
            (line_of[port], row)
            for row, (way, (src, dst)) in enumerate(zip(ways, ends, strict=True))
            for port in way or (first[src], last[dst])
            if port in line_of
        ]
        schema = {"line": pl.Int64, "row": pl.Int64}
        # Rows of a line are from the largest flow on.
        self.passed = pl.DataFrame(rows, schema=schema, orient="row").unique(maintain_order=True)

    def plain(self, runs: list[tuple[pl.DataFrame, Frames]], clock: Clock | None) -> dict[str, Any]:
        """As JSON has it: flows, and for each line how many passed it and which are listed."""
        most = max(_LEAST, min(_LISTED, _NUMBERS // max(1, self.lines)))
        by_line = self.passed.group_by("line", maintain_order=True)
        chosen = [by_line.head(most // 2)]
        if clock:
            chosen += [self._at_peak(own, frames, clock) for own, frames in runs if not frames.totals]
        chosen.append(by_line.head(most))
        listed = (
            pl.concat([part.select("line", "row") for part in chosen])
            .unique(maintain_order=True)
            .group_by("line", maintain_order=True)
            .head(most)
        )
        kept = listed["row"].unique().sort()
        place = {row: number for number, row in enumerate(kept)}
        through: list[list[int]] = [[] for _ in range(self.lines)]
        for line, row in listed.sort("line", "row").iter_rows():
            through[line].append(place[row])
        counts = dict(by_line.len().iter_rows())
        flows = self.flows[kept]
        return {
            "hosts": self.wiring.names[: self.wiring.hosts],
            "flow": flows["flow"].to_list(),
            "src": flows["src"].to_list(),
            "dst": flows["dst"].to_list(),
            "size": flows["size_bytes"].to_list(),
            "start": [round(value, 1) for value in flows["start_ns"] / 1e3],
            "through": through,
            "count": [counts.get(line, 0) for line in range(self.lines)],
            "choice": self.choice,
            "largest": _MOST if self.flows.height == _MOST else 0,
            "runs": [_times(own[kept]) for own, _ in runs],
        }

    def _at_peak(self, own: pl.DataFrame, frames: Frames, clock: Clock) -> pl.DataFrame:
        """The largest flows that were in progress when a line's queue was longest."""
        peaks = [(line, row.index(max(row))) for line, row in enumerate(frames.queue) if any(row)]
        times = pl.DataFrame(peaks, schema={"line": pl.Int64, "frame": pl.Int64}, orient="row")
        begin = pl.col("frame") * clock.every_ns
        spans = own.select(start=pl.col("start_ns"), end=pl.col("start_ns") + pl.col("fct_ns"))
        going = self.passed.join(times, on="line", maintain_order="left").join(
            spans.with_row_index("row").cast({"row": pl.Int64}), on="row", maintain_order="left"
        )
        going = going.filter(
            (pl.col("start") <= begin + clock.every_ns) & (pl.col("end").is_null() | (pl.col("end") >= begin))
        )
        return going.group_by("line", maintain_order=True).head(_LISTED)


def _times(flows: pl.DataFrame) -> dict[str, list[float | None]]:
    """How long flows took, in microseconds and in times of what each takes alone."""
    return {
        "fct": [None if value is None else short([value / 1e3])[0] for value in flows["fct_ns"]],
        "slowdown": [None if value is None else float(f"{value:.3g}") for value in flows["slowdown"]],
    }
