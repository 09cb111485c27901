"""What ARCHITECTURE.md says of crates is so: which there are, what each depends on, what none contains."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
PREFIX = "tailrace-"
Graph = dict[str, set[str]]


def needed(manifest: dict[str, Any]) -> set[str]:
    """The crates that a manifest names, optional ones with a question mark; no dev- or build-dependencies."""
    tables = [manifest["dependencies"]]
    tables += [target.get("dependencies", {}) for target in manifest.get("target", {}).values()]
    return {
        name.removeprefix(PREFIX) + ("?" if isinstance(entry, dict) and entry.get("optional") else "")
        for table in tables
        for name, entry in table.items()
        if name.startswith(PREFIX)
    }


def crates() -> Graph:
    """The crates and the crates that their `Cargo.toml` names."""
    manifests = [tomllib.loads(file.read_text("utf-8")) for file in ROOT.glob("crates/*/Cargo.toml")]
    return {manifest["package"]["name"].removeprefix(PREFIX): needed(manifest) for manifest in manifests}


def without_optional(graph: Graph) -> Graph:
    return {crate: {other for other in needs if not other.endswith("?")} for crate, needs in graph.items()}


def with_optional(graph: Graph) -> Graph:
    return {crate: {other.removesuffix("?") for other in needs} for crate, needs in graph.items()}


def reached(graph: Graph, crate: str) -> set[str]:
    """All that a crate depends on, itself or through others."""
    return graph[crate].union(*(reached(graph, other) for other in graph[crate]))


def through_others(graph: Graph, crate: str) -> set[str]:
    """All that a crate depends on through others."""
    return set().union(*(reached(graph, other) for other in graph[crate]))


def reduced(graph: Graph) -> Graph:
    """Without dependencies that a crate has through another one as well."""
    always, ever = without_optional(graph), with_optional(graph)
    return {
        crate: (always[crate] - through_others(always, crate))
        | {f"{other}?" for other in ever[crate] - always[crate] - through_others(ever, crate)}
        for crate in graph
    }


def rows(text: str) -> list[tuple[str, str, set[str]]]:
    """The map as it is drawn, in its order: door, crate, dependencies."""
    lines = re.findall(r"^(\w+) +(\w+) +─▶ (.+)$", text, re.MULTILINE)
    return [
        (door, crate, set() if needs == "nothing" else set(needs.split(", "))) for door, crate, needs in lines
    ]


def drawn(text: str) -> Graph:
    return {crate: needs for _, crate, needs in rows(text)}


def test_a_dependency_through_another_is_not_drawn() -> None:
    graph = {"a": set(), "b": {"a"}, "c": {"a", "b"}, "d": {"a"}, "e": {"c", "d", "a"}}
    assert reduced(graph) == {"a": set(), "b": {"a"}, "c": {"b"}, "d": {"a"}, "e": {"c", "d"}}


def test_an_optional_dependency_replaces_none_that_always_holds() -> None:
    graph = {"a": set(), "b": {"a"}, "c": {"b"}, "d": {"a", "b?", "c?"}}
    assert reduced(graph) == {"a": set(), "b": {"a"}, "c": {"b"}, "d": {"a", "c?"}}


def test_optional_dependencies_of_a_platform_are_found() -> None:
    target = {"dependencies": {"tailrace-b": {"workspace": True, "optional": True}}}
    manifest = {"dependencies": {"tailrace-a": {"workspace": True}, "nix": "1"}, "target": {"unix": target}}
    assert needed(manifest) == {"a", "b?"}


def test_the_code_map_is_that_of_cargo() -> None:
    assert drawn(TEXT) == reduced(crates())


def test_a_crate_depends_on_those_above_it_only() -> None:
    order = list(drawn(TEXT))
    below = [
        (crate, other)
        for crate, needs in with_optional(crates()).items()
        for other in needs
        if order.index(other) > order.index(crate)
    ]
    assert below == []


def test_the_simulator_needs_no_other_door() -> None:
    inside = {crate for door, crate, _ in rows(TEXT) if door == "simulate"}
    graph = with_optional(crates())
    assert {crate: needs - inside for crate in inside if (needs := graph[crate]) - inside} == {}


@pytest.mark.parametrize("door", ["simulate", "live", "agent", "tools"])
def test_each_door_describes_its_crates_in_the_order_of_the_map(door: str) -> None:
    section = TEXT.partition(f"\n### {door.capitalize()}\n")[2].partition("\n#")[0]
    described = re.findall(r"^- \*\*`(\w+)`\*\*", section, re.MULTILINE)
    assert described == [crate for of, crate, _ in rows(TEXT) if of == door]


# What these crates compute decides no event.
OUTSIDE = {"bench", "cli", "experiment", "python"}
PLATFORM = re.compile(
    r"\.(ln|ln_1p|log|log2|log10|exp|exp2|exp_m1|powf|cbrt|hypot"
    r"|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh)\("
)


def of_the_platform(text: str) -> list[str]:
    """Calls of functions whose bits differ from platform to platform; tests at a file's end may have them."""
    code = re.sub(r"//[^\n]*", "", text.partition("#[cfg(test)]\nmod tests {")[0])
    return PLATFORM.findall(code)


def test_a_function_of_the_platform_is_found() -> None:
    text = "let a = libm::log(x); // x.ln()\nlet b = x.ln() + y.sqrt();\n#[cfg(test)]\nmod tests { z.exp() }"
    assert of_the_platform(text) == ["ln"]


@pytest.mark.parametrize("crate", sorted(crates().keys() - OUTSIDE))
def test_no_function_of_the_platform(crate: str) -> None:
    """Where events are decided."""
    files = (ROOT / "crates" / (PREFIX + crate) / "src").rglob("*.rs")
    code = [file for file in files if not file.stem.endswith("tests") and "tests" not in file.parts]
    assert code
    assert {file: found for file in code if (found := of_the_platform(file.read_text("utf-8")))} == {}
