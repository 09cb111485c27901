"""Fabrics of any structure, from graphs of NetworkX and from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tailrace import _tailrace
from tailrace.errors import ScenarioError
from tailrace.files import reason, text


def graph(of: Any, *, rate_unit: str | None = None, delay_unit: str | None = None) -> dict[str, Any]:
    r"""The ``fabric`` of a scenario that a graph amounts to.

    ``of`` is a graph of NetworkX, directed or not, with several links between two nodes or not, whose nodes
    are called what they are there; or a file:
    GraphML, GML, a list of links, HPCC's topology.txt or htsim's .topo. Attributes of nodes and links are
    those of the guide (docs/guide/own-fabric.md): ``type`` of a node, ``rate``, ``delay``, ``metric`` and
    ``ecmp_weight`` of a link. Numbers are in ``rate_unit`` (such as ``"Gbps"``) and ``delay_unit`` (``"us"``)
    unless the graph says otherwise. More fields of the fabric can be put beside those of the graph:

    >>> import tailrace
    >>> links = "a s 10Gbps\nb s 10Gbps\n"
    >>> path = getfixture("tmp_path") / "links.txt"
    >>> _ = path.write_text(links)
    >>> fabric = tailrace.graph(path) | {"buffer": "1MB"}
    >>> fabric["hosts"], fabric["switches"], fabric["link"][0]
    (['a', 'b'], ['s'], {'ends': ['a', 's'], 'rate': '10Gbps'})
    """
    if isinstance(of, str | Path):
        file = Path(of)
        try:
            content = text(file)
        except (OSError, ValueError) as error:
            raise ScenarioError(f"cannot be read: {reason(error)}", file=file) from error
        found = _tailrace.graph(content, rate_unit, delay_unit, file)
    else:
        found = _tailrace.graph(_gml(of), rate_unit, delay_unit, None)
    return {"kind": "graph", **json.loads(found)}


def _gml(graph: Any) -> str:
    """A graph of NetworkX as GML: nodes by number, each with its name as label."""
    if not hasattr(graph, "nodes") or not hasattr(graph, "is_directed"):
        message = f"must be a graph of NetworkX or the name of a file, not {type(graph).__name__}"
        raise TypeError(message)
    numbers = {node: number for number, node in enumerate(graph.nodes)}
    # Where reading GraphML leaves what the file says once for all.
    of_nodes, of_links = (graph.graph.get(f"{what}_default", {}) for what in ("node", "edge"))
    whole = {key: value for key, value in graph.graph.items() if not key.endswith("_default")}
    lines = ["graph [", f"directed {int(graph.is_directed())}", *_attributes(whole)]
    for node, attributes in graph.nodes(data=True):
        own = {**of_nodes, **attributes, "label": node}
        own = {key: value for key, value in own.items() if key not in {"id", "name"}}
        lines += ["node [", f"id {numbers[node]}", *_attributes(own), "]"]
    for source, target, attributes in graph.edges(data=True):
        ends = [f"source {numbers[source]}", f"target {numbers[target]}"]
        lines += ["edge [", *ends, *_attributes({**of_links, **attributes}), "]"]
    return "\n".join([*lines, "]"])


def _attributes(of: dict[Any, Any]) -> list[str]:
    """What a graph, a node or a link has, as keys and texts."""
    quoted = {str(key): str(value).replace("&", "&amp;").replace('"', "&quot;") for key, value in of.items()}
    return [f'{key} "{value}"' for key, value in quoted.items() if key and not set(key) & set(' "[]#\n\t')]
