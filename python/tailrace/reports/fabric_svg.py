"""A fabric's map as a still picture: for print, and for readers without JavaScript."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from html import escape
from math import sqrt
from typing import Any

from tailrace.plots.style import shown
from tailrace.reports.fabric_frames import UNKNOWN, Frames
from tailrace.reports.fabric_layout import Box, Layout, Line, together
from tailrace.reports.fabric_order import Wiring

# Half percents up to which a line has the first colour, the second, and so on; the last is for what is above.
STEPS = [0, 40, 80, 120, 160, 190]
# A character's width.
_LETTER = 5.8


@dataclass(frozen=True)
class Scale:
    """What is largest in the maps that are set beside one another."""

    queue: float
    marked: int
    dropped: int


@dataclass(frozen=True)
class Watched:
    """The maps of a point: still pictures by time and scheme, and what moves them."""

    name: str
    title: str
    said: list[str]
    boxes: list[str]
    stills: list[tuple[str, list[tuple[str, str]]]]
    legend: list[tuple[str, str]]
    plain: dict[str, Any]
    """As JSON has it."""


def boxes(wiring: Wiring, layout: Layout, name: str) -> str:
    """Nodes with their names, to be used in every picture of the fabric."""
    parts = [part for box in layout.boxes for part in _box(wiring, box)]
    parts += _labels(wiring, layout)
    return f'<svg class="boxes" aria-hidden="true"><defs><g id="{name}">{"".join(parts)}</g></defs></svg>'


def _labels(wiring: Wiring, layout: Layout) -> list[str]:
    """The names of hosts, where all fit; else the first and the last of racks, or how many they are."""
    racks = [[node for box in rack for node in box.nodes] for rack in layout.racks]
    wide = [layout.slot * len(rack) + 8 for rack in layout.racks]
    single = [box for rack in layout.racks for box in rack]
    under_racks = [(rack[0].x + rack[-1].x) / 2 for rack in layout.racks]
    ends = [f"{wiring.names[rack[0]]} … {wiring.names[rack[-1]]}" for rack in racks]
    choices = [
        ([box.x for box in single], [together(wiring, box) for box in single], [layout.slot] * len(single)),
        (under_racks, ends, wide),
        (under_racks, [f"{len(rack)} hosts" for rack in racks], wide),
    ]
    for places, labels, room in choices:
        if all(_LETTER * len(label) <= width for label, width in zip(labels, room, strict=True)):
            y = layout.height - 8
            return [_text(x, y, label) for x, label in zip(places, labels, strict=True)]
    return []


def _box(wiring: Wiring, box: Box) -> list[str]:
    x, y = _short(box.x - box.width / 2), _short(box.y - box.height / 2)
    size = f'width="{_short(box.width)}" height="{_short(box.height)}"'
    name = together(wiring, box)
    title = f"<title>{_escaped(name)}</title>"
    made = [f'<rect class="{"switch" if box.tier else "host"}" x="{x}" y="{y}" {size}>{title}</rect>']
    if box.tier:
        room = max(1, int((box.width - 4) / _LETTER))
        made.append(_text(box.x, box.y + 3.5, name if len(name) <= room else f"{name[: room - 1]}…"))
    return made


def _text(x: float, y: float, of: str) -> str:
    return f'<text x="{_short(x)}" y="{_short(y)}" text-anchor="middle">{_escaped(of)}</text>'


def _escaped(of: str) -> str:
    return escape(shown(of))


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def draw(layout: Layout, name: str, frames: Frames, at: int, scale: Scale, title: str) -> str:
    """One frame over the boxes of that name. Lines of a colour are one path, so that a page stays small."""
    ways: dict[str, list[str]] = defaultdict(list)
    queues, marks, drops = [], [], []
    for number, line in enumerate(layout.lines):
        used = frames.utilisation[number]
        value = used[at] if at < len(used) else UNKNOWN
        ways[colour(value)].append(path(line))
        queue = frames.queue[number]
        if at < len(queue) and queue[at]:
            x, y = line.along(0.9 * layout.dot)
            radius = 1.5 + (layout.dot - 1.5) * sqrt(queue[at] / scale.queue)
            place = f'cx="{_short(x)}" cy="{_short(y)}" r="{_short(radius)}"'
            queues.append(f'<circle data-line="{number}" {place}/>')
        if count := frames.marked.get(number, {}).get(at, 0):
            marks.append(_triangle(line.along(2 * layout.dot + 3), _size(count, scale.marked)))
        if count := frames.dropped.get(number, {}).get(at, 0):
            drops.append(_cross(line.along(2 * layout.dot + 11), _size(count, scale.dropped)))
    lines = "".join(f'<path class="{used}" d="{"".join(own)}"/>' for used, own in sorted(ways.items()))
    signs = "".join(
        f'<path class="{kind}" d="{"".join(own)}"/>'
        for kind, own in (("mark", marks), ("drop", drops))
        if own
    )
    return (
        f'<svg viewBox="0 0 {_short(layout.width)} {_short(layout.height)}" style="{room(layout)}" '
        f'role="img" aria-label="{_escaped(title)}">{lines}<use href="#{name}"/>'
        f'<g class="queue">{"".join(queues)}</g>{signs}</svg>'
    )


def room(layout: Layout) -> str:
    """How wide a map is: no wider than it needs, nor so narrow that nobody could tell lines apart."""
    least = min(0.75 * layout.width, 860)
    return f"width:{1.3 * layout.width:.0f}px;max-width:100%;min-width:{least:.0f}px"


def colour(half_percents: int) -> str:
    """The class of a line that carries such a share of its rate."""
    if half_percents == UNKNOWN:
        return "unknown"
    return f"u{sum(half_percents > step for step in STEPS)}"


def path(line: Line) -> str:
    """The way of a line."""
    start, end = (f"{_short(x)} {_short(y)}" for x, y in (line.start, line.end))
    if line.bend is None:
        return f"M{start}L{end}"
    return f"M{start}Q{_short(line.bend[0])} {_short(line.bend[1])} {end}"


def _size(count: int, most: int) -> float:
    return 2 + 2.5 * sqrt(count / most)


def _triangle(place: tuple[float, float], size: float) -> str:
    x, y = place
    return f"M{_short(x)} {_short(y - size)}l{_short(size)} {_short(1.8 * size)}h{_short(-2 * size)}z"


def _cross(place: tuple[float, float], size: float) -> str:
    (x, y), wide = place, _short(2 * size)
    top, left = _short(y - size), _short(x - size)
    return f"M{left} {top}l{wide} {wide}m-{wide} 0l{wide} -{wide}"
