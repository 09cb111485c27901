import math
import tomllib
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailrace
from tailrace import Scenario, ScenarioError, toml

KEYS = st.text(st.characters(exclude_categories=["Cs"]))
LEAVES = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | KEYS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=20)


@settings(deadline=None)  # others may use the machine
@given(st.dictionaries(KEYS, VALUES))
def test_what_is_written_is_read(table: dict[str, Any]) -> None:
    assert tomllib.loads(toml.dumps(table)) == table


def test_sections_come_after_plain_fields() -> None:
    table = {"fabric": {"kind": "star", "hosts": 4}, "seed": 1}
    assert toml.dumps(table) == 'seed = 1\n\n[fabric]\nkind = "star"\nhosts = 4\n'


def test_numbers_and_paths_of_other_libraries_are_taken() -> None:
    np = pytest.importorskip("numpy")
    written = toml.dumps({"a": np.float64(0.5), "b": np.int32(3), "c": PurePosixPath("x/y"), "d": math.inf})
    assert tomllib.loads(written) == {"a": 0.5, "b": 3, "c": "x/y", "d": math.inf}


def test_what_toml_cannot_say_is_refused_by_name() -> None:
    with pytest.raises(ScenarioError, match=r"^a\.b\[1\]\.c: must be .*, not <object"):
        toml.dumps({"a": {"b": [1, {"c": object()}]}})


@pytest.mark.parametrize(
    ("table", "field"), [({3: 4}, ""), ({"a": {3: 4}}, "a"), ({"a": {"b": [{3: 4}]}}, "a.b[0]")]
)
def test_keys_are_text(table: dict[Any, Any], field: str) -> None:
    with pytest.raises(ScenarioError, match=r"must have keys that are text, not 3$") as caught:
        toml.dumps(table)
    assert caught.value.field == field


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
def test_whole_numbers_are_those_of_toml(number: int) -> None:
    with pytest.raises(ScenarioError, match=r"^seed: must be from -2\^63 to 2\^63 - 1"):
        toml.dumps({"seed": number})
    with pytest.raises(ScenarioError, match=r"^a\.b\[1\]: must be from"):
        toml.dumps({"a": {"b": [1, number]}})


@pytest.mark.parametrize("table", [{"b": "\ud800"}, {"\ud800": 1}])
def test_text_that_no_file_can_hold_is_refused(table: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match=r"must be text that UTF-8 can say, not '\\ud800'$"):
        toml.dumps({"a": table})


def test_what_holds_itself_is_refused() -> None:
    inner: dict[str, Any] = {"k": 1}
    inner["self"] = [inner]
    for table in ({"a": inner}, {"a": [inner]}, {"a": {"b": inner}}):
        with pytest.raises(ScenarioError, match=r"^a: holds itself, or tables and lists more than 32 deep"):
            toml.dumps(table)
    with pytest.raises(ScenarioError, match=r"^a: holds itself"):
        Scenario(a=inner)


def test_what_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "deep.toml"
    file.write_text("a = " + "[" * 5000 + "]" * 5000)
    with pytest.raises(ScenarioError, match=r"deep\.toml: has tables or lists too deep"):
        Scenario.from_file(file).with_(seed=1)
    with pytest.raises(ScenarioError, match=r"deep\.toml"):
        Scenario.from_file(file).run()
    with pytest.raises(ScenarioError, match=r"deep\.toml: has tables or lists too deep"):
        tailrace.fluid(file, law="dctcp")
    with pytest.raises(ScenarioError, match=r"^a: holds itself"):
        Scenario().with_(**{".".join("a" * 5000): 1})


def test_numbers_beyond_floats_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"^a\.b: must be a number that 64 bits can hold"):
        toml.dumps({"a": {"b": Fraction(10**400)}})
