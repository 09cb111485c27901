"""What ARCHITECTURE.md says of crates is so: which there are, what each depends on, what none contains."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
PREFIX = "tailrace-"
Graph = dict[str, set[str]]


def crates() -> Graph:
    """The crates and what their `Cargo.toml` says they depend on; dev-dependencies are left out."""
    graph = {}
    for file in ROOT.glob("crates/*/Cargo.toml"):
        manifest = tomllib.loads(file.read_text("utf-8"))
        needs = {name.removeprefix(PREFIX) for name in manifest["dependencies"] if name.startswith(PREFIX)}
        graph[manifest["package"]["name"].removeprefix(PREFIX)] = needs
    return graph


def reached(graph: Graph, crate: str) -> set[str]:
    """All that a crate depends on, itself or through others."""
    return graph[crate].union(*(reached(graph, other) for other in graph[crate]))


def reduced(graph: Graph) -> Graph:
    """Without what a crate reaches through another one too."""
    return {
        crate: needs - set().union(*(reached(graph, other) for other in needs))
        for crate, needs in graph.items()
    }


def drawn(text: str) -> Graph:
    """The map as it is drawn, in its order."""
    lines = re.findall(r"^(\w+) +─▶ (.+)$", text, re.MULTILINE)
    return {crate: set() if needs == "nothing" else set(needs.split(", ")) for crate, needs in lines}


def test_what_is_reached_through_another_is_not_drawn() -> None:
    graph = {"a": set(), "b": {"a"}, "c": {"a", "b"}, "d": {"a"}, "e": {"c", "d", "a"}}
    assert reduced(graph) == {"a": set(), "b": {"a"}, "c": {"b"}, "d": {"a"}, "e": {"c", "d"}}


def test_the_code_map_is_that_of_cargo() -> None:
    assert drawn(TEXT) == reduced(crates())


def test_a_crate_depends_on_those_above_it_only() -> None:
    order = list(drawn(TEXT))
    below = [
        (crate, other)
        for crate, needs in crates().items()
        for other in needs
        if order.index(other) > order.index(crate)
    ]
    assert below == []


def test_every_crate_has_a_heading_in_the_order_of_the_map() -> None:
    assert re.findall(r"^### `crates/tailrace-(\w+)`", TEXT, re.MULTILINE) == list(drawn(TEXT))


# What these crates compute decides no event.
OUTSIDE = {"cli", "experiment", "python"}
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
