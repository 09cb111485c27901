"""Pages that are made from the program are what it would make now."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "docs" / "generate.py"
spec = importlib.util.spec_from_file_location("generate", FILE)
assert spec is not None
assert spec.loader is not None
generate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(generate)


def test_pages_are_up_to_date():
    for file, text in generate.pages().items():
        assert file.read_text("utf-8") == text, f"{file} is out of date: run python docs/generate.py"


def test_a_page_keeps_its_prose_and_has_one_block():
    page = "before\n<!-- generated: by x -->\nold\n<!-- end -->\nafter\n"
    assert (
        generate.with_block(page, "new\n")
        == "before\n<!-- generated: by x -->\n\nnew\n\n<!-- end -->\nafter\n"
    )
    with pytest.raises(ValueError, match="one generated block, not 0"):
        generate.with_block("no block", "new")


def test_parameters_of_inner_tables_have_dotted_names():
    inner = {"properties": {"gain": {"description": "How  much | of it."}}}
    schema = {"properties": {"law": {"$ref": "#/$defs/Law"}, "mode": {}}, "$defs": {"Law": inner}}
    rows = generate.parameters(schema, schema, {"law": {"gain": 0.5}, "mode": "a"})
    assert rows == ["| `law.gain` | `0.5` | How much \\| of it. |", '| `mode` | `"a"` |  |']
