"""Completion times of flows that have the fabric to themselves, against store and forward."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import tailrace
from report import Report, running

MSS, HEADER = 1460, 40  # bytes
SIZES = (1, 1459, 1460, 1461, 14_600, 100_000, 1_000_001, 10_000_000, 100_000_000)  # bytes
APART_NS = 1_000_000_000  # between two starts; the longest flow takes 330 ms
BALANCING = ("ecmp", "spray", "flowlet")

# A link of a path: what names it, its rate in bit/s, its delay in ps.
Link = tuple[Hashable, int, int]


@dataclass(frozen=True)
class Case:
    """A fabric, and the links that the n-th packet of a flow from the first host to the last takes."""

    name: str
    fabric: dict[str, Any]
    path: Callable[[int], list[Link]]


def completion(size: int, path: Callable[[int], list[Link]]) -> int:
    """Time in ps at which the last byte is there, if all packets wait at the sender from time 0.

    Store and forward: a packet starts on a link when it has wholly arrived and the link is free, in order of
    arrival.
    """
    count = -(-size // MSS)
    lengths = [MSS + HEADER] * (count - 1) + [size - (count - 1) * MSS + HEADER]
    paths = [path(index) for index in range(count)]
    packets = [(0, index) for index in range(count)]  # when each arrived where it is, its number
    for hop in range(len(paths[0])):
        free: dict[Hashable, int] = {}
        arrived = []
        for at, index in packets:
            link, rate, delay = paths[index][hop]
            free[link] = max(at, free.get(link, 0)) + lengths[index] * 8 * 10**12 // rate
            arrived.append((free[link] + delay, index))
        packets = sorted(arrived)
    return packets[-1][0]


def _gbps(rate: float) -> int:
    return round(rate * 1e9)


def _fixed(*links: Link) -> Callable[[int], list[Link]]:
    return lambda index: list(links)


def _star() -> Case:
    fabric = {"kind": "star", "hosts": 4, "host_rate": "10Gbps", "delay": "3us"}
    link = (_gbps(10), 3_000_000)
    return Case("star, 10 Gbps", fabric, _fixed(("up", *link), ("down", *link)))


def _dumbbell() -> Case:
    fabric = {
        "kind": "dumbbell",
        "left": 2,
        "right": 2,
        "host_rate": "25Gbps",
        "bottleneck_rate": "2.5Gbps",
        "host_delay": "5us",
        "bottleneck_delay": "20us",
    }
    host = (_gbps(25), 5_000_000)
    path = _fixed(("up", *host), ("middle", _gbps(2.5), 20_000_000), ("down", *host))
    return Case("dumbbell, 25 Gbps over 2.5", fabric, path)


def _parking_lot() -> Case:
    fabric = {
        "kind": "parking-lot",
        "switches": 4,
        "hosts_per_switch": 2,
        "host_rate": "10Gbps",
        "row_rate": "4Gbps",
        "host_delay": "5us",
        "row_delay": "2us",
    }
    host, row = (_gbps(10), 5_000_000), (_gbps(4), 2_000_000)
    path = _fixed(("up", *host), ("first", *row), ("second", *row), ("third", *row), ("down", *host))
    return Case("row of four, 10 Gbps over 4", fabric, path)


def _leaf_spine(spine_gbps: float, balancing: str) -> Case:
    spines = 4
    fabric = {
        "kind": "leaf-spine",
        "leaves": 3,
        "spines": spines,
        "hosts_per_leaf": 4,
        "host_rate": "10Gbps",
        "spine_rate": f"{spine_gbps}Gbps",
        "host_delay": "20.2us",
        "spine_delay": "0.2us",
    }
    host, core = (_gbps(10), 20_200_000), (_gbps(spine_gbps), 200_000)

    def path(index: int) -> list[Link]:
        spine = index % spines if balancing == "spray" else 0
        return [("up", *host), (("leaf", spine), *core), (("spine", spine), *core), ("down", *host)]

    return Case(f"leaf-spine, 10 Gbps under {spine_gbps:g}", fabric, path)


def _tree(edge_gbps: float, core_gbps: float, balancing: str) -> Case:
    aggs, cores_per_agg = 2, 2
    fabric = {
        "kind": "tree",
        "pods": 2,
        "edges_per_pod": 2,
        "hosts_per_edge": 2,
        "aggs_per_pod": aggs,
        "cores": aggs * cores_per_agg,
        "host_rate": "10Gbps",
        "edge_rate": f"{edge_gbps}Gbps",
        "core_rate": f"{core_gbps}Gbps",
        "host_delay": "10us",
        "edge_delay": "1us",
        "core_delay": "2us",
    }
    host, edge, core = (_gbps(10), 10_000_000), (_gbps(edge_gbps), 1_000_000), (_gbps(core_gbps), 2_000_000)

    def path(index: int) -> list[Link]:
        # Every switch takes turns by itself: the aggregation switches see every second packet.
        agg = index % aggs if balancing == "spray" else 0
        up = index // aggs % cores_per_agg if balancing == "spray" else 0
        return [
            ("up", *host),
            (("edge", agg), *edge),
            (("agg up", agg, up), *core),
            (("agg down", agg, up), *core),
            (("edge down", agg), *edge),
            ("down", *host),
        ]

    return Case(f"tree, 10 Gbps under {edge_gbps:g} and {core_gbps:g}", fabric, path)


def _cases(balancing: str) -> list[Case]:
    return [
        _star(),
        _dumbbell(),
        _parking_lot(),
        _leaf_spine(40, balancing),
        _leaf_spine(2.5, balancing),
        _tree(40, 100, balancing),
        _tree(5, 2.5, balancing),
    ]


def _measured(case: Case, balancing: str, flows: Path) -> list[int]:
    """Completion times in ps."""
    scenario = tailrace.Scenario(
        fabric=case.fabric | {"load_balancing": balancing, "buffer": "1GB"},
        transport={"min_rto": "10s", "max_window": 1_000_000, "loss_detection": "timeout-only"},
        workload={"flow_list": str(flows)},
        scheme={"name": "fifo", "params": {"window": 1_000_000}},
    )
    times = scenario.run().flows.to_polars().sort("start_ns")["fct_ns"]
    return [round(time * 1000) for time in times]


def check(report: Report, folder: Path) -> None:
    """Every fabric kind and every load balancing, all sizes. Tolerance: 0 ps."""
    report.section("A lone flow's completion time against store and forward (tolerance: 0 ps)")
    running("lone flows")
    rows = []
    for case_of in zip(*(_cases(balancing) for balancing in BALANCING), strict=True):
        for balancing, case in zip(BALANCING, case_of, strict=True):
            flows = folder / "lone.csv"
            hosts = _hosts(case.fabric)
            starts = [APART_NS * i for i in range(len(SIZES))]
            frame = pl.DataFrame({"size_bytes": SIZES, "start_ns": starts})
            frame.with_columns(src=pl.lit(0), dst=pl.lit(hosts - 1)).write_csv(flows)
            theory = [completion(size, case.path) for size in SIZES]
            measured = _measured(case, balancing, flows)
            differences = [a - b for a, b in zip(measured, theory, strict=True)]
            worst = max(differences, key=abs)
            rows.append([case.name, balancing, str(len(SIZES)), f"{measured[-1] / 1e6:.4f}", str(worst)])
            report.check(worst == 0, f"{case.name}, {balancing}: {worst} ps")
    report.table(["fabric", "balancing", "sizes", "100 MB, µs", "largest difference, ps"], rows)


def _hosts(fabric: dict[str, Any]) -> int:
    """Number of hosts of a fabric."""
    match fabric["kind"]:
        case "star":
            return int(fabric["hosts"])
        case "dumbbell":
            return int(fabric["left"] + fabric["right"])
        case "parking-lot":
            return int(fabric["switches"] * fabric["hosts_per_switch"])
        case "leaf-spine":
            return int(fabric["leaves"] * fabric["hosts_per_leaf"])
        case _:
            return int(fabric["pods"] * fabric["edges_per_pod"] * fabric["hosts_per_edge"])
