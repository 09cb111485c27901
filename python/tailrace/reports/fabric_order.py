"""The tiers of a fabric, and the order of switches within them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wiring:
    """The names of a fabric's nodes, hosts first, and where each port is from and to."""

    names: list[str]
    hosts: int
    ports: list[tuple[int, int]]

    def is_host(self, node: int) -> bool:
        """Whether the node is a host."""
        return node < self.hosts


def tiers(wiring: Wiring) -> list[int]:
    """The tier of each node: how many links it is from the nearest host."""
    found = [0] * wiring.hosts + [-1] * (len(wiring.names) - wiring.hosts)
    near = neighbours(wiring)
    edge = list(range(wiring.hosts))
    while edge:
        after = []
        for node in edge:
            for other in near[node]:
                if found[other] < 0:
                    found[other] = found[node] + 1
                    after.append(other)
        edge = after
    # What no host reaches stands above all.
    return [max(found) + 1 if tier < 0 else tier for tier in found]


def neighbours(wiring: Wiring) -> list[list[int]]:
    """The nodes to which each node has a port, again for each further one."""
    near: list[list[int]] = [[] for _ in wiring.names]
    for a, b in wiring.ports:
        near[a].append(b)
    return near


def ordered(rows: list[list[int]], near: list[list[int]]) -> list[list[int]]:
    """Switches of each tier so that links are short, and cross little; as they were where that is as good."""

    def places() -> dict[int, float]:
        return {node: (at + 0.5) / len(row) for row in rows for at, node in enumerate(row)}

    def length() -> float:
        at = places()
        return sum(abs(at[a] - at[b]) for a in at for b in near[a] if b in at)

    best, shortest = rows, length()
    for _ in range(24):
        at = places()
        # Each switch to where its neighbours are on average, itself included.
        wanted = {
            node: sum(at[b] for b in (node, *near[node]) if b in at) / (1 + sum(b in at for b in near[node]))
            for node in at
        }
        rows = [sorted(row, key=lambda node: (round(wanted[node], 9), at[node])) for row in rows]
        if (now := length()) < shortest - 1e-9:
            best, shortest = rows, now
    return best
