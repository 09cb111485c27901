import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_examples_run(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = runpy.run_path(str(file))
    assert left["comparison"]["scheme"].unique(maintain_order=True).to_list() == ["tcp", "dctcp", "pias"]
    assert 'did you mean "web-search"?' in capsys.readouterr().out
