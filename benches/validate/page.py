"""The parts of docs/validation.md that are printed by this program, not written by hand."""

import datetime
import os
from pathlib import Path

import tailrace
from report import UsageError

ROOT = Path(__file__).parent.parent.parent


def heading(seed: int) -> str:
    """What was run, and when."""
    return f"Tailrace {tailrace.__version__}, {datetime.date.today()}, seed {seed}"


def replaced(text: str, name: str, content: str) -> str:
    """The page with `content` between its two markers of that name."""
    begin, end = f"<!-- {name}: begin, printed by benches/validate -->", f"<!-- {name}: end -->"
    before, found, rest = text.partition(begin)
    _, also, after = rest.partition(end)
    if not found or not also:
        raise UsageError(f"the page has no lines {begin} and {end}, one after the other")
    return f"{before}{begin}\n\n```\n{content}\n```\n\n{end}{after}"


def write(page: Path, contents: dict[str, str]) -> None:
    """Replace the marked parts of the page, all of them or none."""
    text = page.read_text(encoding="utf-8")
    for name, content in contents.items():
        text = replaced(text, name, content)
    fresh = page.with_name(f".{page.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(page)
