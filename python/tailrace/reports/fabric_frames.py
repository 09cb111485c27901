"""What the lines of a fabric's map show over a run: its samples, put together into frames."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import polars as pl

from tailrace.files import frame, load, text
from tailrace.reports.fabric_layout import Line

# Frames of a map, and numbers of all its frames together; but no fewer frames than the last.
_MOST, _NUMBERS, _LEAST = 60, 30_000, 20
# A share of a link's rate is in half percents, so that it fits a byte. This one says that none is known.
UNKNOWN = 255
_METRICS = ["port_bytes", "utilisation", "marked_packets", "dropped_packets"]


@dataclass(frozen=True)
class Clock:
    """The time of frames: how long each is, and how many there are."""

    every_ns: float
    count: int

    def number(self, time_ns: pl.Expr) -> pl.Expr:
        """The frame of a sample. It is of the time before it."""
        return (((time_ns - 1) / self.every_ns).floor()).clip(0, self.count - 1).cast(pl.Int64)

    @staticmethod
    def over(end_ns: float, sample_ns: float, lines: int) -> Clock:
        """Frames of equally many samples each, over a time."""
        samples = max(1, int(end_ns // sample_ns))
        each = ceil(samples / most_frames(lines))
        return Clock(each * sample_ns, ceil(samples / each))


def most_frames(lines: int) -> int:
    """How many frames there may be of so many lines."""
    return max(_LEAST, min(_MOST, _NUMBERS // max(1, lines)))


@dataclass(frozen=True)
class Frames:
    """Of each line, by frame: share of its rate in half percents, longest queue in bytes, marks, drops."""

    utilisation: list[list[int]]
    queue: list[list[float]]
    marked: dict[int, dict[int, int]]
    dropped: dict[int, dict[int, int]]
    totals: bool
    """Whether it is the whole run in one frame, of which no queue is known."""

    @property
    def longest(self) -> float:
        """The longest queue."""
        return max((value for row in self.queue for value in row), default=0.0)

    def known(self) -> list[list[int]]:
        """Shares, 0 where there was no sample."""
        return [[0 if value == UNKNOWN else value for value in row] for row in self.utilisation]

    def plain(self, longest: float) -> dict[str, Any]:
        """As JSON has it: shares and queues, these in 255ths of the longest, are bytes, line by line."""
        queue = bytes(round(255 * value / longest) for row in self.queue for value in row) if longest else b""
        used = bytes(value for row in self.utilisation for value in row)
        return {
            "used": base64.b64encode(used).decode(),
            "queue": base64.b64encode(queue).decode(),
            "marked": _listed(self.marked),
            "dropped": _listed(self.dropped),
            "totals": self.totals,
        }


def _listed(counts: dict[int, dict[int, int]]) -> list[list[int]]:
    """A line, and then each frame in which there was something, with how much."""
    return [
        [line, *(n for pair in sorted(own.items()) for n in pair)] for line, own in sorted(counts.items())
    ]


def end_ns(run: Path) -> float:
    """When a run was over."""
    return 1e9 * float(json.loads(load(run / "summary.json", "run", text))["virtual_seconds"])


def samples(run: Path, ports: list[str]) -> pl.DataFrame:
    """What was sampled of ports that have these names: `port`, `time_ns`, `metric`, `value`."""
    columns = ["time_ns", "place", "metric", "value"]
    rows = load(run / "series.parquet", "run", lambda file: frame(file, columns))
    known = pl.DataFrame(
        {"place": ports, "port": range(len(ports))}, schema={"place": pl.String, "port": pl.Int64}
    )
    rows = rows.filter(pl.col("metric").is_in(_METRICS) & pl.col("value").is_finite())
    return rows.join(known, on="place", maintain_order="left").drop("place")


def framed(rows: pl.DataFrame, lines: list[Line], clock: Clock) -> Frames:
    """The samples of a run as frames."""
    rows = rows.with_columns(frame=clock.number(pl.col("time_ns")))
    rows = rows.join(_lines(lines), on="port", maintain_order="left")
    frames = Frames(
        [[UNKNOWN] * clock.count for _ in lines],
        [[0.0] * clock.count for _ in lines],
        _counts(_by_frame(rows, "marked_packets", pl.Expr.sum, pl.Expr.sum)),
        _counts(_by_frame(rows, "dropped_packets", pl.Expr.sum, pl.Expr.sum)),
        totals=False,
    )
    for line, at, value in _by_frame(rows, "utilisation", pl.Expr.mean, pl.Expr.max):
        frames.utilisation[line][at] = _half_percents(value)
    for line, at, value in _by_frame(rows, "port_bytes", pl.Expr.max, pl.Expr.max):
        frames.queue[line][at] = value
    return frames


_Put = Callable[[pl.Expr], pl.Expr]


def _by_frame(
    rows: pl.DataFrame, metric: str, samples: _Put, ports: _Put
) -> Iterator[tuple[int, int, float]]:
    """Line, frame and value of a metric: samples of a frame put together, then ports drawn as one."""
    own = rows.filter(pl.col("metric") == metric).select("line", "frame", "port", "value")
    for key, put in (["line", "frame", "port"], samples), (["line", "frame"], ports):
        own = own.group_by(key, maintain_order=True).agg(put(pl.col("value")))
    return own.iter_rows()


def whole(run: Path, lines: list[Line]) -> Frames:
    """A run in one frame: the totals of its ports."""
    ports = load(run / "ports.parquet", "run", frame).with_row_index("row").cast({"row": pl.Int64})
    own = ports.join(_lines(lines), left_on="row", right_on="port", maintain_order="left").group_by("line")
    made = own.agg(pl.max("utilisation"), pl.sum("marked_packets"), pl.sum("dropped_packets"))
    used = [[UNKNOWN] for _ in lines]
    for line, value in made.select("line", "utilisation").iter_rows():
        used[line] = [_half_percents(value)]
    at = pl.lit(0)
    marked = _counts(made.select("line", at, "marked_packets").iter_rows())
    dropped = _counts(made.select("line", at, "dropped_packets").iter_rows())
    return Frames(used, [[0.0] for _ in lines], marked, dropped, totals=True)


def _lines(lines: list[Line]) -> pl.DataFrame:
    pairs = [(port, number) for number, line in enumerate(lines) for port in line.ports]
    return pl.DataFrame(pairs, schema={"port": pl.Int64, "line": pl.Int64}, orient="row")


def _half_percents(share: float) -> int:
    return min(UNKNOWN - 1, round(200 * share))


def _counts(rows: Iterable[tuple[int, int, float]]) -> dict[int, dict[int, int]]:
    """Counts that are not 0, by line and frame."""
    found: dict[int, dict[int, int]] = defaultdict(dict)
    for line, at, count in rows:
        if count:
            found[line][at] = int(count)
    return found
