"""Where nodes and links are in the map of a fabric."""

import math
from itertools import combinations, pairwise
from typing import Any

import networkx as nx
import pytest

import tailrace
from tailrace import Scenario, _tailrace
from tailrace.reports.fabric_layout import Layout, lay_out
from tailrace.reports.fabric_order import Wiring, neighbours, ordered, tiers

RATES = {"host_rate": "10Gbps"}
TREE = {"kind": "tree", "hosts_per_edge": 2, **RATES, "edge_rate": "10Gbps", "core_rate": "10Gbps"}


def mesh() -> Any:
    """Twelve switches, each with four neighbours and a host, numbered at random."""
    graph = nx.random_regular_graph(4, 12, seed=1)
    nx.set_edge_attributes(graph, "40Gbps", "rate")
    for switch in list(graph):
        graph.nodes[switch]["type"] = "switch"
        graph.add_node(f"h{switch}", type="host")
        graph.add_edge(f"h{switch}", switch, rate="10Gbps")
    return tailrace.graph(graph)


# And how many links the nodes whose names begin so are away from a host.
FABRICS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "star": ({"kind": "star", "hosts": 9, **RATES}, {"host": 0, "switch": 1}),
    "dumbbell": (
        {"kind": "dumbbell", "left": 6, "right": 4, **RATES, "bottleneck_rate": "10Gbps"},
        {"host": 0, "left": 1, "right": 1},
    ),
    "parking-lot": (
        {"kind": "parking-lot", "switches": 5, "hosts_per_switch": 3, **RATES, "row_rate": "10Gbps"},
        {"host": 0, "row": 1},
    ),
    "leaf-spine": ({"preset": "spine144"}, {"host": 0, "leaf": 1, "spine": 2}),
    "tree": (
        {**TREE, "pods": 4, "edges_per_pod": 2, "aggs_per_pod": 2, "cores": 4},
        {"host": 0, "edge": 1, "agg": 2, "core": 3},
    ),
    "fat tree": ({"preset": "fattree64"}, {"host": 0, "edge": 1, "agg": 2, "core": 3}),
    "graph": (mesh(), {"h": 0}),
    "racks": (
        {
            "kind": "leaf-spine",
            "leaves": 6,
            "spines": 2,
            "hosts_per_leaf": 40,
            **RATES,
            "spine_rate": "40Gbps",
        },
        {"host": 0, "leaf": 1, "spine": 2},
    ),
}


def wiring(fabric: dict[str, Any]) -> Wiring:
    scenario = Scenario(
        fabric=fabric, workload={"sizes": "web-search", "load": 0.1, "flows": 2}, scheme={"name": "dctcp"}
    )
    return Wiring(*_tailrace.drawn(scenario.to_toml()))


def names(of: Wiring) -> list[str]:
    return [f"{of.names[a]}->{of.names[b]}" for a, b in of.ports]


def laid_out(fabric: dict[str, Any]) -> tuple[Wiring, Layout]:
    of = wiring(fabric)
    layout = lay_out(of, names(of))
    assert isinstance(layout, Layout)
    return of, layout


@pytest.mark.parametrize("name", FABRICS)
def test_switches_stand_as_high_as_they_are_far_from_hosts(name: str) -> None:
    fabric, expected = FABRICS[name]
    of, layout = laid_out(fabric)
    found = tiers(of)
    for node, tier in zip(of.names, found, strict=True):
        (known,) = [at for begin, at in expected.items() if node.startswith(begin)] or [1]
        assert tier == known, node
    heights = {tier: {box.y for box in layout.boxes if box.tier == tier} for tier in sorted(set(found))}
    assert all(len(row) == 1 for row in heights.values()), heights
    # The higher, the further up, where y is less.
    rows = [row.pop() for row in heights.values()]
    assert rows == sorted(rows, reverse=True)
    for box in layout.boxes:
        assert {found[node] for node in box.nodes} == {box.tier}


@pytest.mark.parametrize("name", FABRICS)
def test_no_two_nodes_are_at_one_place_and_all_are_within_the_map(name: str) -> None:
    of, layout = laid_out(FABRICS[name][0])
    assert sorted(node for box in layout.boxes for node in box.nodes) == list(range(len(of.names)))
    for a, b in combinations(layout.boxes, 2):
        apart = abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
        assert apart, (a, b)
    for box in layout.boxes:
        assert 0 <= box.x - box.width / 2 <= box.x + box.width / 2 <= layout.width, box
        assert 0 <= box.y - box.height / 2 <= box.y + box.height / 2 <= layout.height, box


@pytest.mark.parametrize("name", FABRICS)
def test_a_port_is_in_one_line_which_goes_from_its_node_to_the_other(name: str) -> None:
    of, layout = laid_out(FABRICS[name][0])
    assert sorted(port for line in layout.lines for port in line.ports) == list(range(len(of.ports)))
    box_of = {node: box for box in layout.boxes for node in box.nodes}
    places = set()
    for line in layout.lines:
        for port in line.ports:
            for node, (x, y) in zip(of.ports[port], (line.start, line.end), strict=True):
                box = box_of[node]
                # Lines are as far as two units beside the middle of their link.
                assert abs(x - box.x) <= box.width / 2 + 2, line
                assert abs(y - box.y) <= box.height / 2 + 4, line
        places.add((line.start, line.end))
    assert len(places) == len(layout.lines)


@pytest.mark.parametrize("name", FABRICS)
def test_both_directions_of_a_link_are_side_by_side_each_on_the_right(name: str) -> None:
    of, layout = laid_out(FABRICS[name][0])
    ends = {line.ports[0]: of.ports[line.ports[0]] for line in layout.lines}
    lines = {ends[line.ports[0]]: line for line in layout.lines if len(line.ports) == 1}
    for (a, b), line in lines.items():
        back = lines[b, a]
        (x, y), (to_x, to_y) = line.start, line.end
        for (own_x, own_y), (its_x, its_y) in ((line.start, back.end), (line.end, back.start)):
            assert 3.5 < math.hypot(own_x - its_x, own_y - its_y) < 4
            # Of who goes along, to the right: y grows downwards.
            assert (to_x - x) * (own_y - its_y) - (to_y - y) * (own_x - its_x) > 0


def test_links_of_pods_do_not_cross_those_of_others() -> None:
    of, layout = laid_out(FABRICS["fat tree"][0])
    x = {of.names[box.nodes[0]]: box.x for box in layout.boxes}
    edges = [[x["edge0"], x["edge1"], x["agg0"], x["agg1"]], [x["edge2"], x["edge3"], x["agg2"], x["agg3"]]]
    assert max(edges[0]) < min(edges[1])


def test_a_row_that_is_shuffled_is_put_in_order() -> None:
    shuffled = [3, 0, 5, 1, 4, 2]
    hosts = len(shuffled)
    links = [(host, hosts + host) for host in range(hosts)]
    links += [(hosts + a, hosts + b) for a, b in pairwise(shuffled)]
    of = Wiring([str(node) for node in range(2 * hosts)], hosts, [*links, *((b, a) for a, b in links)])
    (row,) = ordered([list(range(hosts, 2 * hosts))], neighbours(of))
    found = [node - hosts for node in row]
    assert found in (shuffled, shuffled[::-1])


def test_two_links_between_two_switches_are_two_lines() -> None:
    links = [["h0", "a"], ["h1", "b"], ["a", "b"], ["a", "b"]]
    fabric = {
        "kind": "graph", "rate": "10Gbps", "hosts": ["h0", "h1"], "link": [{"ends": ends} for ends in links],
    }  # fmt: skip
    of, layout = laid_out(fabric)
    assert len(of.ports) == len(layout.lines) == 8
    assert len({line.start for line in layout.lines}) == 8


def test_hosts_of_a_large_fabric_are_drawn_together() -> None:
    of, layout = laid_out(FABRICS["racks"][0])
    assert "drawn together" in layout.note
    together = [box for box in layout.boxes if len(box.nodes) > 1]
    assert sum(len(box.nodes) for box in together) == of.hosts == 240
    assert len(together) == 30
    for box in together:
        (rack,) = {b for a, b in of.ports if a in box.nodes}
        (down,) = [line for line in layout.lines if set(line.ports) == {
            port for port, (a, b) in enumerate(of.ports) if a == rack and b in box.nodes
        }]  # fmt: skip
        first, last = (of.names[box.nodes[at]] for at in (0, -1))
        assert down.name == f"{of.names[rack]}->{first}…{last}"


def test_of_what_is_larger_there_are_switches_only_and_then_no_map() -> None:
    racks = {"kind": "leaf-spine", "hosts_per_leaf": 2, **RATES, "spine_rate": "10Gbps"}
    of, layout = laid_out({**racks, "leaves": 170, "spines": 2})
    assert layout.note.startswith("Switches only: the 340 hosts")
    assert {box.tier for box in layout.boxes} == {1, 2}
    assert len(layout.lines) == 2 * 340
    of = wiring({"preset": "tree36k"})
    assert lay_out(of, names(of)) == (
        "The fabric has 961 switches with 960 links between them, too many to be told apart in a map. "
        "There is one up to 300 switches and 750 links."
    )
