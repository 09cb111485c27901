"""What a run measured is written into its file with the number of the model, and pages name older ones."""

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from tailrace import ResultFolder

ROOT = Path(__file__).parents[2]


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(name).stem, ROOT / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


record = loaded("experiments/record.py")
generate = loaded("docs/generate.py")
digests = loaded("experiments/digests.py")

TEXT = """\
[[claim]]
id = "a"
number = { metric = "fct_mean_us", of = "A", against = "B" }
wrong = "B"
measured = { value = 1, scale = 1 }
paper = "lower"

[[claim]]
id = "b"
number = { metric = "fct_mean_us", of = "A" }
paper = 3
"""


def test_the_model_stands_beside_what_was_measured() -> None:
    a = {"measured": -0.25, "spread": 0.01, "measured_wrong": None}
    b = {"measured": None, "spread": None, "measured_wrong": None}
    line = "measured = { value = -0.25, spread = 0.01, scale = 0.1, model = 7 }"
    expected = TEXT.replace("measured = { value = 1, scale = 1 }", line)
    assert record.recorded(TEXT, {"a": a, "b": b}, 0.1, 7) == expected


def test_the_model_is_that_of_the_build_that_made_the_runs(folder: ResultFolder, tmp_path: Path) -> None:
    model, _ = digests.read(digests.FILE.read_text("utf-8"))
    assert record.model_of(folder.path) == model
    other = tmp_path / "out"
    shutil.copytree(folder.path, other)
    (one, *_) = (other / "runs").glob("*/summary.json")
    summary = json.loads(one.read_text("utf-8"))
    one.write_text(json.dumps(summary | {"build": "0123456789abcdef"}), "utf-8")
    with pytest.raises(SystemExit, match=r"runs of another build \(0123456789abcdef\).*give --model N"):
        record.model_of(other)
    claims = [{"id": name, "measured": 2.0, "spread": None, "measured_wrong": None} for name in "ab"]
    (other / "claims.json").write_text(json.dumps(claims), "utf-8")
    file = tmp_path / "file.toml"
    file.write_text(TEXT, "utf-8")
    record.main([str(file), str(other), "--model", "3"])
    assert file.read_text("utf-8").count("measured = { value = 2, scale = 1, model = 3 }\n") == 2


def test_the_page_of_claims_names_older_models() -> None:
    def entry(measured: dict[str, float] | None) -> dict[str, object]:
        number = {"of": "A", "against": None}
        claim = {"id": "a", "source": "§1", "paper": 2.0, "tolerance": None, "deviation": None}
        return {"claim": claim | {"number": number, "measured": measured}, "verdict": {"standing": "holds"}}

    value = {"value": 2.0, "spread": None, "wrong": None, "scale": 1.0}
    rows = [generate.claim_row(entry(value | model), 3) for model in ({}, {"model": 2}, {"model": 3})]
    assert [row.split(" | ")[5] for row in rows] == ["–", "2, older", "3"]
    text = generate.ages([value, value | {"model": 2}, value | {"model": 3}, value | {"model": 3}], 3)
    assert "number 3. Of 4 numbers that are recorded here, 2 are of it,\n1 of an older one" in text
