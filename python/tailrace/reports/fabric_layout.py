"""Where nodes and links are in the map of a fabric: hosts below, switches above by tiers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from math import hypot

from tailrace.reports.fabric_order import Wiring, neighbours, ordered, tiers

# What a map can still show apart. Beyond it hosts of a rack are bundled, left out, or there is no map.
_MOST_SLOTS, _BUNDLES, _MOST_SWITCHES, _MOST_TRUNKS = 160, 30, 300, 1500
# Units of the drawing. A unit is about a pixel where there is room for the whole map.
MARGIN, _BAR, _HOST, _LABELS = 12.0, 18.0, 9.0, 20.0
_LINK, _APART, _GAP, _ROW_LINK = 7.0, 1.9, 9.0, 80.0


@dataclass
class Box:
    """A node, or hosts that are drawn as one, around a place."""

    nodes: list[int]
    tier: int
    width: float
    x: float = 0.0
    y: float = 0.0

    @property
    def height(self) -> float:
        """Hosts are smaller."""
        return _BAR if self.tier else _HOST


@dataclass(frozen=True)
class Line:
    """One direction of a link, or of links to hosts drawn as one: its ports, its ends, where it bends to."""

    name: str
    ports: list[int]
    start: tuple[float, float]
    end: tuple[float, float]
    bend: tuple[float, float] | None
    inner: bool
    """Whether it is between switches."""

    def along(self, distance: float) -> tuple[float, float]:
        """The place so far from the start."""
        (x, y), (to_x, to_y) = self.start, self.bend or self.end
        share = distance / max(1.0, hypot(to_x - x, to_y - y))
        return x + share * (to_x - x), y + share * (to_y - y)


@dataclass(frozen=True)
class Layout:
    """A map without its numbers."""

    width: float
    height: float
    boxes: list[Box]
    lines: list[Line]
    racks: list[list[Box]]
    slot: float
    """What a host has of the width."""
    note: str
    """What of the fabric is drawn together, or not at all."""

    @property
    def dot(self) -> float:
        """The radius of the largest sign."""
        return min(9.0, max(5.0, 0.5 * self.slot))


def lay_out(wiring: Wiring, ports: list[str]) -> Layout | str:
    """The map of a fabric whose ports have these names, or why there is none."""
    switches = len(wiring.names) - wiring.hosts
    trunks = sum(not (wiring.is_host(a) or wiring.is_host(b)) for a, b in wiring.ports)
    if switches > _MOST_SWITCHES or trunks > _MOST_TRUNKS:
        return (
            f"The fabric has {switches:,} switches with {trunks // 2:,} links between them, too many to "
            "be told apart in a map. There is one up to "
            f"{_MOST_SWITCHES} switches and {_MOST_TRUNKS // 2} links."
        )
    return _Plan(wiring).layout(ports)


class _Plan:
    """A layout in the making."""

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.near = neighbours(wiring)
        tier = tiers(wiring)
        known = range(wiring.hosts, len(tier))
        rows = [[node for node in known if tier[node] == at] for at in range(1, max(tier) + 1)]
        self.rows = ordered([row for row in rows if row], self.near)
        self.box = {node: Box([node], at, 0.0) for at, row in enumerate(self.rows, start=1) for node in row}
        self.place = {node: at for row in self.rows for at, node in enumerate(row)}
        self.note = ""
        self.hosts = {node: self._hosts_of(node) for node in self.rows[0]}
        if sum(map(len, self.hosts.values())) > _MOST_SLOTS:
            self.note = (
                f"Switches only: the {wiring.hosts:,} hosts below them, with their links, are left out."
            )
            self.hosts = {node: [] for node in self.rows[0]}

    def _hosts_of(self, switch: int) -> list[Box]:
        own = [node for node in self.near[switch] if self.wiring.is_host(node)]
        parts = len(own)
        if self.wiring.hosts > _MOST_SLOTS:
            parts = min(parts, max(1, _BUNDLES // len(self.rows[0])))
            self.note = (
                "Hosts of a rack are drawn together: of their links the busiest, the longest queue, "
                "and all marks and drops."
            )
        cuts = [number * len(own) // parts for number in range(parts + 1)] if parts else [0]
        return [Box(own[a:b], 0, 0.0) for a, b in pairwise(cuts)]

    def layout(self, ports: list[str]) -> Layout:
        self._widths()
        width = self._across()
        height = self._upwards(width)
        hosts = [box for node in self.rows[0] for box in self.hosts[node]]
        boxes = [*self.box.values(), *hosts]
        racks = [self.hosts[node] for node in self.rows[0] if self.hosts[node]]
        return Layout(width, height, boxes, self._lines(boxes, ports), racks, self.slot, self.note)

    def _beside(self, a: int, b: int) -> bool:
        """Whether two switches of a tier are next to one another."""
        return self.box[a].tier == self.box[b].tier and abs(self.place[a] - self.place[b]) == 1

    def _widths(self) -> None:
        slots = sum(map(len, self.hosts.values()))
        self.roomy: dict[int, float] = {}
        self.slot = min(44.0, max(8.0, 1100 / max(1, slots)))
        for node, box in self.box.items():
            others = [self.box[b] for b in self.near[node] if b in self.box]
            above = sum(b.tier >= box.tier for b in others)
            below = sum(b.tier < box.tier for b in others)
            # Where lines begin there are signs, which need more room than lines.
            self.roomy[node] = 24.0 * below
            label = 7.0 * min(8, len(self.wiring.names[node]))
            own = self.slot * len(self.hosts.get(node, []))
            box.width = max(own, _LINK * above + 8, _LINK * below + 8, 30.0 if own else label)

    def _across(self) -> float:
        """Gives all boxes their place from left to right, and returns the map's width."""
        spans = []
        for number, row in enumerate(self.rows):
            at = 0.0
            gaps = [0.0, *(self._gap(before, node, number) for before, node in pairwise(row))]
            for node, gap in zip(row, gaps, strict=True):
                self.box[node].x = at + gap + self.box[node].width / 2
                at += gap + self.box[node].width
            spans.append(at)
        width = max(240.0, *spans) + 2 * MARGIN
        for row, span in zip(self.rows, spans, strict=True):
            # What is left of the width is between the boxes, too.
            spare = (width - 2 * MARGIN - span) / len(row)
            for at, node in enumerate(row):
                box = self.box[node]
                box.x += MARGIN + spare * (at + 0.5)
                if box.tier > 1:
                    box.width += max(0.0, min(0.6 * spare, self.roomy[node] - box.width))
        for node, boxes in self.hosts.items():
            for at, box in enumerate(boxes):
                box.x = self.box[node].x + self.slot * (at + 0.5 - len(boxes) / 2)
                box.width = min(14.0, self.slot - 2) if len(box.nodes) == 1 else self.slot - 3
        return width

    def _gap(self, before: int, node: int, number: int) -> float:
        """Between two switches that are next to one another in a row."""
        if node in self.near[before]:
            return _ROW_LINK
        # Those of a pod have the same neighbours in the next tier, and stay apart from others.
        next_tier = number + (-1 if number else 1) + 1
        one, other = (
            {b for b in self.near[a] if b in self.box and self.box[b].tier == next_tier}
            for a in (before, node)
        )
        return _GAP if one == other else 2 * _GAP

    def _upwards(self, width: float) -> float:
        """Gives all boxes their height, from the top, and returns the map's."""
        y = MARGIN
        step = min(170.0, max(90.0, 0.13 * width))
        for number, row in reversed(list(enumerate(self.rows))):
            spans = [
                abs(self.box[a].x - self.box[b].x)
                for a in row
                for b in self.near[a]
                if b in self.box and self.box[b].tier == self.box[a].tier and not self._beside(a, b)
            ]
            y += _arc(max(spans)) if spans else 0.0
            for node in row:
                self.box[node].y = y + _BAR / 2
            y += _BAR + (step if number else 0.0)
        if not any(self.hosts.values()):
            return y + MARGIN
        for boxes in self.hosts.values():
            for box in boxes:
                box.y = y + 76 + _HOST / 2
        return y + 76 + _HOST + _LABELS

    def _lines(self, boxes: list[Box], ports: list[str]) -> list[Line]:
        of_node = {node: number for number, box in enumerate(boxes) for node in box.nodes}
        # Links that are side by side between two switches are apart, those of hosts drawn as one are not.
        seen: dict[tuple[int, int], int] = defaultdict(int)
        links: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        for port, (a, b) in enumerate(self.wiring.ports):
            if a in of_node and b in of_node:
                pair = of_node[a], of_node[b]
                links[*pair, seen[pair]].append(port)
                seen[pair] += len(boxes[pair[0]].nodes) == len(boxes[pair[1]].nodes) == 1
        ends = _Ends(boxes, list(links), self.place)
        return [
            Line(
                self._name(own, boxes[a], boxes[b], ports),
                own,
                *ends.of(a, b, number),
                bool(boxes[a].tier and boxes[b].tier),
            )
            for (a, b, number), own in sorted(links.items(), key=lambda link: link[1])
        ]

    def _name(self, own: list[int], a: Box, b: Box, ports: list[str]) -> str:
        if len(own) == 1:
            return ports[own[0]]
        return f"{together(self.wiring, a)}->{together(self.wiring, b)}"


def together(wiring: Wiring, box: Box) -> str:
    """What a node is called, or hosts that are drawn as one."""
    first, last = wiring.names[box.nodes[0]], wiring.names[box.nodes[-1]]
    return first if len(box.nodes) == 1 else f"{first}…{last}"


def _arc(span: float) -> float:
    return min(140.0, 14 + 0.25 * span)


class _Ends:
    """Where lines meet boxes: those to other tiers at the top and bottom, in the order of where they go."""

    def __init__(self, boxes: list[Box], links: list[tuple[int, int, int]], place: dict[int, int]) -> None:
        self.boxes, self.place = boxes, place
        sides: dict[tuple[int, int], list[tuple[float, int, int]]] = defaultdict(list)
        for a, b, number in links:
            sides[a, self._side(a, b)].append((boxes[b].x, b, number))
        self.at = {
            (a, b, number): self._spread(a, side, rank, len(found))
            for (a, side), found in sides.items()
            for rank, (_, b, number) in enumerate(sorted(found))
        }

    def _side(self, a: int, b: int) -> int:
        """Above or below (1, -1), to the right or to the left (2, -2), or in an arc to the same tier (1)."""
        one, other = self.boxes[a], self.boxes[b]
        if one.tier != other.tier:
            return 1 if one.tier < other.tier else -1
        apart = self.place[other.nodes[0]] - self.place[one.nodes[0]]
        return 2 * apart if abs(apart) == 1 else 1

    def _spread(self, a: int, side: int, rank: int, count: int) -> tuple[float, float]:
        box = self.boxes[a]
        if abs(side) == 2:
            return box.x + box.width / 2 * (1 if side > 0 else -1), box.y + 6 * (rank - (count - 1) / 2)
        step = min(24.0, (box.width - 8) / count)
        return box.x + step * (rank - (count - 1) / 2), box.y - side * box.height / 2

    def of(
        self, a: int, b: int, number: int
    ) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float] | None]:
        """Start, end and bend of a line. The other direction is beside it, as on a road."""
        (x, y), (to_x, to_y) = self.at[a, b, number], self.at[b, a, number]
        one, other = self.boxes[a], self.boxes[b]
        # The links of hosts go straight up.
        x, to_x = (other.x if not other.tier else x), (one.x if not one.tier else to_x)
        length = max(1.0, hypot(to_x - x, to_y - y))
        right_x, right_y = -_APART * (to_y - y) / length, _APART * (to_x - x) / length
        start, end = (x + right_x, y + right_y), (to_x + right_x, to_y + right_y)
        if one.tier != other.tier or abs(self._side(a, b)) == 2:
            return start, end, None
        top = (y + to_y) / 2 - 2 * _arc(abs(one.x - other.x)) + 2 * right_y
        return start, end, ((x + to_x) / 2 + right_x, top)
