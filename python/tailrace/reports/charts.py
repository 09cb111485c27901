"""What charts of a report are made of. A chart has views, one for each combination of its choices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Curve:
    """A curve, drawn with the pen of the scheme's number."""

    label: str
    pen: int
    x: list[float]
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None
    ranked: tuple[int, int] | None = None
    """Of a distribution: the number of values, with the grid's ranks, and of things that may have one."""

    def plain(self) -> dict[str, Any]:
        """As JSON has it. Shares follow from ranks, which many curves have in common."""
        fields = {"label": self.label, "pen": self.pen, "x": self.x}
        if self.ranked is not None:
            return {**fields, "count": self.ranked[0], "of": self.ranked[1]}
        band = {} if self.low is None else {"low": self.low, "high": self.high}
        return {**fields, "y": self.y, **band}


@dataclass(frozen=True)
class View:
    """What a chart shows for one combination of choices."""

    x_label: str
    y_label: str
    curves: list[Curve]


@dataclass(frozen=True)
class Chart:
    """A chart with its choices by name, each with its options; views are in the order of their product."""

    name: str
    title: str
    text: str
    choices: dict[str, list[str]]
    views: list[View]
    log: Sequence[str] = ()
    tail: bool = False
    """Whether y is a share of flows, so that what is above may be shown as well: 1 - y, logarithmic."""

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        views = [
            {"x": view.x_label, "y": view.y_label, "curves": [curve.plain() for curve in view.curves]}
            for view in self.views
        ]
        return {
            "name": self.name,
            "choices": list(self.choices.values()),
            "views": views,
            "log": list(self.log),
            "tail": self.tail,
        }


@dataclass
class Grids:
    """The ranks of which curves keep the values: as few as fit, all of them where there is room."""

    most: int
    known: dict[int, list[int]] = field(default_factory=dict)

    def ranks(self, count: int) -> list[int]:
        """Ranks, from 1, among so many: half of them evenly spread, half ever closer to the last."""
        if count not in self.known:
            self.known[count] = ranks(count, self.most)
        return self.known[count]


def ranks(count: int, most: int) -> list[int]:
    """At most so many ranks, from 1, of `count`: the first, the last, and more of those near the last."""
    if count <= most:
        return list(range(1, count + 1))
    evenly = most // 2
    chosen = {1 + round(step * (count - 1) / (evenly - 1)) for step in range(evenly)}
    # From the end: the last, the last but one, and then in steps that grow by the same factor.
    steps = most - evenly
    factor = count ** (1 / steps)
    chosen.update(max(1, count + 1 - round(factor**step)) for step in range(steps))
    return sorted(chosen)


def distribution(label: str, pen: int, values: Any, of: int, grids: Grids) -> Curve:
    """Values in rising order, of `of` things that have one or, unfinished, none."""
    kept = grids.ranks(len(values)) if len(values) else []
    x = short(values[rank - 1] for rank in kept)
    return Curve(label, pen, x, [rank / of for rank in kept], ranked=(len(values), of))


def short(values: Iterable[float]) -> list[float]:
    """Numbers with four significant digits: no screen shows more."""
    return [float(f"{value:.4g}") for value in values]
