"""Pages that are made from the program are what it would make now."""

import importlib.util
import re
import shutil
from pathlib import Path

import pytest
from conftest import EXPERIMENT

import tailrace
from tailrace.__main__ import command

FILE = Path(__file__).parents[2] / "docs" / "generate.py"
spec = importlib.util.spec_from_file_location("generate", FILE)
assert spec is not None
assert spec.loader is not None
generate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(generate)


def test_pages_are_up_to_date():
    for file, text in generate.pages().items():
        assert file.read_text("utf-8") == text, f"{file} is out of date: run python docs/generate.py"


def test_the_guide_to_runs_one_by_one_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    guide = (FILE.parent / "guide" / "python.md").read_text("utf-8")
    section = guide.partition("## An experiment, run by run\n")[2].partition("\n## ")[0]
    first, gathers, array = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (line,) = re.findall(r"^tailrace (run .*)$", section, re.MULTILINE)
    (gather,) = re.findall(r"`tailrace (gather [^`]*)`", section)
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXPERIMENT, "sweep.toml")
    names = {"tailrace": tailrace}
    exec(first, names)
    assert capfd.readouterr().out.splitlines()[3] == "3 PIAS {'workload.load': 0.4, 'seed': 2} 2 False"
    exec(gathers, names)
    assert len(names["folder"].missing) == 7
    for task, count in ((1, 2), (2, 2)):
        tasks = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": str(count)}
        for name, value in tasks.items():
            monkeypatch.setenv(name, value)
        if task == 1:
            exec(array, names)
            assert command(gather.split()) == 1
            assert "4 of 8 runs are missing" in capfd.readouterr().err
        else:
            for name, value in tasks.items():
                line = line.replace(f"${name}", value)
            assert command(line.split()) == 0
    assert command(gather.split()) == 0
    assert tailrace.gather("out/sweep").missing.is_empty()


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
