"""Each picture of the pages has what makes it, which is there."""

import re
import tomllib
from pathlib import Path

IMAGES = Path(__file__).parents[2] / "docs" / "images"
TEXT = (IMAGES / "README.md").read_text("utf-8")


def test_each_picture_is_listed_once() -> None:
    first_cells = re.findall(r"^\| (`[^|]*) \|", TEXT, re.MULTILINE)
    listed = sorted(name for cell in first_cells for name in re.findall(r"`([^`]+)`", cell))
    assert listed == sorted(file.name for file in IMAGES.iterdir() if file.suffix != ".md")


def test_each_plot_is_in_its_file() -> None:
    lines = re.findall(r"^\| `[^`]+` \| \[[^]]+\]\(([^)]+)\) \| `([^`]+)` \|$", TEXT, re.MULTILINE)
    assert len(lines) > 30
    files = {file: tomllib.loads((IMAGES / file).read_text("utf-8")) for file, _ in lines}
    assert [(file, plot) for file, plot in lines if plot not in files[file]["plot"]] == []
