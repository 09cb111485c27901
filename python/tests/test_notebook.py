"""The example notebook shows what it would show if it were executed now."""

import copy
import importlib.util
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("notebook", ROOT / "docs" / "notebook.py")
assert spec is not None
assert spec.loader is not None
notebook = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notebook)

# Where files of one machine lie, and what Python calls temporary folders.
OF_A_MACHINE = re.compile(rf"/(home|root|tmp|Users|var)/|\btmp\w{{8}}\b|{re.escape(str(ROOT))}")


@pytest.fixture
def stored() -> NotebookNode:
    return notebook.read()


def code(of: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in of.cells if cell.cell_type == "code"]


def outputs(of: NotebookNode) -> list[NotebookNode]:
    return [output for cell in code(of) for output in cell.outputs]


def shown(of: NotebookNode) -> dict[str, Any]:
    """What each cell shows; of an image that it is one, since its pixels depend on fonts."""
    of = copy.deepcopy(of)
    for output in outputs(of):
        data = output.get("data", {})
        data.update(dict.fromkeys((kind for kind in data if kind.startswith("image/")), "an image"))
    return {cell.id: cell.outputs for cell in code(of)}


def texts(of: NotebookNode) -> list[str]:
    said = [output.get("data", {"text/stream": output.get("text")}) for output in outputs(of)]
    return [text for data in said for kind, text in data.items() if kind.startswith("text/")]


def first(of: NotebookNode, kind: str) -> NotebookNode:
    """What the first output with such a part holds."""
    return next(output.data for output in outputs(of) if kind in output.get("data", {}))


def test_it_shows_what_it_would_show_now(stored: NotebookNode) -> None:
    executed = notebook.executed(stored)
    assert shown(executed) == shown(stored), f"{notebook.FILE} is out of date: run python docs/notebook.py"


def test_a_number_or_an_image_that_differs_is_noticed(stored: NotebookNode) -> None:
    for kind in ("text/plain", "text/html"):
        changed = copy.deepcopy(stored)
        data = first(changed, kind)
        data[kind] = data[kind].replace("0.7", "0.8")
        assert shown(changed) != shown(stored)
    without = copy.deepcopy(stored)
    del first(without, "image/png")["image/png"]
    assert shown(without) != shown(stored)
    of_other_pixels = copy.deepcopy(stored)
    first(of_other_pixels, "image/png")["image/png"] = "AAAA"
    assert shown(of_other_pixels) == shown(stored)


def test_it_is_stored_as_it_was_executed_from_top_to_bottom(stored: NotebookNode) -> None:
    assert [cell.execution_count for cell in code(stored)] == list(range(1, len(code(stored)) + 1))
    assert {output.get("name", output.output_type) for output in outputs(stored)} == {
        "display_data",
        "execute_result",
        "stdout",
    }
    assert stored.metadata == notebook.METADATA
    assert all(cell.metadata == {} for cell in stored.cells)
    assert notebook.FILE.read_text("utf-8") == nbformat.writes(stored) + "\n"


def test_it_is_small_and_names_no_folder_of_a_machine(stored: NotebookNode) -> None:
    assert notebook.FILE.stat().st_size < 400_000
    assert [text for text in texts(stored) if OF_A_MACHINE.search(text)] == []
    assert OF_A_MACHINE.search("ResultFolder('/tmp/tmpkz0ix_9f/out/sweep')")
